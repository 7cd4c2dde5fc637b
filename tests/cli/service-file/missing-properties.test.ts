// A subscription that cannot be billed is hard to overlook: sync warns before, the clock and the
// list tell after.

import { afterEach, beforeEach, expect, test } from "vitest";
import { type Shell, startShell } from "../support.ts";

let shell: Shell;

const file = (charges: string) =>
  shell.file(
    "service.yaml",
    `version: "1"
org: acme
workspace: main
project: test
plans:
  - {code: pro, name: Pro, interval: monthly, amount_cents: 1000, currency: USD${charges}}
`,
  );
const BY_SEATS =
  ", charges: [{type: flat_fee, amount_override_cents: 500, quantity_from: subscription_property.seats}]";

beforeEach(async () => {
  shell = await startShell({ at: "2026-01-01T00:00:00.000Z" });
  expect((await shell.run(["sync", file("")])).code).toBe(0);
  const { customer } = await shell.app.post("/v1/customers", { external_id: "acme", name: "Acme" });
  const { plan } = await shell.app.get("/v1/plans?code=pro");
  const start = (external_id: string, fields: object = {}) =>
    shell.app.post("/v1/subscriptions", {
      external_id,
      customer_id: customer.id,
      plan_id: plan.id,
      ...fields,
    });
  for (const name of ["without-1", "without-2", "without-3", "without-4"]) await start(name);
  await start("with-words", { properties: { seats: "many" } });
  await start("with-seats", { properties: { seats: 5 } });
  await start("own-prices", { overrides: { charges: [] } });
});
afterEach(() => shell.close());

const WARNING = "5 live subscriptions of pro have no property seats and could not be billed: ";

test("diff and sync warn of live subscriptions without the property, with examples", async () => {
  const diff = await shell.run(["diff", file(BY_SEATS)]);
  expect(diff.code).toBe(2);
  expect(diff.err).toContain(WARNING);
  expect(diff.err.match(/without-\d|with-words/g)).toHaveLength(3);
  expect(diff.err).not.toContain("with-seats");
  expect(diff.err).toContain("dues subscriptions update <subscription> --property seats=5");
  const { out } = await shell.run(["diff", file(BY_SEATS), "--json"]);
  expect(JSON.parse(out).unbillable).toMatchObject([
    { plan: "pro", property: "seats", subscriptions: 5, at_least: false },
  ]);
});

test("a change that needs no new property warns of nothing", async () => {
  const { err } = await shell.run(["diff", file(", charges: [], description: Other")]);
  expect(err).not.toContain("could not be billed");
});

test("after it, the clock counts them and the list says why", async () => {
  const sync = await shell.run(["sync", file(BY_SEATS), "--yes"]);
  expect(sync.code, sync.err).toBe(0);
  expect(sync.err).toContain(WARNING);
  expect((await shell.run(["diff", file(BY_SEATS)])).err).not.toContain("could not be billed");
  await shell.run(["clock", "advance", "--to", "2026-02-01"]);
  const { out } = await shell.run(["clock", "advance", "--to", "2026-03-01"]);
  expect(out).toMatch(/^5 subscriptions could not be billed: \S+, \S+, \S+, …$/m);
  expect(out).toContain("dues subscriptions list --billing-error says why.");
  const list = await shell.run(["subscriptions", "list", "--billing-error"]);
  expect(list.out).toMatch(/without-1 +acme +pro +active +The property "seats" must be a decimal/);
  expect(list.out).not.toContain("with-seats");
});

test("freezing a frozen clock later tells what happened on the way", async () => {
  const { out } = await shell.run(["clock", "freeze", "--at", "2026-04-01"]);
  expect(out).toContain("It is 2026-04-01T00:00:00.000Z now: ");
  expect(out).toMatch(/invoice\.created/);
  const same = await shell.run(["clock", "freeze", "--at", "2026-04-01T00:00:01Z"]);
  expect(same.out).toContain("The clock stands at 2026-04-01T00:00:01.000Z.\n");
});
