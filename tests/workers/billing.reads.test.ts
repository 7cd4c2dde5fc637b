// Work in batches costs the same from the first batch to the last, however much there is to do, and
// looking whether there is any costs a few pages.

import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { ProjectId } from "../../src/ids.ts";
import type { BatchReport } from "../../src/operations/batch-report.ts";
import { type By, scheduler } from "../../src/operations/emit.ts";
import { markOverdue } from "../../src/operations/issuing/mark-overdue.ts";
import { replanDunning } from "../../src/operations/issuing/plan-dunning.ts";
import { stepDunning } from "../../src/operations/issuing/step-dunning.ts";
import { expireGrants } from "../../src/operations/money/grant-credit.ts";
import { JOB_TURNS, workOnWebhookJobs } from "../../src/operations/webhooks/work-on-jobs.ts";
import type { Tx } from "../../src/store/db/db.ts";
import { sql } from "../../src/store/db/sql.ts";
import { addDeltas } from "../../src/store/feeds/analytics.ts";
import { removeFinished } from "../../src/store/feeds/retention.ts";
import { lockDue } from "../../src/store/subscriptions/open-periods.ts";
import { getSettingsById, type ProjectSettings } from "../../src/store/tenants/tenants.ts";
import * as projects from "../../src/store/work/projects-with-work.ts";
import { type App, startApp } from "../support/app.ts";
import { CountedReads, copyId, copyRow, type Reads } from "../support/counted-reads.ts";
import { admin, onCluster } from "../support/database.ts";
import { flatFee, type Sandbox, sandbox } from "../support/given.ts";

const MANY = 3_000;
const BATCH = 200;
/** Of pages, in parts of the second batch: indexes grow a little, and pages are split. */
const TOLERANCE = 1.1;
/** Where attempts change too: their dead entries are found until they are cleared. */
const WITH_ATTEMPTS = 1.5;
const LATER = new Date("2026-03-25T00:00:00Z");
let app: App;
let counted: CountedReads;
let story: Sandbox;
let by: By;
let settings: ProjectSettings;
beforeAll(async () => {
  app = await startApp();
  by = scheduler(app.context.config);
  counted = await CountedReads.open(app.connection);
});
afterAll(async () => {
  await counted.close();
  await app.close();
});
beforeEach(open);

async function open(): Promise<void> {
  story = await sandbox(app, "2026-03-01");
  settings = await getSettingsById(app.context.db, story.project_id as ProjectId);
}

const copies = (table: string, differs: Record<string, string>) =>
  copyRow(app.connection, table, story.project_id, MANY, differs);

/** Copies of the only customer. Returns their ids, in SQL. */
async function manyCustomers(): Promise<string> {
  const id = copyId(1);
  await copies("customers", {
    id,
    external_id: "'c' || n",
    seq: "t.seq + n",
    short_id: "'cust_' || left(md5(n::text), 4)",
    short_id_unique: "false",
  });
  return id;
}

/** Invoices that are due on one day, each of a customer and a subscription of its own. */
async function manyInvoices(): Promise<void> {
  const charges = [flatFee({ amount_override_cents: 9_900, invoice_timing: "immediate" })];
  await story.subscribe({ plan: await story.plan({ charges }) });
  const customer_id = await manyCustomers();
  const subscription_id = copyId(2);
  await copies("subscriptions", { id: subscription_id, customer_id, external_id: "'s' || n" });
  await copies("invoices", {
    id: copyId(3),
    customer_id,
    subscription_id,
    number_seq: "t.number_seq + n",
  });
}

const analyze = () => admin(app.connection, "analyze");

/** Of all: what was sent is looked up by its index, as where there is much of it. */
async function remindedBefore(): Promise<void> {
  await app.context.db.run(sql`
    insert into dunning_steps (project_id, invoice_id, webhook_event, sent_on)
    select project_id, id, 'invoice.payment_overdue_reminder_2', due_date + 1
      from invoices
     where project_id = ${settings.id}`);
  await analyze();
}

/** Grants that end at one instant, each of a customer of its own. */
async function manyGrants(): Promise<void> {
  const { id } = await story.customer();
  const expires_at = "2026-03-20T00:00:00Z";
  const grant = { customer_id: id, kind: "free", amount_cents: 100, currency: "USD", expires_at };
  await story.post("/v1/grants", grant);
  const customer_id = await manyCustomers();
  await copies("grants", { id: copyId(4), customer_id });
  await copies("wallets", { customer_id });
}

/**
 * What each full batch reads, but for the first, behind which indexes have grown by a level. What
 * is gone is cleared ahead of each: for how long it is in the way hangs on what else is running.
 */
async function readsOf(table: string, batch: () => Promise<number>): Promise<Reads[]> {
  const reads: Reads[] = [];
  for (let done = BATCH; done === BATCH; ) {
    await admin(app.connection, `vacuum (index_cleanup on) ${table}`);
    const read = await counted.during(async () => {
      done = await batch();
    });
    if (done === BATCH) reads.push(read);
  }
  return reads.slice(1);
}

function expectEqual(reads: readonly Reads[], tolerance = TOLERANCE): void {
  expect(reads.length).toBeGreaterThanOrEqual(MANY / BATCH - 2);
  for (const kind of ["pages", "rows"] as const) {
    const each = reads.map((read) => read[kind]);
    const least = Math.min(...each);
    expect(least).toBeGreaterThanOrEqual(BATCH);
    expect(Math.max(...each)).toBeLessThanOrEqual(Math.round(least * tolerance));
  }
}

const dunning = (days_after_due: number) =>
  story.ok("PUT", "/v1/dunning", {
    enabled: true,
    steps: [{ days_after_due, webhook_event: "invoice.payment_overdue_reminder_1" }],
  });

async function doneOf(work: (tx: Tx) => Promise<BatchReport>): Promise<number> {
  return (await counted.db.tx(work)).done;
}

const inBatches = {
  overdue: () => doneOf((tx) => markOverdue(tx, settings, by, LATER, BATCH)),
  steps: () => doneOf((tx) => stepDunning(tx, settings, by, LATER, BATCH)),
  replan: () => doneOf((tx) => replanDunning(tx, settings, LATER, BATCH)),
  expiry: () => doneOf((tx) => expireGrants(tx, settings, by, LATER, BATCH)),
  deltas: () => addDeltas(counted.db, settings.id, BATCH),
};

describe.skipIf(onCluster)("each batch reads as much as the one before", () => {
  test("of invoices that are marked overdue, planned anew and reminded of", async () => {
    await manyInvoices();
    await analyze();
    await dunning(30);
    expectEqual(await readsOf("invoices", inBatches.overdue));
    await dunning(40);
    expectEqual(await readsOf("invoices", inBatches.replan));
    await dunning(3);
    while ((await inBatches.replan()) > 0);
    await remindedBefore();
    expectEqual(await readsOf("invoices", inBatches.steps));
  });

  test("of grants that expire", async () => {
    await manyGrants();
    await analyze();
    expectEqual(await readsOf("grants", inBatches.expiry));
  });

  test("of changes that are folded into the analytics", async () => {
    const { id } = await story.customer();
    await story.post("/v1/invoices", {
      customer_id: id,
      lines: [{ name: "Work", unit_amount_cents: 900 }],
    });
    while ((await inBatches.deltas()) > 0);
    await app.context.db.run(sql`
      insert into analytics_deltas (project_id, kind, key, count, cents)
      select a.project_id, 'due', 'USD', 1, 1
        from project_anchors a
       cross join generate_series(1, ${MANY}::integer)
       where a.project_id = ${settings.id}`);
    expectEqual(await readsOf("analytics_deltas", inBatches.deltas));
  });
});

/**
 * Messages that were sent to an endpoint and failed, and wait for another one. Returns the id of
 * the first.
 */
async function manyMessages(): Promise<string> {
  const ids: string[] = [];
  for (const name of ["one", "other"]) {
    const hook = { url: `https://example.com/${name}`, events: ["payment.succeeded"] };
    ids.push((await story.post("/v1/webhooks", hook)).webhook_endpoint.id);
  }
  const { db } = app.context;
  await db.run(sql`
    insert into webhook_messages (project_id, id, position, event, body, created_at)
    select a.project_id,
           (lpad(to_hex(n), 8, '0') || '-0000-7000-8000-000000000000')::uuid,
           1000000 + n, 'payment.succeeded', '{}', '2026-03-01'::timestamptz + n * interval '1 s'
      from project_anchors a
     cross join generate_series(1, ${MANY}::integer) as n
     where a.project_id = ${settings.id}`);
  await db.run(sql`
    insert into webhook_attempts (project_id, id, endpoint_id, message_id, event, attempt, status,
                                  duration_ms, created_at)
    select project_id, id, ${ids[0]}, id, event, 1, 'failed', 1, '2026-03-01'
      from webhook_messages
     where project_id = ${settings.id}`);
  // Of which the planner knows nothing yet.
  await analyze();
  await db.run(sql`
    insert into webhook_queue (project_id, endpoint_id, message_id)
    select project_id, ${ids[1]}, id
      from webhook_messages
     where project_id = ${settings.id}`);
  return ids[0] ?? "";
}

describe.skipIf(onCluster)("each piece of a queue reads as much as the one before", () => {
  const job = async () => {
    for (const kinds of JOB_TURNS) {
      const report = await counted.db.tx((tx) => workOnWebhookJobs(tx, settings.id, kinds, BATCH));
      if (report !== undefined) return report.done;
    }
    return 0;
  };

  test("that is filled by a replay, made due, dropped, and of the messages that go", async () => {
    const endpoint = await manyMessages();
    const path = `/v1/webhooks/${endpoint}`;
    await app.context.db.run(sql`
      insert into webhook_jobs (project_id, endpoint_id, kind, since, until_position, after_at,
                                after_position, created_at)
      values (${settings.id}, ${endpoint}, 'replay', '2026-01-01', 2000000, '2026-01-01', -1,
              '2026-03-01')`);
    expectEqual(await readsOf("webhook_queue", job));

    await app.context.db.run(sql`
      update webhook_queue set due_at = '2999-01-01' where project_id = ${settings.id}`);
    await story.patch(path, { enabled: false });
    await story.patch(path, { enabled: true });
    await analyze();
    expectEqual(await readsOf("webhook_queue", job), WITH_ATTEMPTS);

    await story.ok("DELETE", path);
    expectEqual(await readsOf("webhook_queue", job));

    await app.context.db.run(sql`delete from webhook_queue where project_id = ${settings.id}`);
    let after: string | undefined;
    const sweep = async () => {
      const { removed, last } = await counted.db.tx((tx) =>
        removeFinished(tx, settings.id, new Date(), BATCH, after),
      );
      after = last;
      return removed;
    };
    expectEqual(await readsOf("webhook_messages", sweep));
  });
});

test.skipIf(onCluster)(
  "periods of a project that statistics do not know are found one by one",
  async () => {
    const subscribed = async () => {
      await story.subscribe({ amount_cents: 900 });
      const customer_id = await manyCustomers();
      await copies("subscriptions", { id: copyId(2), customer_id, external_id: "'s' || n" });
    };
    await subscribed();
    await analyze();
    await open();
    await subscribed();
    await counted.db.run(sql`set plan_cache_mode = auto`);
    const { rows } = await counted.during(() =>
      counted.db.tx((tx) => lockDue(tx, settings.id, new Date("2026-04-02"), BATCH, false)),
    );
    await counted.db.run(sql`set plan_cache_mode = force_generic_plan`);
    // All customers for each of them were a hundred rows and more; its own are ten.
    expect(rows).toBeLessThan(BATCH * 15);
  },
);

const ASKED_EACH_SECOND = 50;

describe.skipIf(onCluster)("looking for work reads a few pages", () => {
  const kinds = Object.keys(projects.WORK) as projects.Work[];
  const looks = [
    ...kinds.map((work) => () => projects.withWork(counted.db, work, LATER)),
    () => projects.withEndedPeriods(counted.db, LATER),
  ];

  test("where thousands have just come, and where thousands are done", async () => {
    // Of which the planner knows nothing yet.
    await manyInvoices();
    await open();
    await manyGrants();
    // The clocks move without doing what is due, as a live project's does.
    await app.context.db.run(sql`update project_clocks set frozen_at = ${LATER}`);
    const look = async () => {
      const pages: number[] = [];
      for (const list of looks) pages.push((await counted.during(list)).pages);
      return pages;
    };
    const before = await look();
    expect(await app.runWorkers()).toBeGreaterThan(MANY);
    await admin(app.connection, "vacuum (index_cleanup on) invoices, grants");
    const after = await look();
    expect(Math.max(...before, ...after)).toBeLessThan(ASKED_EACH_SECOND);
  });
});
