// Lists and invoices in a real terminal of 80 columns: no line wraps, and status has a colour.

import stringWidth from "string-width";
import { afterAll, beforeAll, expect, test } from "vitest";
import { makeCustomer, makePlan, makeSubscription } from "../../support/records.ts";
import { type Shell, sharedShell } from "../support.ts";
import { HAS_SCRIPT, typed } from "../terminal.ts";

let shell: Shell;
beforeAll(async () => {
  shell = await sharedShell({ at: "2026-01-10T00:00:00.000Z" });
  const { app } = shell;
  const plan = await makePlan(app, {
    code: "enterprise-yearly-commitment",
    name: "Enterprise with a long name that does not fit beside anything else at all",
    amount_cents: 123_456_78,
    charges: [
      { charge_model: "flat_fee", amount_override_cents: 10_00, invoice_timing: "advance" },
    ],
  });
  const names = [
    ["acme", "Acme Ltd"],
    ["株式会社-日本", "株式会社とても長い名前の会社です本当にとても長い名前"],
    ["a-rather-long-external-id-of-a-customer-000001", "Österreichische Bahnen mit langem Namen"],
  ] as const;
  for (const [external_id, name] of names) {
    const email = `billing-department-${external_id.length}@a-long-domain-name.example.com`;
    const customer = await makeCustomer(app, { external_id, name, email });
    await makeSubscription(app, {
      external_id: `${external_id}-subscription`,
      customer_id: customer.id,
      plan_id: plan.id,
      properties: { seats: 5, region: "eu-central-1", contract: "2026-000123" },
    });
  }
  await app.travelTo("2026-03-01T00:00:00.000Z");
});
afterAll(() => shell.close());

const ESCAPE = new RegExp(`${String.fromCharCode(27)}\\[[\\d;]*m`, "g");
const widest = (text: string) =>
  Math.max(
    ...text
      .replace(ESCAPE, "")
      .split("\n")
      .map((line) => stringWidth(line)),
  );

const READS: readonly string[] = [
  "customers list",
  "subscriptions list",
  "invoices list",
  "keys list",
  "invoices get INV-2026-0002",
];

test.skipIf(!HAS_SCRIPT).each(READS)("dues %s fits 80 columns (needs script)", async (line) => {
  const screen = await typed(shell, line.split(" "));
  expect(screen).not.toContain("dues:");
  expect(widest(screen), screen).toBeLessThanOrEqual(80);
});

test.skipIf(!HAS_SCRIPT)("names of any script line up, cut with … (needs script)", async () => {
  const screen = (await typed(shell, ["customers", "list"])).replace(ESCAPE, "");
  const [title = "", ...rows] = screen.trimEnd().split("\n");
  expect(title).not.toMatch(/\bID$/);
  const at = title.indexOf("NAME");
  for (const row of rows) {
    const before = [...row].reduce(
      (seen, char) => (stringWidth(seen) < at ? seen + char : seen),
      "",
    );
    expect(stringWidth(before), row).toBe(at);
    expect(before.endsWith("  "), row).toBe(true);
  }
  expect(screen).toContain("…");
  expect(screen).toContain("a-rather-long-external-id-of-a-customer-000001");
});

test.skipIf(!HAS_SCRIPT)("--wide shows every column in full (needs script)", async () => {
  const screen = await typed(shell, ["customers", "list", "--wide"]);
  expect(screen).toMatch(/^EXTERNAL ID +NAME +EMAIL +CURRENCY +CREATED +ID$/m);
  expect(screen).toContain("株式会社とても長い名前の会社です本当にとても長い名前");
  expect(screen).not.toContain("…");
});

test.skipIf(!HAS_SCRIPT)(
  "a status has its colour, and none with NO_COLOR (needs script)",
  async () => {
    const screen = await typed(shell, ["subscriptions", "list"]);
    expect(screen).toContain("\u001b[32mactive\u001b[0m");
    expect(await typed(shell, ["invoices", "list"])).toContain("\u001b[31moverdue\u001b[0m");
    const plain = await typed(shell, ["subscriptions", "list"], { env: { NO_COLOR: "1" } });
    expect(plain).toContain("active");
    expect(plain).not.toContain("\u001b");
  },
);

test("in a pipe a table is as wide as it must be, and has no colours", async () => {
  const { out } = await shell.process(["customers", "list"]);
  expect(out).not.toContain("…");
  expect(out).not.toContain("\u001b");
  expect(out).toMatch(/^EXTERNAL ID.*\bID$/m);
});
