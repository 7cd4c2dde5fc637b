// A database that an earlier version left: what its rows have become when this version starts.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readAnalytics } from "../../src/operations/read-analytics.ts";
import { addDeltas } from "../../src/store/analytics.ts";
import type { Connection, Pool } from "../../src/store/db.ts";
import * as deliveries from "../../src/store/deliveries.ts";
import { listMigrations, migrate } from "../../src/store/migrate.ts";
import * as projectsWithWork from "../../src/store/projects-with-work.ts";
import { sql } from "../../src/store/sql.ts";
import * as subscriptions from "../../src/store/subscriptions.ts";
import { getSettingsById } from "../../src/store/tenants.ts";
import * as usageLocks from "../../src/store/usage-locks.ts";
import { recordIfUnchanged } from "../../src/store/usage-recording.ts";
import { admin, emptyDatabase } from "../support/database.ts";
import {
  applyUpTo,
  id,
  MADE,
  openPool,
  ours,
  TENANTS,
  theirs,
} from "../support/former-versions.ts";

/** The last one before rows had to be filled in from others. */
const THEN = 5;
const NOW = new Date("2026-05-15T12:00:00.000Z");
const ROOM = { total: 10, each: 10, shares: { new: 10, failing: 10 }, endpoints: [] };

const plans = { pro: id(11), yearly: id(12), theirs: id(13) };
const endpoint = id(21);
/** Messages of the queue by what was to become of them. */
const messages = { due: id(31), later: id(32), sending: id(33), abandoned: id(34) };
const claims = { sending: id(43), abandoned: id(44) };

let connection: Connection;
let drop: () => Promise<void>;
let db: Pool;
let before: QueueRow[];
let applied: string[];
/** As the migrations left it, whatever tests do to the rows afterwards. */
let left: { queue: QueueRow[]; totals: unknown[]; deltas: unknown[] };

beforeAll(async () => {
  ({ connection, drop } = await emptyDatabase());
  await applyUpTo(connection, THEN);
  await admin(connection, TENANTS + BOOKS + QUEUE);
  db = openPool(connection);
  before = await db.many<QueueRow>(sql`
    select *, null as held_until
      from webhook_queue
     order by message_id`);
  applied = await migrate(connection);
  left = {
    queue: await db.many<QueueRow>(sql`
      select *
        from webhook_queue
       order by message_id`),
    totals: await db.many(sql`
      select project_id, kind, key, count, cents::text
        from analytics_totals
       where count <> 0
       order by project_id, kind, key`),
    deltas: await db.many(sql`select * from analytics_deltas`),
  };
});

afterAll(async () => {
  await db.end();
  await drop();
});

/** Each line of values: the project, then what its analytics count. */
const BOOKS = `
  insert into customers (project_id, id, short_id, external_id, name, email, currency,
                         created_at, updated_at)
  select p.id, p.id, 'cust_0001', 'c', 'C', 'c@example.com', 'USD', ${MADE}, ${MADE}
    from projects p;
  insert into plans (project_id, id, code, name, interval, amount_cents, amount_currency, version,
                     created_at, updated_at)
  values ('${ours}', '${plans.pro}', 'pro', 'Pro', 'monthly', 3000, 'USD', 1, ${MADE}, ${MADE}),
         ('${ours}', '${plans.yearly}', 'yearly', 'Yearly', 'yearly', 12000, 'EUR', 1, ${MADE},
          ${MADE}),
         ('${theirs}', '${plans.theirs}', 'pro', 'Pro', 'monthly', 999, 'USD', 1, ${MADE}, ${MADE});
  insert into plan_versions
  select project_id, id, 1, amount_cents, '[]', ${MADE} from plans;
  insert into subscriptions (project_id, id, external_id, customer_id, plan_id, status, started_at,
                             period_no, current_period_start, current_period_next, plan_version,
                             recurring_cents, terminated_at, created_at, updated_at)
  select s.project_id, gen_random_uuid(), 's' || row_number() over (), s.project_id, s.plan_id,
         s.status, ${MADE}, 1, ${MADE}, '2026-06-01T00:00:00Z', 1, s.cents,
         case s.status when 'terminated' then ${MADE}::timestamptz end, ${MADE}, ${MADE}
    from (values ('${ours}'::uuid, '${plans.pro}'::uuid, 'active', 3000),
                 ('${ours}', '${plans.pro}', 'active', 3500.5),
                 ('${ours}', '${plans.pro}', 'suspended', 3000),
                 ('${ours}', '${plans.pro}', 'terminated', 3000),
                 ('${ours}', '${plans.yearly}', 'active', 12000),
                 ('${theirs}', '${plans.theirs}', 'active', 999))
         as s (project_id, plan_id, status, cents);
  insert into invoices (project_id, id, number_year, number_seq, customer_id, cause, invoice_type,
                        status, payment_status, currency, subtotal_cents, total_cents,
                        amount_paid_cents, credit_applied_cents, issuing_date, due_date,
                        period_start, period_end, created_at)
  select i.project_id, i.id, 2026, row_number() over (), i.project_id, 'add_on', 'addon', i.status,
         i.payment_status, i.currency, i.total, i.total, i.paid, i.credit, '2026-05-01',
         '2026-05-14', '2026-05-01', '2026-05-01', ${MADE}
    from (values ('${ours}'::uuid, '${id(51)}'::uuid, 'outstanding', 'partially_paid', 'USD', 1000,
                  300, 200),
                 ('${ours}', '${id(52)}', 'overdue', 'pending', 'USD', 700, 0, 0),
                 ('${ours}', '${id(53)}', 'succeeded', 'succeeded', 'USD', 400, 400, 0),
                 ('${ours}', '${id(54)}', 'voided', 'pending', 'USD', 900, 0, 0),
                 ('${ours}', '${id(55)}', 'outstanding', 'partially_paid', 'EUR', 70, 20, 0),
                 ('${theirs}', '${id(56)}', 'outstanding', 'pending', 'USD', 11, 0, 0))
         as i (project_id, id, status, payment_status, currency, total, paid, credit);
  insert into payments
  select i.project_id, gen_random_uuid(), i.id, i.customer_id, p.cents, i.currency, 'bank',
         'p' || row_number() over (), null, 'succeeded', p.paid_at::timestamptz, ${MADE}
    from (values ('${id(51)}'::uuid, 300, '2026-05-14T23:59:59.999Z'),
                 ('${id(53)}', 250, '2026-05-15T00:00:00Z'),
                 ('${id(53)}', 150, '2026-05-15T11:00:00Z'),
                 ('${id(55)}', 20, '2026-05-14T00:00:00Z')) as p (invoice_id, cents, paid_at)
    join invoices i on i.id = p.invoice_id;`;

/** That version moved due_at to the end of the claim, 30 seconds after a row was taken. */
const QUEUE = `
  insert into webhook_endpoints (project_id, id, url, events, secret, secret_hint, created_at,
                                 updated_at)
  values ('${ours}', '${endpoint}', 'https://hooks.example.com', '{invoice.created}', '\\x00', '',
          ${MADE}, ${MADE});
  insert into webhook_messages (project_id, id, event, body, created_at)
  select '${ours}', m::uuid, 'invoice.created', '{}', ${MADE}
    from unnest('{${Object.values(messages).join(",")}}'::text[]) as m;
  insert into webhook_queue (project_id, endpoint_id, message_id, attempt, tries, due_at, claim)
  values ('${ours}', '${endpoint}', '${messages.due}', 0, 0,
          statement_timestamp() - interval '1 minute', null),
         ('${ours}', '${endpoint}', '${messages.later}', 2, 2,
          statement_timestamp() + interval '1 hour', null),
         ('${ours}', '${endpoint}', '${messages.sending}', 0, 0,
          statement_timestamp() + interval '29 seconds', '${claims.sending}'),
         ('${ours}', '${endpoint}', '${messages.abandoned}', 3, 1,
          statement_timestamp() - interval '1 second', '${claims.abandoned}');`;

type QueueRow = {
  readonly message_id: string;
  readonly due_at: Date;
  readonly held_until: Date | null;
  readonly claim: string | null;
};

function delivered(message: keyof typeof claims): deliveries.AttemptResult {
  return {
    ...{ endpoint_id: endpoint, message_id: messages[message], claim: claims[message], attempt: 1 },
    ...{ status: "delivered", http_status: 200, error: null, duration_ms: 5 },
    ...{ response_excerpt: "", retry_ms: null },
  };
}

test("every migration since is applied", async () => {
  const since = (await listMigrations()).filter(({ version }) => version > THEN);
  expect(applied).toEqual(since.map(({ name }) => name));
});

describe("the queue of webhooks", () => {
  test("what was taken is held until its claim ends, and due since it was taken", () => {
    const expected = before.map((row) => {
      if (row.claim === null) return row;
      const taken_at = new Date(row.due_at.getTime() - 30_000);
      return { ...row, due_at: taken_at, held_until: row.due_at };
    });
    expect(left.queue).toEqual(expected);
  });

  test("nothing is lost or sent twice: a live sender reports, the rest is taken", async () => {
    expect(await deliveries.listDueProjects(db)).toEqual([ours]);
    const taken = await deliveries.claim(db, ours, ROOM);
    const found = taken.map(({ message_id, attempt, tries }) => ({ message_id, attempt, tries }));
    expect(found).toEqual([
      { message_id: messages.due, attempt: 0, tries: 0 },
      { message_id: messages.abandoned, attempt: 3, tries: 1 },
    ]);
    expect(await deliveries.recordDelivered(db, ours, [delivered("abandoned")])).toBe(0);
    expect(await deliveries.recordDelivered(db, ours, [delivered("sending")])).toBe(1);
    const waiting = await db.many<QueueRow>(sql`
      select message_id
        from webhook_queue
       order by message_id`);
    const { due, later, abandoned } = messages;
    expect(waiting.map(({ message_id }) => message_id)).toEqual([due, later, abandoned]);
  });
});

describe("the analytics of a project", () => {
  test("are filled in from the rows that were there", () => {
    const totals = [
      [ours, "active", plans.pro, 2, "6500.5"],
      [ours, "active", plans.yearly, 1, "12000"],
      [ours, "due", "EUR", 1, "50"],
      [ours, "due", "USD", 2, "1200"],
      [ours, "net", "2026-01-01T00 EUR", 1, "70"],
      [ours, "net", "2026-01-01T00 USD", 3, "2100"],
      [ours, "paid", "2026-05-14 EUR", 1, "20"],
      [ours, "paid", "2026-05-14 USD", 1, "300"],
      [ours, "paid", "2026-05-15 USD", 2, "400"],
      [theirs, "active", plans.theirs, 1, "999"],
      [theirs, "due", "USD", 1, "11"],
      [theirs, "net", "2026-01-01T00 USD", 1, "11"],
    ].map(([project_id, kind, key, count, cents]) => ({ project_id, kind, key, count, cents }));
    expect(left.totals).toEqual(totals);
    expect(left.deltas).toEqual([]);
  });

  test("are what the API answers, and follow what happens from then on", async () => {
    const settings = await getSettingsById(db, ours);
    const summary = () => db.snapshot((tx) => readAnalytics(tx, settings, NOW));
    const eur = { mrr_cents: 1_000, outstanding_invoice_count: 1, outstanding_total_cents: 50 };
    const usd = { mrr_cents: 6_501, outstanding_invoice_count: 2, outstanding_total_cents: 1_200 };
    expect(await summary()).toMatchObject({
      active_subscriptions: 3,
      by_currency: [
        { currency: "EUR", ...eur, revenue_30d_cents: 20, payments_30d_count: 1 },
        { currency: "USD", ...usd, revenue_30d_cents: 700, payments_30d_count: 3 },
      ],
      top_plans: [
        { plan_code: "pro", active_count: 2 },
        { plan_code: "yearly", active_count: 1 },
      ],
    });

    await db.run(sql`
      update invoices
         set status = 'voided', voided_at = ${NOW}
       where project_id = ${ours} and id = ${id(52)}`);
    const voided = { outstanding_invoice_count: 1, outstanding_total_cents: 500 };
    expect(await summary()).toMatchObject(voided);
    // One of what is due, and one of what was invoiced.
    expect(await addDeltas(db, ours, 1_000)).toBe(2);
    expect(await summary()).toMatchObject(voided);
  });
});

/** What 0011 renamed, with rows in it that the version before wrote. */
describe("tables that got other names", () => {
  const LAST_OLD = 10;
  const cutoff = new Date("2026-05-01T00:00:00.000Z");
  const subscription = id(61);
  const OLD_ROWS = `
    ${TENANTS}
    insert into customers (project_id, id, short_id, external_id, name, email, currency,
                           created_at, updated_at)
    values ('${ours}', '${ours}', 'cust_0001', 'c', 'C', 'c@example.com', 'USD', ${MADE}, ${MADE});
    insert into plans (project_id, id, code, name, interval, amount_cents, amount_currency, version,
                       created_at, updated_at)
    values ('${ours}', '${plans.pro}', 'pro', 'Pro', 'monthly', 3000, 'USD', 1, ${MADE}, ${MADE});
    insert into plan_versions values ('${ours}', '${plans.pro}', 1, 3000, '[]', ${MADE});
    insert into subscriptions (project_id, id, external_id, customer_id, plan_id, status,
                               started_at, period_no, current_period_start, current_period_next,
                               plan_version, recurring_cents, parked_reason, parked_until,
                               created_at, updated_at)
    values ('${ours}', '${subscription}', 's', '${ours}', '${plans.pro}', 'active', ${MADE}, 1,
            ${MADE}, '2026-05-01T00:00:00Z', 1, 3000, 'seats is missing',
            statement_timestamp() + interval '1 hour', ${MADE}, ${MADE});
    insert into figures values ('${ours}', 'due', 'USD', 2, 1200),
                               ('${ours}', 'active', '${plans.pro}', 4, 9000);
    insert into usage_seals values ('${ours}', '${cutoff.toISOString()}');`;

  let old: Awaited<ReturnType<typeof emptyDatabase>>;
  let pool: Pool;

  beforeAll(async () => {
    old = await emptyDatabase();
    await applyUpTo(old.connection, LAST_OLD);
    await admin(old.connection, OLD_ROWS);
    await migrate(old.connection);
    pool = openPool(old.connection);
  });

  afterAll(async () => {
    await pool.end();
    await old.drop();
  });

  test("analytics count what was added up, what was not yet, and what changes now", async () => {
    const settings = await getSettingsById(pool, ours);
    const analytics = () => pool.snapshot((tx) => readAnalytics(tx, settings, NOW));
    const due = { outstanding_invoice_count: 2, outstanding_total_cents: 1_200 };
    const five = { ...due, active_subscriptions: 5, mrr_cents: 12_000 };
    expect(await analytics()).toMatchObject(five);
    expect(await addDeltas(pool, ours, 1_000)).toBe(1);
    expect(await analytics()).toMatchObject(five);

    await pool.run(sql`
      update subscriptions
         set status = 'suspended'
       where project_id = ${ours} and id = ${subscription}`);
    expect(await addDeltas(pool, ours, 1_000)).toBe(1);
    expect(await analytics()).toMatchObject({ ...due, active_subscriptions: 4, mrr_cents: 9_000 });
  });

  test("recording goes by the cutoff that was there, which only rises", async () => {
    const write = (closing_until: Date | null) => {
      const locks = [usageLocks.CUTOFF_LOCK];
      const expected = { locks, subscriptions: [], metrics: [], closing_until };
      return recordIfUnchanged(pool, ours, [], expected);
    };
    expect(await usageLocks.closingUntil(pool, ours)).toEqual(cutoff);
    expect(await write(cutoff)).toEqual(new Map());
    expect(await write(null)).toBe(undefined);
    await pool.tx((tx) => usageLocks.raiseCutoff(tx, ours, new Date(cutoff.getTime() - 1)));
    expect(await write(cutoff)).toEqual(new Map());
    await pool.tx((tx) => usageLocks.raiseCutoff(tx, ours, NOW));
    expect(await write(cutoff)).toBe(undefined);
    expect(await write(NOW)).toEqual(new Map());
  });

  test("a close that had failed keeps its reason, and is not tried before its time", async () => {
    const found = await subscriptions.get(pool, ours, subscription);
    expect(found?.set_aside_reason).toBe("seats is missing");
    expect(await projectsWithWork.withEndedPeriods(pool, NOW)).toEqual([]);
    await pool.run(sql`
      update subscriptions
         set set_aside_until = statement_timestamp()
       where project_id = ${ours} and id = ${subscription}`);
    const [project] = await projectsWithWork.withEndedPeriods(pool, NOW);
    expect(project?.id).toBe(ours);
  });

  test("no name in the database says it the old way", async () => {
    const names = await pool.many<{ name: string }>(sql`
      select c.relname || coalesce(' ' || a.attname, '') as name
        from pg_class c
        left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
       where c.relnamespace = 'public'::regnamespace
       union all
      select conname from pg_constraint where connamespace = 'public'::regnamespace
       union all
      select tgname from pg_trigger
       union all
      select pg_get_functiondef(oid) from pg_proc
       where pronamespace = 'public'::regnamespace`);
    expect(names.length).toBeGreaterThan(300);
    expect(
      names.filter(({ name }) => /figure|(?<!credit_|tax_)note_|seal|park/.test(name)),
    ).toEqual([]);
  });
});
