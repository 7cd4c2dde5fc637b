// Credit of customers: balances, and the entries that they are the sums of.

import { newId } from "../ids.ts";
import type { Queryable, Tx } from "./db.ts";
import { columnsOf, recordset, rowsOf } from "./rows.ts";
import { sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

export type Balance = {
  readonly customer_id: string;
  readonly currency: string;
  readonly balance_cents: number;
};

export type CreditEntry = {
  readonly customer_id: string;
  readonly currency: string;
  readonly amount_cents: number;
  readonly reason: "overpayment" | "negative_total" | "applied" | "voided";
  readonly invoice_id: string;
};

/** The balances above zero of these customers, locked in the order of their ids. */
export function lock(tx: Tx, project: ProjectId, customer_ids: readonly string[]) {
  return tx.many<Balance>(sql`
    select customer_id, currency, balance_cents
      from credits
     where project_id = ${project} and customer_id = any(${customer_ids}::uuid[])
       and balance_cents > 0
     order by customer_id, currency
       for update`);
}

export function list(db: Queryable, project: ProjectId, customer_id: string) {
  return db.many<Balance>(sql`
    select customer_id, currency, balance_cents
      from credits
     where project_id = ${project} and customer_id = ${customer_id} and balance_cents > 0
     order by currency`);
}

const ENTRY = {
  id: "uuid",
  customer_id: "uuid",
  currency: "text",
  amount_cents: "bigint",
  reason: "text",
  invoice_id: "uuid",
  created_at: "timestamptz",
};
const BALANCE = { customer_id: "uuid", currency: "text", balance_cents: "bigint" };

/** Writes the entries and changes the balances by them. */
export async function record(
  tx: Tx,
  project: ProjectId,
  entries: readonly CreditEntry[],
  now: Date,
): Promise<void> {
  if (entries.length === 0) return;
  const rows = entries.map((entry) => ({ id: newId(), ...entry, created_at: now }));
  const changes = changesOf(entries);
  const [, existing] = await Promise.all([
    tx.run(sql`
    insert into credit_entries (${columnsOf(ENTRY)})
    ${rowsOf(project, ENTRY, rows)}`),
    tx.many<Balance>(sql`
    update credits c
       set balance_cents = c.balance_cents + n.balance_cents
      from ${recordset("n", BALANCE, changes)}
     where c.project_id = ${project} and c.customer_id = n.customer_id and c.currency = n.currency
    returning c.customer_id, c.currency, c.balance_cents`),
  ]);
  const known = new Set(existing.map(keyOf));
  const missing = changes.filter((change) => !known.has(keyOf(change)));
  if (missing.length === 0) return;
  await tx.run(sql`
    insert into credits as c (${columnsOf(BALANCE)})
    ${rowsOf(project, BALANCE, missing)}
    on conflict (project_id, customer_id, currency) do update
       set balance_cents = c.balance_cents + excluded.balance_cents`);
}

/** Summed first, in one order: the check on the balance must not see a part of the batch. */
function changesOf(entries: readonly CreditEntry[]): Balance[] {
  const changes = new Map<string, Balance>();
  for (const entry of entries) {
    const { customer_id, currency, amount_cents } = entry;
    const before = changes.get(keyOf(entry))?.balance_cents ?? 0;
    const balance_cents = before + amount_cents;
    changes.set(keyOf(entry), { customer_id, currency, balance_cents });
  }
  return [...changes].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, change]) => change);
}

function keyOf({ customer_id, currency }: Pick<Balance, "customer_id" | "currency">): string {
  return `${customer_id} ${currency}`;
}
