// What invoices need of customers and of the project that bills them, and the lock under which a
// customer's money moves.

import type { ProjectId } from "../../ids.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { sql } from "../db/sql.ts";

export type CustomerMoney = {
  readonly id: string;
  readonly tax_codes: readonly string[] | null;
  readonly tax_exemption: "exempt" | "reverse_charge" | null;
  readonly tax_note: string;
  readonly net_payment_days: number | null;
  readonly buyer_version: number;
  /** Whether it has, or had, grants or coupons. */
  readonly has_account: boolean;
  // The fields below are the project's.
  readonly has_taxes: boolean;
  readonly settings_tax_codes: readonly string[] | null;
  readonly settings_net_payment_days: number;
  readonly seller_version: number;
  readonly invoice_prefix: string;
  readonly payment_url: string;
  /** Since when the whole database waits for `dues resume`, and no invoice may be issued. */
  readonly held_since: Date | null;
};

export function list(db: Queryable, project: ProjectId, ids: readonly string[]) {
  return db.many<CustomerMoney>(sql`
    select c.id, c.tax_codes, c.tax_exemption, c.tax_note, c.net_payment_days,
           c.party_version as buyer_version, c.has_account,
           exists (select 1 from taxes where project_id = ${project}) as has_taxes,
           p.tax_codes as settings_tax_codes,
           p.net_payment_days as settings_net_payment_days, p.party_version as seller_version,
           p.invoice_prefix, p.payment_url,
           (select held_since from installation) as held_since
      from customers c
      join projects p on p.id = ${project}
     where c.project_id = ${project} and c.id = any(${ids}::uuid[])`);
}

/** Locks the customers' money until the commit: whoever else moves it waits. */
export async function lock(tx: Tx, project: ProjectId, ids: readonly string[]): Promise<void> {
  if (ids.length === 0) return;
  await tx.many(sql`
    select 1
      from customers
     where project_id = ${project} and id = any(${ids}::uuid[])
     order by id
       for no key update`);
}

/** Opens an account, under its lock: from now on the customer's invoices look for money. */
export async function open(tx: Tx, project: ProjectId, id: string): Promise<void> {
  await lock(tx, project, [id]);
  await tx.run(sql`
    update customers
       set has_account = true
     where project_id = ${project} and id = ${id} and not has_account`);
}
