// Customer credit of the version before, moved into the ledger: balances to the cent, the oldest
// used first, and what that version may still do while it is being replaced.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { Pool } from "../../src/store/db.ts";
import * as ledger from "../../src/store/ledger.ts";
import { migrate } from "../../src/store/migrate.ts";
import { sql } from "../../src/store/sql.ts";
import { admin, emptyDatabase } from "../support/database.ts";
import { applyUpTo, id, MADE, openPool, ours, TENANTS } from "../support/former-versions.ts";

const FORMER_SCHEMA = 16;
const [acme, beta] = [id(21), id(22)];
const [overpaid, open, given] = [id(31), id(32), id(33)];
const [first, last] = [id(41), id(42)];

/** Of one customer: 300 too much, of which 250 were used; 200 of a void. The other has nothing. */
const BOOKS = `
  alter table projects alter customer_prefix set default substr(gen_random_uuid()::text, 1, 8);
  ${TENANTS}
  alter table projects alter customer_prefix drop default;
  insert into project_anchors values ('${ours}');
  insert into customers (project_id, id, seq, short_id, external_id, name, email, currency,
                         created_at, updated_at)
  values ('${ours}', '${acme}', 1, 'cust_0001', 'acme', 'Acme', 'a@a.test', 'USD', ${MADE}, ${MADE}),
         ('${ours}', '${beta}', 2, 'cust_0002', 'beta', 'Beta', 'b@b.test', 'USD', ${MADE}, ${MADE});
  set session_replication_role = replica;
  ${invoice(overpaid, 1, "succeeded", { total: 1000, paid: 1300 })}
  ${invoice(open, 2, "outstanding", { total: 400, credit: 250 })}
  ${invoice(given, 3, "voided", { total: 500, paid: 200 })}
  ${payment(first, overpaid, 600)}
  ${payment(last, overpaid, 700)}
  ${entry(51, 300, "overpayment", overpaid)}
  ${entry(52, -250, "applied", open)}
  ${entry(53, 200, "voided", given)}
  insert into credits values ('${ours}', '${acme}', 'USD', 250), ('${ours}', '${acme}', 'EUR', 0);`;

type Figures = { readonly total: number; readonly paid?: number; readonly credit?: number };

function invoice(
  key: string,
  seq: number,
  status: string,
  { total, paid = 0, credit = 0 }: Figures,
): string {
  const payment_status = status === "succeeded" ? status : "pending";
  return `
  insert into invoices (project_id, id, number_year, number_seq, customer_id, cause, cause_no,
                        invoice_type, status, payment_status, currency, subtotal_cents,
                        total_cents, amount_paid_cents, credit_applied_cents, issuing_date,
                        due_date, period_start, period_end, created_at)
  values ('${ours}', '${key}', 2026, ${seq}, '${acme}', 'add_on', ${seq}, 'addon', '${status}',
          '${payment_status}', 'USD', ${total}, ${total}, ${paid}, ${credit}, '2026-01-01',
          '2026-01-15', '2026-01-01', '2026-01-01', ${MADE});
  insert into fees (project_id, invoice_id, id, fee_type, units, amount_cents, amount_currency,
                    properties)
  values ('${ours}', '${key}', '${key}', 'add_on', 1, ${total}, 'USD', '{}');`;
}

function payment(key: string, of: string, cents: number): string {
  return `
  insert into payments values ('${ours}', '${key}', '${of}', '${acme}', ${cents}, 'USD', 'bank',
                               '${key}', null, 'succeeded', ${MADE}, ${MADE});`;
}

function entry(n: number, cents: number, reason: string, of: string): string {
  return `
  insert into credit_entries values ('${ours}', '${acme}', '${id(n)}', 'USD', ${cents},
                                     '${reason}', '${of}', ${MADE});`;
}

let database: Awaited<ReturnType<typeof emptyDatabase>>;
let pool: Pool;

beforeAll(async () => {
  database = await emptyDatabase();
  const { connection } = database;
  await applyUpTo(connection, FORMER_SCHEMA);
  await admin(connection, BOOKS);
  await migrate(connection);
  pool = openPool(connection);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

test("each entry in is a grant, used oldest first", async () => {
  const grants = await pool.many(sql`
    select kind, amount_cents, remaining_cents, status, priority, invoice_id, payment_id
      from grants
     order by id`);
  expect(grants).toEqual([
    {
      ...{ kind: "overpayment", amount_cents: 300, remaining_cents: 50, status: "active" },
      ...{ priority: 50, invoice_id: overpaid, payment_id: last },
    },
    {
      ...{ kind: "voided", amount_cents: 200, remaining_cents: 200, status: "active" },
      ...{ priority: 50, invoice_id: given, payment_id: null },
    },
  ]);
});

test("balances are what they were, and the ledger tells how they came about", async () => {
  expect(await ledger.listBalances(pool, ours, acme)).toEqual([
    { customer_id: acme, currency: "USD", balance_cents: 250 },
  ]);
  const about = { customer_id: acme, currency: "USD" };
  const { rows } = await ledger.listEntries(pool, ours, about, {
    limit: 10,
    offset: 0,
    count: false,
  });
  expect(rows.map((one) => [one.reason, one.amount_cents, one.balance_cents])).toEqual([
    ["voided", 200, 250],
    ["applied", -250, 50],
    ["overpayment", 300, 300],
  ]);
});

test("what was paid above an invoice is known as such", async () => {
  const found = await pool.many(sql`
    select amount_paid_cents, overpaid_cents, status from invoices order by number_seq`);
  expect(found).toEqual([
    { amount_paid_cents: 1300, overpaid_cents: 300, status: "succeeded" },
    { amount_paid_cents: 0, overpaid_cents: 0, status: "outstanding" },
    { amount_paid_cents: 200, overpaid_cents: 0, status: "voided" },
  ]);
});

test("an invoice says which grants paid it", async () => {
  const found = await pool.one(sql`select credits from invoices where id = ${open}`);
  expect(found).toEqual({
    credits: [{ grant_id: id(51), kind: "overpayment", amount_cents: 250 }],
  });
});

test("only a customer with credit has an account", async () => {
  const found = await pool.many(sql`select external_id, has_account from customers order by seq`);
  expect(found).toEqual([
    { external_id: "acme", has_account: true },
    { external_id: "beta", has_account: false },
  ]);
});

test("the version before may not write credit, nor invoice who has some", async () => {
  const { connection } = database;
  await expect(admin(connection, entry(54, 1, "overpayment", open))).rejects.toThrow("ledger");
  const credit = `insert into credits values ('${ours}', '${beta}', 'USD', 1)`;
  await expect(admin(connection, credit)).rejects.toThrow("ledger");
  const its = invoice(id(34), 4, "outstanding", { total: 100 });
  await expect(admin(connection, its)).rejects.toThrow("being replaced");
  const fee = `insert into fees (project_id, invoice_id, id, fee_type, units, amount_cents,
                                 amount_currency, properties)
               values ('${ours}', '${id(34)}', '${id(35)}', 'add_on', 1, 100, 'USD', '{}');`;
  const others = its.slice(0, its.indexOf("insert into fees")).replaceAll(acme, beta);
  // Taken, with every check that a commit makes, and undone: other tests read these tables.
  await admin(connection, `begin; ${fee} ${others} set constraints all immediate; rollback;`);
});
