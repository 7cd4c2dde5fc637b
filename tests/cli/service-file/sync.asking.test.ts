// What a sync asks and refuses before its first change: prices that somebody pays, the project and
// the token.

import { spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { type Shell, startShell } from "../support.ts";

let server: Shell;
let shell: Shell;
let made = 0;

beforeAll(async () => {
  server = await startShell();
});
afterAll(() => server.close());
beforeEach(async () => {
  made += 1;
  shell = await server.inNewProject(`asking-${made}`, "2026-01-01T00:00:00Z");
});

const ITEM = { code: "seat", name: "Seat", amount_cents: 1000, currency: "USD" };

/** A file with this item alone. */
function fileOf(item: Readonly<Record<string, unknown>>, project = `asking-${made}`): string {
  const head = { version: "1", org: "acme", workspace: "main", project };
  return shell.file("item.yaml", JSON.stringify({ ...head, catalog: [item] }));
}

type Charge = Readonly<Record<string, unknown>>;

async function subscribed(own: readonly Charge[] | null, charges: readonly Charge[] = []) {
  const { app } = shell;
  await app.post("/v1/catalog", ITEM);
  const price = { interval: "monthly", amount_cents: 100, amount_currency: "USD" };
  const { plan } = await app.post("/v1/plans", { code: "p", name: "P", ...price, charges });
  const { customer } = await app.post("/v1/customers", { external_id: "c", name: "C" });
  const { subscription } = await app.post("/v1/subscriptions", {
    external_id: "s",
    customer_id: customer.id,
    plan_id: plan.id,
    ...(own !== null && { overrides: { charges: own } }),
  });
  return { plan, subscription };
}

const SEAT = { charge_model: "flat_fee", catalog_item_code: "seat" };

test("a price of an item is asked for that a subscription's own charges take", async () => {
  await subscribed([SEAT]);
  shell.takeWrites();
  const file = fileOf({ ...ITEM, amount_cents: 2000 });
  const refused = await shell.run(["sync", file]);
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("pay: seat")]);
  expect(refused.out).toContain(
    "The new price of seat (1 live subscription with charges of its own) counts from the period " +
      "that starts 2026-02-01.",
  );
  expect(shell.takeWrites()).toEqual([]);
  const dry = await shell.run(["sync", file, "--dry-run", "--json"]);
  expect(JSON.parse(dry.out).live_items).toMatchObject([{ code: "seat", subscriptions: 1 }]);
  expect((await shell.run(["sync", file, "--yes"])).code).toBe(0);
});

test("nobody is asked where the own charges have an amount of their own", async () => {
  await subscribed([{ ...SEAT, amount_override_cents: 5 }]);
  expect((await shell.run(["sync", fileOf({ ...ITEM, amount_cents: 2000 })])).code).toBe(0);
});

test("a suspended subscription on an archived plan is asked for too", async () => {
  const { plan, subscription } = await subscribed(null, [SEAT]);
  await shell.app.ok("POST", `/v1/subscriptions/${subscription.id}/suspend`);
  await shell.app.ok("DELETE", `/v1/plans/${plan.id}`);
  const refused = await shell.run(["sync", fileOf({ ...ITEM, amount_cents: 2000 })]);
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("pay: p")]);
});

test("an item in use keeps its currency, which is told before anything is applied", async () => {
  await subscribed([SEAT]);
  shell.takeWrites();
  const file = fileOf({ ...ITEM, currency: "EUR" });
  for (const more of [[], ["--dry-run"]]) {
    const ran = await shell.run(["sync", file, "--yes", ...more]);
    expect(ran.code).toBe(65);
    expect(ran.err).toContain("The subscription s takes this item's price in USD.");
  }
  expect(shell.takeWrites()).toEqual([]);
});

test("a token that may not write is told so before the first change", async () => {
  const { id } = (await shell.app.get("/v1/keys/me")).organization;
  const { token } = await shell.app.post("/v1/keys", {
    name: "reader",
    organization_id: id,
    scopes: ["read"],
  });
  const env = { DUES_TOKEN: token };
  const ran = await shell.run(["sync", fileOf(ITEM)], { env });
  expect([ran.code, ran.err]).toEqual([77, expect.stringContaining("has the scope read")]);
  expect((await shell.run(["sync", fileOf(ITEM), "--dry-run"], { env })).code).toBe(2);
});

test("--project that is not the file's is refused, and the file's own is taken", async () => {
  const file = fileOf(ITEM);
  for (const args of [
    ["sync", file, "--project", "main/test"],
    ["--project", "main/test", "sync", file],
    ["diff", file, "--project", "main/test"],
  ]) {
    const ran = await shell.run(args);
    expect([ran.code, ran.err]).toEqual([64, expect.stringContaining("names another one")]);
  }
  expect((await shell.app.get("/v1/catalog")).catalog_items).toEqual([]);
  expect((await shell.run(["sync", file, "--project", `main/asking-${made}`])).code).toBe(0);
});

test("a file that comes through a pipe is read once, and to its end", async () => {
  const items = Array.from({ length: 1_200 }, (_, i) => {
    return { ...ITEM, code: `item-${i}`, name: "x".repeat(100) };
  });
  const head = { version: "1", org: "acme", workspace: "main", project: `asking-${made}` };
  const text = JSON.stringify({ ...head, catalog: items });
  expect(text.length).toBeGreaterThan(128 * 1024);
  const pipe = join(shell.folder, "pipe.yaml");
  spawnSync("mkfifo", [pipe]);
  const written = writeFile(pipe, text);
  const ran = await shell.process(["diff", pipe, "--json"]);
  await written;
  expect(ran.code, ran.err).toBe(2);
  expect(JSON.parse(ran.out).steps).toHaveLength(1_200);
});
