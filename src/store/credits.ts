// Credit of customers: balances, and the entries that they are the sums of.

import { newId } from "../ids.ts";
import type { Queryable, Tx } from "./db.ts";
import { json, sql } from "./sql.ts";
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

/** Writes the entries and changes the balances by them. */
export async function record(
  tx: Tx,
  project: ProjectId,
  entries: readonly CreditEntry[],
  now: Date,
): Promise<void> {
  if (entries.length === 0) return;
  const rows = entries.map((entry) => ({ id: newId(), ...entry }));
  await tx.run(sql`
    with entry as (
      insert into credit_entries (project_id, created_at, id, customer_id, currency, amount_cents,
                                  reason, invoice_id)
      select ${project}, ${now}, e.*
        from json_to_recordset(${json(rows)}::json)
             as e (id uuid, customer_id uuid, currency text, amount_cents bigint, reason text,
                   invoice_id uuid)
      returning customer_id, currency, amount_cents),
    -- Summed first: the check on the balance must not see a part of the batch.
    change as (
      select customer_id, currency, sum(amount_cents)::bigint as amount_cents
        from entry
       group by customer_id, currency),
    existing as (
      update credits c
         set balance_cents = c.balance_cents + n.amount_cents
        from change n
       where c.project_id = ${project} and c.customer_id = n.customer_id
         and c.currency = n.currency
      returning c.customer_id, c.currency)
    insert into credits as c (project_id, customer_id, currency, balance_cents)
    select ${project}, n.customer_id, n.currency, n.amount_cents
      from change n
     where not exists (
       select 1
         from existing x
        where x.customer_id = n.customer_id and x.currency = n.currency)
     order by n.customer_id, n.currency
    on conflict (project_id, customer_id, currency) do update
       set balance_cents = c.balance_cents + excluded.balance_cents`);
}
