// What a close is measured against: the rows it wrote, ready made, put by one transaction into
// tables with the same keys, indexes and constraints. Nobody can bill in less time than that.

import { strict as assert } from "node:assert";
import type { Pool } from "../src/store/db/db.ts";
import { type Sql, sql } from "../src/store/db/sql.ts";

/** Every table a close writes to, in the order of their references. */
const WRITTEN = [
  "subscriptions",
  "closed_periods",
  "invoices",
  "invoice_parts",
  "fees",
  "billing_events",
  "webhook_messages",
  "webhook_queue",
] as const;

const plain = (text: string): Sql => ({ text, values: [] });

/** Like tables beside the real ones, with the subscriptions as they are before the first close. */
export async function openOneShot(db: Pool): Promise<void> {
  await db.run(plain("create schema one_shot"));
  for (const table of WRITTEN) {
    await db.run(plain(`create table one_shot.${table} (like public.${table} including all)`));
  }
  await db.run(plain("insert into one_shot.subscriptions select * from public.subscriptions"));
  for (const table of WRITTEN) {
    const keys = await db.many<{ definition: string }>(sql`
      select pg_get_constraintdef(oid) as definition
        from pg_constraint
       where conrelid = ${`public.${table}`}::regclass and contype = 'f'`);
    for (const { definition } of keys) {
      const own = definition.replace(/REFERENCES (\w+)/, (all, target: string) =>
        (WRITTEN as readonly string[]).includes(target) ? `REFERENCES one_shot.${target}` : all,
      );
      await db.run(plain(`alter table one_shot.${table} add ${own}`));
    }
  }
  await db.run(plain("analyze"));
}

/** The position of the log before which everything was written by others. */
export async function mark(db: Pool): Promise<number> {
  const { last } = await db.one<{ last: number }>(sql`select max(last) as last from log_heads`);
  return last;
}

/** Seconds for the rows that were written behind the mark. */
export async function oneShot(db: Pool, since: number, period_no: number): Promise<number> {
  const parts = `(select * from public.invoice_parts where period_no = ${period_no}) p`;
  const rows: Record<(typeof WRITTEN)[number], string> = {
    subscriptions: `select * from public.subscriptions where period_no = ${period_no + 1}`,
    closed_periods: `select * from public.closed_periods where period_no = ${period_no}`,
    invoices: `select i.* from public.invoices i join ${parts}
                 on i.project_id = p.project_id and i.id = p.invoice_id`,
    invoice_parts: `select p.* from ${parts}`,
    fees: `select f.* from public.fees f join ${parts}
             on f.project_id = p.project_id and f.invoice_id = p.invoice_id`,
    billing_events: `select * from public.billing_events where position > ${since}`,
    webhook_messages: `select * from public.webhook_messages where position > ${since}`,
    webhook_queue: `select q.* from public.webhook_queue q join public.webhook_messages m
                      on m.project_id = q.project_id and m.id = q.message_id
                     where m.position > ${since}`,
  };
  for (const table of WRITTEN) {
    await db.run(plain(`create unlogged table one_shot.ready_${table} as ${rows[table]}`));
  }
  await db.run(plain("analyze"));
  const start = performance.now();
  await db.tx(async (tx) => {
    await tx.run(
      plain(`update one_shot.subscriptions s
                set period_no = r.period_no, current_period_start = r.current_period_start,
                    current_period_next = r.current_period_next, plan_version = r.plan_version,
                    recurring_cents = r.recurring_cents, set_aside_reason = null,
                    set_aside_until = null, updated_at = r.updated_at
               from one_shot.ready_subscriptions r
              where s.project_id = r.project_id and s.id = r.id`),
    );
    for (const table of WRITTEN.slice(1)) {
      await tx.run(plain(`insert into one_shot.${table} select * from one_shot.ready_${table}`));
    }
  });
  const seconds = (performance.now() - start) / 1_000;
  for (const table of WRITTEN) await db.run(plain(`drop table one_shot.ready_${table}`));
  const { same } = await db.one<{ same: boolean }>(sql`
    select (select count(*) from one_shot.invoices) = (select count(*) from public.invoices)
       and (select count(*) from one_shot.fees) = (select count(*) from public.fees)
       and (select count(*) from one_shot.webhook_queue)
           = (select count(*) from public.webhook_queue) as same`);
  assert.ok(same, "the one shot wrote what the closes wrote");
  return seconds;
}
