// `dues settings`: shown, one alone, changed with the types that the settings have.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type Shell, sharedShell } from "../support.ts";

let shell: Shell;
beforeAll(async () => {
  shell = await sharedShell();
  await shell.app.post("/v1/taxes", { code: "vat", name: "VAT", percent: "23" });
});
afterAll(() => shell.close());

async function ok(...args: string[]): Promise<string> {
  const ran = await shell.run(args);
  expect(ran.code, `${args.join(" ")}\n${ran.err}`).toBe(0);
  return ran.out;
}

test("settings are set by name with text, numbers and lists, and shown", async () => {
  const out = await ok(
    ...["settings", "set", "name=Acme = Söhne", "net_payment_days=30"],
    ...["tax_codes=vat", "address=1 Street\nTown"],
  );
  expect(out).toMatch(/^name +Acme = Söhne$/m);
  expect(out).not.toContain("logo_color");
  const { settings } = await shell.app.get("/v1/settings");
  expect(settings).toMatchObject({
    name: "Acme = Söhne",
    net_payment_days: 30,
    tax_codes: ["vat"],
    address: "1 Street\nTown",
  });
  expect(await ok("settings")).toMatch(/^net_payment_days +30$/m);
  expect(await ok("settings", "get", "net_payment_days")).toBe("30\n");
  expect(await ok("settings", "get", "tax_codes")).toBe('["vat"]\n');
  expect(JSON.parse(await ok("settings", "--json")).settings).toEqual(settings);
});

test("an empty list is one, and := takes JSON", async () => {
  await ok("settings", "set", "tax_codes=");
  expect((await shell.app.get("/v1/settings")).settings.tax_codes).toEqual([]);
  await ok("settings", "set", "tax_codes:=null");
  expect((await shell.app.get("/v1/settings")).settings.tax_codes).toBe(null);
});

test.each([
  [["set", "nmae=x"], 64, "There is no setting nmae"],
  [["get", "nmae"], 64, "There are name, address"],
  [["set", "net_payment_days=soon"], 64, "whole number"],
  [["set", "name"], 64, "not key=value"],
  [["set", "tax_codes:=nope"], 64, "takes JSON"],
  [["set", "net_payment_days=100000"], 1, "net_payment_days"],
])("settings %j is refused", async (args, code, message) => {
  const ran = await shell.run(["settings", ...args]);
  expect([ran.code, ran.err]).toEqual([code, expect.stringContaining(message)]);
});
