// What falls due together of a customer, however it comes to be done: by workers, by a call that
// meets it, beside others, and with one that cannot be billed. No act twice, none lost.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ProjectId } from "../../../src/ids.ts";
import { closeGroups } from "../../../src/operations/closing/close.ts";
import { scheduler } from "../../../src/operations/emit.ts";
import { sql } from "../../../src/store/db/sql.ts";
import { getSettingsById } from "../../../src/store/tenants/tenants.ts";
import { type App, type Json, startApp } from "../../support/app.ts";
import { type Sandbox, sandbox } from "../../support/given.ts";
import { checkInvariants } from "../../support/invariants.ts";

const T = "2025-02-01T00:00:00.000Z";

let app: App;
let project: Sandbox;
let c: Json;
let plan: Json;

beforeAll(async () => {
  app = await startApp();
});
beforeEach(async () => {
  project = await sandbox(app, "2025-01-01T00:00");
  await project.ok("PUT", "/v1/settings", { invoice_grouping: "customer" });
  plan = await project.plan({ amount_cents: 1000 });
  c = await project.customer();
});
afterAll(async () => {
  expect(await checkInvariants(app.context.db)).toEqual([]);
  await app.close();
});

async function subscribeAll(count: number): Promise<Json[]> {
  const made: Json[] = [];
  for (let i = 0; i < count; i++) made.push(await project.subscribe({ customer: c, plan }));
  return made;
}

/** The clock moves without closing, as a live project's does. */
async function moveTo(at: string): Promise<void> {
  await app.context.db.run(sql`
    update project_clocks
       set frozen_at = ${at}
     where project_id = ${project.project_id}`);
}

/** Subscriptions, instant and whether it was left behind, of each invoice. */
async function parts() {
  const rows = await app.context.db.many<{
    invoice: string;
    ids: string[];
    behind: boolean;
    due: string[];
  }>(sql`
    select i.number_seq as invoice, array_agg(p.subscription_id::text order by p.part_no) as ids,
           bool_or(p.set_aside) as behind, array_agg(distinct p.due_at::text) as due
      from invoice_parts p
      join invoices i on i.project_id = p.project_id and i.id = p.invoice_id
     where p.project_id = ${project.project_id}
     group by i.number_seq
     order by i.number_seq`);
  return rows.map(({ ids, behind, due }) => ({ ids, behind, instants: due.length }));
}

const together = (...made: readonly Json[]) => ({
  ids: made.map(({ id }) => id),
  behind: false,
  instants: 1,
});

/** Its close cannot be written: the row is there already. */
async function closeBeforehand(id: string): Promise<void> {
  await app.context.db.run(sql`
    insert into closed_periods (project_id, subscription_id, period_no, starts_at, ends_at,
                                plan_id, plan_version, billable, billed, closed_at)
    select project_id, id, period_no, current_period_start, current_period_next, plan_id,
           plan_version, true, '{}', created_at
      from subscriptions
     where project_id = ${project.project_id} and id = ${id}`);
}

async function undoBeforehand(id: string): Promise<void> {
  const { project_id } = project;
  await app.context.db.run(sql`
    delete from closed_periods
     where project_id = ${project_id} and subscription_id = ${id} and period_no = 1`);
  await app.context.db.run(sql`
    update subscriptions
       set set_aside_until = null
     where project_id = ${project_id} and id = ${id}`);
}

describe("a worker", () => {
  test("makes one invoice of it, the oldest subscription first", async () => {
    const made = await subscribeAll(3);
    await moveTo(T);
    await app.runWorkers();
    expect(await parts()).toEqual([together(...made)]);
  });

  test("does instant after instant of what was missed, each by itself", async () => {
    const made = await subscribeAll(2);
    await moveTo("2025-04-01T00:00:00.000Z");
    await app.runWorkers();
    expect(await parts()).toEqual([together(...made), together(...made), together(...made)]);
  });

  test("finds the one that makes it fail, and invoices the others together", async () => {
    const [a, b, d] = (await subscribeAll(3)) as [Json, Json, Json];
    await closeBeforehand(b.id);
    await moveTo(T);
    await app.runWorkers();
    expect(await parts()).toEqual([together(a, d)]);
    expect((await project.subscription(b.id)).billing_error).not.toBeNull();
    await undoBeforehand(b.id);
    await app.runWorkers();
    expect(await parts()).toEqual([together(a, d), { ...together(b), behind: true }]);
    await moveTo("2025-03-01T00:00:00.000Z");
    await app.runWorkers();
    expect((await parts()).at(-1)).toEqual(together(a, b, d));
  });

  test("leaves a customer of whom a call holds something, whole", async () => {
    const [, second] = (await subscribeAll(2)) as [Json, Json];
    await moveTo(T);
    await app.context.db.tx(async (tx) => {
      await tx.many(sql`
        select 1
          from subscriptions
         where project_id = ${project.project_id} and id = ${second.id}
           for no key update`);
      await app.runWorkers();
      expect(await parts()).toEqual([]);
    });
    await app.runWorkers();
    expect(await parts()).toHaveLength(1);
  });
});

test("two workers at once share customers, and split none", async () => {
  const customers: Json[][] = [];
  for (let i = 0; i < 12; i++) {
    c = await project.customer();
    customers.push(await subscribeAll(1 + (i % 4)));
  }
  await moveTo(T);
  const { db, config } = app.context;
  const id = project.project_id as ProjectId;
  const settings = await getSettingsById(db, id);
  const close = () =>
    db.tx((tx) => closeGroups(tx, settings, scheduler(config), new Date(T), "usage locks"));
  for (let round = 0; round < 4; round++) await Promise.all([close(), close(), close()]);
  const found = (await parts()).map(({ ids }) => ids.join());
  expect(found.toSorted()).toEqual(
    customers.map((made) => made.map((one) => one.id).join()).toSorted(),
  );
});

describe("a call that meets it", () => {
  test("has it done first, the whole of the customer", async () => {
    const made = await subscribeAll(3);
    await moveTo("2025-02-10T00:00:00.000Z");
    await project.terminate(made[1] as Json);
    const [first, second] = await parts();
    expect(first).toEqual(together(...made));
    expect(second).toEqual(together(made[1] as Json));
  });

  test("is told to come again where somebody holds a part of it", async () => {
    const [a, b] = (await subscribeAll(2)) as [Json, Json];
    await moveTo(T);
    await app.context.db.tx(async (tx) => {
      await tx.many(sql`
        select 1
          from subscriptions
         where project_id = ${project.project_id} and id = ${b.id}
           for no key update`);
      const refused = await project.call("POST", `/v1/subscriptions/${a.id}/suspend`, {});
      expect([refused.status, refused.body.error.retryable]).toEqual([503, true]);
    });
    expect(await parts()).toEqual([]);
  });

  test("beside workers and other calls: every act is on one invoice", async () => {
    const made = await subscribeAll(4);
    await moveTo("2025-02-03T00:00:00.000Z");
    await Promise.all([
      app.runWorkers(),
      app.runWorkers(),
      ...made.map((one) => project.call("POST", `/v1/subscriptions/${one.id}/suspend`, {})),
    ]);
    await app.runWorkers();
    expect(await parts()).toEqual([together(...made)]);
  });
});

test("a mode that changes between the claim and the next counts from the next on", async () => {
  const made = await subscribeAll(2);
  await moveTo(T);
  await app.runWorkers();
  await project.ok("PUT", "/v1/settings", { invoice_grouping: "separate" });
  await moveTo("2025-03-01T00:00:00.000Z");
  await app.runWorkers();
  const [a, b] = made as [Json, Json];
  expect(await parts()).toEqual([together(a, b), together(a), together(b)]);
});

describe("the database refuses", () => {
  const copyOf = (changed: Readonly<Record<string, string>>) => {
    const names = [
      ...["project_id", "subscription_id", "invoice_id", "due_at", "period_no", "period_start"],
      ...["period_end", "cause_no", "part_no", "set_aside", "reason", "plan_code"],
    ];
    const values = names.map((name) => changed[name] ?? name);
    return `insert into invoice_parts (${names.join(", ")})
            select ${values.join(", ")} from invoice_parts
             where project_id = '${project.project_id}' limit 1`;
  };
  const run = (text: string) => app.context.db.run({ text, values: [] });

  test.each([
    ["an act on two invoices", { part_no: "7" }, "invoice_parts_pkey"],
    ["two parts in one place", { period_no: "period_no + 9" }, "invoice_parts_invoice_key"],
    ["a part of no invoice", { invoice_id: `'${randomUUID()}'`, cause_no: "9" }, "invoice_fkey"],
    [
      "a part of no subscription",
      { subscription_id: `'${randomUUID()}'`, part_no: "8" },
      "subscription_fkey",
    ],
    ["a reason of its own", { reason: "'gift'", part_no: "8" }, "invoice_parts_reason_check"],
    ["a place below the first", { part_no: "-1", cause_no: "9" }, "invoice_parts_part_check"],
  ])("%s", async (_what, changed, constraint) => {
    await subscribeAll(2);
    await moveTo(T);
    await app.runWorkers();
    await expect(run(copyOf(changed))).rejects.toThrow(constraint);
  });

  test("a part that moves or goes, and a count that changes", async () => {
    await subscribeAll(2);
    await moveTo(T);
    await app.runWorkers();
    const own = `where project_id = '${project.project_id}'`;
    for (const text of [
      `update invoice_parts set cause_no = 1 ${own}`,
      `delete from invoice_parts ${own}`,
      `update invoices set part_count = 1 ${own}`,
      `update fees set part_no = 0 ${own}`,
    ]) {
      await expect(run(text)).rejects.toThrow(/do not change/);
    }
  });

  test.each([
    ["fewer parts than it says", "part_count", "9"],
    ["another customer's", "customer_id", "OTHER"],
    ["a subscription where it is of several", "subscription_id", "FIRST"],
  ])("an invoice with %s", async (_what, column, value) => {
    const other = await project.customer();
    const [first] = await subscribeAll(2);
    const said = { OTHER: `'${other.id}'`, FIRST: `'${first?.id}'` };
    await moveTo(T);
    await app.runWorkers();
    const undone = app.context.db.tx(async (tx) => {
      await tx.run(sql`set local session_replication_role = replica`);
      await tx.run(sql`
        create temporary table again on commit drop as
        select * from invoices where project_id = ${project.project_id}`);
      await tx.run(sql`delete from invoices where project_id = ${project.project_id}`);
      await tx.run(sql`set local session_replication_role = origin`);
      await tx.run({
        text: `update again set ${column} = ${said[value as "OTHER"] ?? value}`,
        values: [],
      });
      await tx.run(sql`insert into invoices select * from again`);
    });
    await expect(undone).rejects.toThrow(/the parts of invoice/);
  });
});
