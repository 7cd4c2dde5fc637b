// The parts of invoices that are there already, given to them in portions: each invoice of a
// subscription gets one, whatever was cut short before, and a database climbs as a backup does.

import { afterEach, beforeEach, expect, test } from "vitest";
import { listMigrations, migrate } from "../../../src/store/migration/migrate.ts";
import { admin, emptyDatabase, onClient } from "../../support/database.ts";
import { id, MADE, ours, TENANTS } from "../../support/later-versions.ts";

const COUNT = 45_000;

let database: Awaited<ReturnType<typeof emptyDatabase>>;
beforeEach(async () => {
  database = await emptyDatabase();
  await migrate(database.connection, (await listMigrations()).slice(0, 1));
  await admin(database.connection, BOOKS);
});
afterEach(() => database.drop());

const ask = (text: string) =>
  onClient(database.connection, async (client) => (await client.query(text)).rows);

/** A plan, a customer and a subscription in its last period, with an invoice for each month. */
const BOOKS = `
  set session_replication_role = replica;
  ${TENANTS}
  insert into plans (project_id, id, code, name, amount_cents, amount_currency, interval, version, created_at,
                     updated_at)
  values ('${ours}', '${id(20)}', 'pro', 'Pro', 100, 'USD', 'monthly', 1, ${MADE}, ${MADE});
  insert into customers (project_id, id, seq, short_id, external_id, name, email, currency,
                         created_at, updated_at)
  values ('${ours}', '${id(30)}', 1, 'cust_0001', 'c', 'C', 'c@example.com', 'USD', ${MADE}, ${MADE});
  insert into subscriptions (project_id, id, external_id, customer_id, plan_id, plan_version, status,
                             started_at, period_no, current_period_start, current_period_next,
                             recurring_cents, created_at, updated_at)
  values ('${ours}', '${id(40)}', 's', '${id(30)}', '${id(20)}', 1, 'active', ${MADE}, ${COUNT + 1},
          '2026-02-01T00:00:00Z', '2026-03-01T00:00:00Z', 100, ${MADE}, ${MADE});
  insert into closed_periods (project_id, subscription_id, period_no, starts_at, ends_at, plan_id,
                              plan_version, billable, billed, closed_at)
  select '${ours}', '${id(40)}', n, '2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z', '${id(20)}', 1,
         true, '{}', ${MADE}
    from generate_series(1, ${COUNT}) n;
  insert into invoices (project_id, id, number_year, number_seq, customer_id, subscription_id, cause,
                        period_no, invoice_type, status, payment_status, currency, subtotal_cents,
                        total_cents, issuing_date, due_date, period_start, period_end,
                        seller_version, buyer_version, created_at)
  select '${ours}', ('00000000-0000-7000-8001-' || lpad(n::text, 12, '0'))::uuid, 2026, n,
         '${id(30)}', case when n > 2 then '${id(40)}'::uuid end,
         case n when 1 then 'add_on' when 2 then 'top_up' when 3 then 'supplement'
                when 4 then 'advance' else 'period' end,
         case n when 4 then ${COUNT + 1} else n end,
         case n when 1 then 'addon' when 2 then 'top_up' else 'subscription' end, 'outstanding',
         'pending', 'USD', 100, 100, '2026-02-01', '2026-02-15', '2026-01-01', '2026-01-31', 1, 1,
         ${MADE}
    from generate_series(1, ${COUNT}) n;
  insert into fees (project_id, invoice_id, id, fee_type, units, amount_cents, amount_currency,
                    properties)
  select project_id, id, id, 'charge', 1, 100, 'USD', '{}' from invoices;
  set session_replication_role = origin;`;

const FOUND = `
  select reason, plan_code, due_at = '2026-02-01T00:00:00Z' as at_the_boundary, count(*)::integer
    from invoice_parts p
    join invoices i on i.project_id = p.project_id and i.id = p.invoice_id and i.part_count = 1
   where p.part_no = 0 and not p.set_aside and p.period_start = i.period_start
   group by 1, 2, 3
   order by 1`;
const ALL = [
  { reason: "advance", plan_code: "pro", at_the_boundary: true, count: 1 },
  { reason: "period", plan_code: "pro", at_the_boundary: true, count: COUNT - 4 },
  { reason: "supplement", plan_code: "pro", at_the_boundary: false, count: 1 },
];

test("every invoice of a subscription is one part", async () => {
  await migrate(database.connection);
  expect(await ask(FOUND)).toEqual(ALL);
});

test("a run that was cut short is finished, and what came between is taken too", async () => {
  const files = await listMigrations();
  await migrate(database.connection, files.slice(0, 2));
  const [portions] = files.slice(2, 3);
  const broken = {
    ...portions,
    text: portions?.text.replace("p.code", "p.code || left('', 1 / (1 - i.number_seq / 40000))"),
  };
  const cut = migrate(database.connection, [...files.slice(0, 2), broken as (typeof files)[0]]);
  await expect(cut).rejects.toThrow("division by zero");
  // The portions before it are there.
  expect(await ask("select count(*)::integer from invoice_parts")).toEqual([{ count: 19_998 }]);
  await migrate(database.connection, files.slice(0, 3));
  // A process of the version before has written one behind the portions.
  await admin(
    database.connection,
    `set session_replication_role = replica;
     insert into invoices (project_id, id, number_year, number_seq, customer_id, subscription_id,
                           cause, period_no, invoice_type, status, payment_status, currency,
                           subtotal_cents, total_cents, issuing_date, due_date, period_start,
                           period_end, seller_version, buyer_version, created_at)
     select project_id, '${id(99)}', number_year, ${COUNT + 1}, customer_id, subscription_id, cause, 1,
            invoice_type, status, payment_status, currency, subtotal_cents, total_cents,
            issuing_date, due_date, period_start, period_end, 1, 1, created_at
       from invoices
      where cause = 'period'
      limit 1`,
  );
  await migrate(database.connection);
  const [, periods] = await ask(FOUND);
  expect(periods).toMatchObject({ reason: "period", count: COUNT - 3 });
});
