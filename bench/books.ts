// Books of any size: one of everything by the service's own acts, then copies of it by set-based
// SQL, with the rows, keys and order in which the service would have written them.

import { strict as assert } from "node:assert";
import { DAY_MS } from "../src/domain/dates.ts";
import { newId, type ProjectId } from "../src/ids.ts";
import { createPlan } from "../src/operations/catalog/change-plan.ts";
import { startSubscription } from "../src/operations/subscriptions/start.ts";
import type { PlanCreate } from "../src/schema/plans.ts";
import * as metrics from "../src/store/catalog/metrics.ts";
import * as customers from "../src/store/customers/customers.ts";
import type { Pool } from "../src/store/db/db.ts";
import { type Sql, sql } from "../src/store/db/sql.ts";
import { getSettingsById } from "../src/store/tenants/tenants.ts";
import { SCHEDULER, type Stage } from "./stage.ts";

export const METRICS = ["calls", "storage"] as const;
/** What every event counts. */
export const UNITS = 3;
export const INVOICE_CENTS = 2_500;
/** When most ids begin. */
const FIRST_MS = 1_700_000_000_000;

const PLAN: PlanCreate = {
  code: "p",
  name: "P",
  interval: "monthly",
  amount_cents: 1_000,
  amount_currency: "USD",
  charges: [
    { type: "standard", metric_ref: "calls", rate: "0.01" },
    { type: "standard", metric_ref: "storage", rate: "0.002" },
    { type: "flat_fee", amount_override_cents: 500 },
    {
      type: "flat_fee",
      amount_override_cents: 100,
      quantity_from: "subscription_property.seats",
    },
  ],
};

/** The start of the month that was so many months before the one that is running. */
export function monthsAgo(count: number): Date {
  const now = new Date();
  return new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - count));
}

/** A plan, a customer c1, and its subscription s1 from `start` on. */
export async function openBooks(
  { db, profile }: Stage,
  start: Date,
  asked: PlanCreate = PLAN,
): Promise<void> {
  const project = profile.project_id as ProjectId;
  // Nothing is ever overdue: a worker that closes periods does nothing else meanwhile.
  await db.run(sql`update projects set net_payment_days = 365 where id = ${project}`);
  const settings = await getSettingsById(db, project);
  await db.tx(async (tx) => {
    for (const code of METRICS) {
      const metric = { code, name: code, aggregation_type: "sum" as const, field_name: "n" };
      await metrics.insert(tx, project, metric, start);
    }
    const named = { external_id: "c1", name: "C", email: "c1@example.com", currency: "USD" };
    const customer = await customers.insert(tx, project, named, start);
    const { plan } = await createPlan(tx, project, asked, SCHEDULER, start);
    assert.ok(customer);
    const ids = { external_id: "s1", customer_id: customer.id, plan_id: plan.id };
    const wanted = { ...ids, properties: { seats: 3 } };
    await startSubscription(tx, settings, wanted, SCHEDULER, start);
  });
}

/** Makes a sandbox of each project: its periods end when its own clock says so. */
export async function freezeClocks(db: Pool, at: Date): Promise<void> {
  await db.run(sql`update projects set mode = 'sandbox' where mode = 'live'`);
  await db.run(sql`
    insert into project_clocks as k (project_id, frozen_at)
    select id, ${at} from projects
    on conflict (project_id) do update
       set frozen_at = excluded.frozen_at`);
}

export async function makeLive(db: Pool): Promise<void> {
  await db.run(sql`delete from project_clocks`);
  await db.run(sql`update projects set mode = 'live'`);
}

/** Numbers of customers and of their subscriptions, one each: c<n> and s<n>. */
export type Range = { readonly from: number; readonly to: number };

/** Customers with a subscription each, whose first period starts at `start`. */
export async function addSubscriptions(db: Pool, range: Range, start: Date): Promise<void> {
  const digit = (place: number) =>
    sql`substr('0123456789abcdefghijklmnopqrstuvwxyz', 1 + (n / ${36 ** place}::integer) % 36, 1)`;
  await db.run(sql`
    insert into customers (project_id, id, seq, short_id, short_id_unique, external_id, name,
                           email, currency, created_at, updated_at)
    select c.project_id, (p.customer_prefix || substr(gen_random_uuid()::text, 9))::uuid, n,
           'cust_' || ${digit(3)} || ${digit(2)} || ${digit(1)} || ${digit(0)},
           false, 'c' || n, 'Customer ' || n, 'c' || n || '@example.com', c.currency,
           c.created_at, c.updated_at
      from customers c
      join projects p on p.id = c.project_id
     cross join generate_series(${range.from}::integer, ${range.to}::integer) as n
     where c.external_id = 'c1'`);
  await db.run(sql`
    insert into subscriptions (project_id, id, external_id, customer_id, plan_id, status,
                               properties, started_at, period_no, current_period_start,
                               current_period_next, plan_version, recurring_cents, created_at,
                               updated_at)
    select s.project_id, ${orderedId(sql`n`)}, 's' || n, c.id, s.plan_id, s.status,
           s.properties, ${start}::timestamptz, 1, ${start}::timestamptz,
           ${start}::timestamptz + interval '1 month', s.plan_version, s.recurring_cents,
           s.created_at, s.updated_at
      from subscriptions s,
           generate_series(${range.from}::integer, ${range.to}::integer) as n
      join customers c on c.external_id = 'c' || n
     where s.external_id = 's1'`);
}

export type Usage = Range & {
  readonly period_no: number;
  readonly start: Date;
  /** On how many days of the period each metric was used. */
  readonly days: number;
  /** Events of each subscription, over both metrics. */
  readonly each: number;
};

/** The daily sums that the events of addEvents make, day by day as time goes on. */
export async function addDays(db: Pool, usage: Usage): Promise<void> {
  const per_day = usage.each / METRICS.length / usage.days;
  assert.ok(Number.isInteger(per_day), "every day has the same number of events");
  await db.run(sql`
    insert into usage_days (project_id, subscription_id, period_no, metric_id, day, events, sum,
                            max, latest, uniques, last_at, last_arrival)
    select s.project_id, s.id, ${usage.period_no}::integer, m.id,
           (${usage.start}::timestamptz + d * interval '1 day')::date, ${per_day}::bigint,
           ${per_day * UNITS}::numeric, ${UNITS}::numeric, ${UNITS}::numeric, 0,
           ${usage.start}::timestamptz + d * interval '1 day' + interval '12 hours', d
      from generate_series(0, ${usage.days - 1}::integer) as d
     cross join (${numbered(sql`project_id, id`, usage)}) s
      join metrics m on m.project_id = s.project_id
     order by d`);
}

/** The events themselves, in the order of time: those of one subscription lie far apart. */
export async function addEvents(db: Pool, usage: Usage): Promise<void> {
  const subscriptions = usage.to - usage.from + 1;
  const first_key = usage.period_no * 100_000_000 + (usage.from - 1) * usage.each;
  await fill(db, "usage_events", () =>
    db.run(sql`
      insert into usage_events (project_id, key, subscription_id, metric_id, period_no, at,
                                received_at, arrival, quantity, properties)
      select s.project_id, ${orderedId(sql`(i + ${first_key}::bigint)`)}, s.id,
             m.ids[1 + k % 2], ${usage.period_no}::integer, t.at, t.at, i, ${UNITS}::numeric,
             '{"n": "3", "region": "eu-west"}'
        from generate_series(0, ${subscriptions * usage.each - 1}::bigint) as i
        join (${numbered(sql`project_id, id`, usage)}) s
          on s.n = ${usage.from}::integer + i % ${subscriptions}::bigint
       cross join lateral (select (i / ${subscriptions}::bigint)::integer as k) e
       cross join lateral (
         select ${usage.start}::timestamptz + (k / 2 % ${usage.days}::integer) * interval '1 day'
                + (k % 40000) * interval '1 second' as at) t
       cross join (select array_agg(id order by code) as ids from metrics) m`),
  );
}

export type Bills = Range & {
  /** How many each subscription has; the last one is unpaid. */
  readonly each: number;
  /** Numbers and ids go on behind those that are there. */
  readonly after: number;
};

/** A monthly invoice each, month by month. Without fees: no list shows them. */
export async function addInvoices(db: Pool, bills: Bills, end: Date): Promise<void> {
  const count = bills.to - bills.from + 1;
  // What the triggers would find out from a copy of all the rows: the last one of each is unpaid.
  await db.run(sql`alter table invoices disable trigger user`);
  await db.run(sql`
    insert into analytics_deltas (project_id, kind, key, count, cents)
    select id, 'due', 'USD', ${count}::bigint, ${count * INVOICE_CENTS}::bigint from projects`);
  await db.run(sql`
    insert into analytics_deltas (project_id, kind, key, count, cents)
    select p.id, 'net',
           to_char((${end}::timestamptz at time zone 'UTC')::date - m * interval '1 month',
                   'YYYY-MM-DD"T"HH24') || ' USD',
           ${count}::bigint, ${count * INVOICE_CENTS}::bigint
      from projects p
     cross join generate_series(0, ${bills.each - 1}::integer) as m`);
  await fill(db, "invoices", () =>
    db.run(sql`
      with month as materialized (
        select m, start, (start + interval '1 month')::date as issued,
               (start + interval '45 days')::date as due, (start + interval '27 days')::date as last,
               start + interval '1 month' as created, m < ${bills.each - 1}::integer as paid
          from generate_series(0, ${bills.each - 1}::integer) as m
         cross join lateral (
           select (${end}::timestamptz - (${bills.each}::integer - m) * interval '1 month')::date
                  as start) d)
      insert into invoices (project_id, id, number_year, number_seq, customer_id, subscription_id,
                            invoice_type, status, payment_status, currency,
                            subtotal_cents, total_cents, amount_paid_cents, issuing_date, due_date,
                            period_start, period_end, seller_version, buyer_version, created_at)
      select s.project_id, ${orderedId(sql`(i + ${bills.after}::bigint)`)}, 2025,
             i + ${bills.after}::bigint + 1, s.customer_id, s.id, 'subscription',
             case when paid then 'succeeded' else 'outstanding' end,
             case when paid then 'succeeded' else 'pending' end, 'USD',
             ${INVOICE_CENTS}::bigint, ${INVOICE_CENTS}::bigint,
             case when paid then ${INVOICE_CENTS}::bigint else 0 end, issued, due, start, last, 1, 1,
             created
        from generate_series(0, ${count * bills.each - 1}::bigint) as i
        join (${numbered(sql`project_id, id, customer_id`, bills)}) s
          on s.n = ${bills.from}::integer + i % ${count}::bigint
        join month on m = i / ${count}::bigint`),
  );
  await db.run(sql`alter table invoices enable trigger user`);
  await fill(db, "invoice_parts", () =>
    db.run(sql`
      insert into invoice_parts (project_id, subscription_id, invoice_id, due_at, period_no,
                                 period_start, period_end, part_no, reason, plan_code)
      select i.project_id, i.subscription_id, i.id, i.created_at,
             row_number() over (partition by i.subscription_id order by i.id)
               + coalesce((select max(p.period_no) from invoice_parts p
                            where p.project_id = i.project_id
                              and p.subscription_id = i.subscription_id), 0),
             i.period_start, i.period_end, 0, 'period', 'base'
        from invoices i
       where i.subscription_id is not null
         and not exists (select 1 from invoice_parts p
                          where p.project_id = i.project_id and p.invoice_id = i.id)
       order by i.id`),
  );
}

/** A payment for every paid invoice that has none, forty days after its issue. */
export async function addPayments(db: Pool): Promise<void> {
  await fill(db, "payments", () =>
    db.run(sql`
      insert into payments (project_id, id, invoice_id, customer_id, amount_cents, currency,
                            provider, provider_payment_id, status, paid_at, created_at)
      select project_id, ${orderedId(sql`number_seq`)}, id, customer_id, total_cents, currency,
             'bank', 'p' || number_seq, 'succeeded', created_at + interval '40 days',
             created_at + interval '40 days'
        from invoices i
       where status = 'succeeded'
         and not exists (select 1 from payments p
                          where p.project_id = i.project_id and p.invoice_id = i.id)
       order by i.id`),
  );
}

/** Messages that are due now, to every endpoint of the project. */
export async function addDue(
  { db, profile }: Stage,
  { count, body }: { readonly count: number; readonly body: string },
): Promise<void> {
  const ids = Array.from({ length: count }, newId);
  await db.run(sql`
    with head as (${headMoved(count)} where project_id = ${profile.project_id} returning *),
         message as (
      insert into webhook_messages (project_id, position, id, event, body, created_at)
      select h.project_id, h.last - ${count} + no, id, 'payment.succeeded', ${body},
             clock_timestamp()
        from head h, unnest(${ids}::uuid[]) with ordinality as n (id, no)
      returning project_id, id)
    insert into webhook_queue (project_id, endpoint_id, message_id, due_at)
    select m.project_id, e.id, m.id, clock_timestamp()
      from message m
      join webhook_endpoints e on e.project_id = m.project_id`);
}

/** Makes room in the logs for so many entries, which stand at its new end. */
function headMoved(count: number): Sql {
  return sql`update log_heads set last = last + ${count}`;
}

/** Messages of yesterday, delivered at the first attempt to every endpoint. */
export async function addDelivered(db: Pool, { from, to }: Range): Promise<void> {
  const at = new Date(Date.now() - DAY_MS);
  const id = orderedId(sql`n`, at.getTime());
  await fill(db, "webhook_messages", () =>
    db.run(sql`
      with head as (${headMoved(to - from + 1)} returning *)
      insert into webhook_messages (project_id, position, id, event, body, created_at)
      select h.project_id, h.last - ${to} + n, ${id}, 'payment.succeeded', '{"data":{}}', ${at}
        from head h, generate_series(${from}::bigint, ${to}::bigint) as n`),
  );
  await fill(db, "webhook_attempts", () =>
    db.run(sql`
      insert into webhook_attempts (project_id, id, endpoint_id, message_id, event, attempt,
                                    status, http_status, duration_ms, created_at)
      select e.project_id, ${id}, e.id, ${id}, 'payment.succeeded', 1, 'delivered', 200, 3, ${at}
        from webhook_endpoints e, generate_series(${from}::bigint, ${to}::bigint) as n`),
  );
}

/** What autovacuum would come to do by itself, done now so that it does not run while measuring. */
export async function settleTables(db: Pool): Promise<void> {
  await db.run(sql`vacuum (analyze)`);
  await db.run(sql`checkpoint`).catch(() => {});
}

function numbered(columns: Sql, { from, to }: Range): Sql {
  return sql`
    select ${columns}, substr(external_id, 2)::integer as n
      from subscriptions
     where substr(external_id, 2)::integer between ${from}::integer and ${to}::integer`;
}

/** A time-ordered UUID as the service makes them: rows stand in the index as they came. */
function orderedId(n: Sql, first_ms = FIRST_MS): Sql {
  return sql`(lpad(to_hex(${first_ms}::bigint + ${n}), 12, '0') || '70008000000000000000')::uuid`;
}

/**
 * Fills a table with its foreign keys and plain indexes taken off, and puts them back by their own
 * definitions: the same rows under the same constraints, in a fraction of the time.
 */
async function fill(db: Pool, table: string, work: () => Promise<unknown>): Promise<void> {
  const keys = await db.many<{ name: string; definition: string }>(sql`
    select conname as name, pg_get_constraintdef(oid) as definition
      from pg_constraint
     where conrelid = ${table}::regclass and contype = 'f'`);
  const indexes = await db.many<{ name: string; definition: string }>(sql`
    select i.indexrelid::regclass::text as name, pg_get_indexdef(i.indexrelid) as definition
      from pg_index i
     where i.indrelid = ${table}::regclass
       and not exists (select 1 from pg_constraint c where c.conindid = i.indexrelid)`);
  const ddl = (text: string) => db.run({ text, values: [] });
  for (const { name } of keys) await ddl(`alter table ${table} drop constraint ${name}`);
  for (const { name } of indexes) await ddl(`drop index ${name}`);
  await work();
  for (const { definition } of indexes) await ddl(definition);
  for (const { name, definition } of keys) {
    await ddl(`alter table ${table} add constraint ${name} ${definition}`);
  }
}

export type GrownBooks = {
  readonly customers: number;
  readonly events_each: number;
  readonly invoices_each: number;
  readonly start: Date;
  /** The project's clock stands still here, so that its analytics are the same whenever asked. */
  readonly now: Date;
  readonly days: number;
};

/** A sandbox that has lived for a while: subscriptions, invoices, payments and usage. */
export async function growBooks(stage: Stage, grown: GrownBooks): Promise<void> {
  const { db } = stage;
  const { start, days } = grown;
  const all = { from: 1, to: grown.customers };
  await openBooks(stage, start);
  await freezeClocks(db, grown.now);
  await addSubscriptions(db, { ...all, from: 2 }, start);
  await addInvoices(db, { ...all, each: grown.invoices_each, after: 0 }, start);
  await addPayments(db);
  const usage = { ...all, period_no: 1, start, days, each: grown.events_each };
  await addDays(db, usage);
  await addEvents(db, usage);
}
