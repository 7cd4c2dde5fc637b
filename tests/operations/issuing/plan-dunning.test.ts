// A dunning policy that changes while much is overdue: it answers at once, a job plans the invoices
// anew piece by piece, and no step is sent by a policy that is no longer in force, twice or never.

import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { ProjectId } from "../../../src/ids.ts";
import { type By, scheduler } from "../../../src/operations/emit.ts";
import { markOverdue } from "../../../src/operations/issuing/mark-overdue.ts";
import { replanDunning } from "../../../src/operations/issuing/plan-dunning.ts";
import { stepDunning } from "../../../src/operations/issuing/step-dunning.ts";
import type { Db } from "../../../src/store/db/db.ts";
import { sql } from "../../../src/store/db/sql.ts";
import { getSettingsById, type ProjectSettings } from "../../../src/store/tenants/tenants.ts";
import { type App, type Json, startApp } from "../../support/app.ts";
import { attended } from "../../support/attended.ts";
import { type Sandbox, sandbox } from "../../support/given.ts";
import { countWaiting } from "../../support/in-line.ts";

const [R1, R2] = ["invoice.payment_overdue_reminder_1", "invoice.payment_overdue_reminder_2"];
/** Invoices are due on the 15th. */
const TODAY = new Date("2026-03-20T00:00:00Z");

let app: App;
let db: Db;
let by: By;
let story: Sandbox;
let settings: ProjectSettings;
let customer: Json;
beforeAll(async () => {
  app = await startApp();
  db = app.context.db;
  by = scheduler(app.context.config);
});
afterAll(() => app.close());
beforeEach(async () => {
  story = await sandbox(app, "2026-03-01");
  settings = await getSettingsById(db, story.project_id as ProjectId);
  customer = await story.customer();
});

async function owe(count: number): Promise<void> {
  for (let i = 0; i < count; i++) {
    const lines = [{ name: "Work", unit_amount_cents: 900 }];
    await story.post("/v1/invoices", { customer_id: customer.id, lines });
  }
}

const put = (days_after_due: number, webhook_event = R1, enabled = true) =>
  story.ok("PUT", "/v1/dunning", { enabled, steps: [{ days_after_due, webhook_event }] });
const mark = () => db.tx((tx) => markOverdue(tx, settings, by, TODAY));
const step = () => db.tx((tx) => stepDunning(tx, settings, by, TODAY));
async function replan(limit: number, on = db): Promise<number> {
  return (await on.tx((tx) => replanDunning(tx, settings, TODAY, limit))).done;
}
async function replanAll(limit = 1_000): Promise<number> {
  let pieces = 0;
  for (; (await replan(limit)) > 0; pieces++);
  return pieces;
}
async function planned(): Promise<(string | null)[]> {
  const rows = await db.many<{ dunning_on: string | null }>(sql`
    select dunning_on
      from invoices
     where project_id = ${settings.id}
     order by id`);
  return rows.map(({ dunning_on }) => dunning_on);
}

test("a new policy answers while every overdue invoice is held, and is planned in pieces", async () => {
  await owe(5);
  await mark();
  await db.tx(async (tx) => {
    await tx.many(sql`select 1 from invoices where project_id = ${settings.id} for update`);
    await put(30);
  });
  expect(await planned()).toEqual([null, null, null, null, null]);
  expect(await replanAll(2)).toBe(3);
  expect(await planned()).toEqual(Array(5).fill("2026-04-14"));
  expect(await replan(2)).toBe(0);
});

test("what is planned by the former policy is planned anew before it is sent", async () => {
  await put(3);
  await owe(2);
  await mark();
  await put(30);
  expect(await step()).toEqual({ facts: [], done: 2 });
  expect(await planned()).toEqual(["2026-04-14", "2026-04-14"]);
  await put(3, R1, false);
  await put(3, R2);
  await put(3, R2, false);
  expect((await step()).facts).toEqual([]);
});

test("a step that is being sent is sent, and the new policy is in force behind it", async () => {
  await put(3);
  await owe(1);
  await mark();
  let isPut = false;
  let putting: Promise<unknown> | undefined;
  const slow = attended(db, async (text) => {
    // The policy is known, and what is sent by it is not written yet.
    if (!text.includes("insert into dunning_steps")) return;
    putting = put(3, R1, false).then(() => {
      isPut = true;
    });
    await expect.poll(() => countWaiting(app.connection)).toBeGreaterThan(0);
    expect(isPut).toBe(false);
  });
  const { facts } = await slow.tx((tx) => stepDunning(tx, settings, by, TODAY));
  await putting;
  expect(facts).toHaveLength(1);
  const log = (await story.get("/v1/billing-events?all=1")).billing_events;
  const types = log.map(({ event_type }: Json) => event_type);
  expect(types.indexOf("dunning.updated")).toBeLessThan(types.indexOf("dunning.step_fired"));
});

test("what becomes overdue by one policy while another comes has the steps of the other", async () => {
  await owe(1);
  await mark();
  await put(30);
  await owe(1);
  let looks = 0;
  const slow = attended(db, async (text) => {
    // The piece has been listed: now the second invoice is marked, and the policy put again.
    if (!/from project_anchors\s+where project_id = \S+\s+for share/.test(text)) return;
    looks += 1;
    if (looks > 1) return;
    await mark();
    await put(40);
  });
  expect(await replan(1_000, slow)).toBe(2);
  expect(looks).toBe(2);
  expect(await planned()).toEqual(["2026-04-24", "2026-04-24"]);
});

test("the same policy once more plans nothing and is not told", async () => {
  await owe(1);
  await mark();
  await put(30);
  await replanAll();
  await put(30);
  expect(await replanAll()).toBe(0);
  expect(await story.log("dunning.updated")).toHaveLength(1);
});

test("a clock that moves on plans by the new policy first", async () => {
  await put(3);
  await owe(1);
  await story.travelTo("2026-03-17");
  await put(10);
  expect((await story.travelTo("2026-03-24")).dunning_steps).toBe(0);
  expect((await story.travelTo("2026-03-25")).dunning_steps).toBe(1);
});
