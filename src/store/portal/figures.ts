// What the portal shows of a customer's money that no other list has: payments with the numbers of
// their invoices, what is due, and in which currencies money was granted.

import type { ProjectId } from "../../ids.ts";
import type { PortalPage } from "../../schema/portal.ts";
import type { Queryable } from "../db/db.ts";
import { type PageRequest, page } from "../db/page.ts";
import { sql } from "../db/sql.ts";
import { NUMBER } from "../invoices/numbers.ts";

export type ShownPayment = {
  readonly id: string;
  readonly invoice_number: string;
  readonly amount_cents: number;
  readonly refunded_cents: number;
  readonly currency: string;
  readonly provider: string;
  readonly status: string;
  readonly paid_at: Date;
};

export function listPayments(
  db: Queryable,
  project: ProjectId,
  customer_id: string,
  request: PageRequest,
) {
  return page<ShownPayment>(
    db,
    {
      columns: sql`p.id, ${NUMBER} as invoice_number, p.amount_cents, p.refunded_cents, p.currency,
        p.provider, p.status, p.paid_at`,
      from: sql`payments p`,
      joined: sql`join invoices i on i.project_id = ${project} and i.id = p.invoice_id`,
      where: [sql`p.project_id = ${project}`, sql`p.customer_id = ${customer_id}`],
      project: sql`p.project_id`,
      order: [{ column: sql`p.id`, type: sql`uuid` }],
    },
    request,
  );
}

type Due = PortalPage["due"][number];

/** What the customer is still to pay, by currency. */
export function listDue(db: Queryable, project: ProjectId, customer_id: string) {
  const open = sql`total_cents - credit_applied_cents - offset_cents - amount_paid_cents
    + overpaid_cents - written_off_cents`;
  return db.many<Due>(sql`
    select currency, sum(${open})::bigint as outstanding_cents,
           coalesce(sum(${open}) filter (where status = 'overdue'), 0)::bigint as overdue_cents
      from invoices
     where project_id = ${project} and customer_id = ${customer_id}
       and status in ('outstanding', 'overdue', 'uncollectible') and ${open} > 0
     group by currency
     order by currency`);
}

/** Lists the currencies in which money was granted to the customer, used or not. */
export async function listGranted(db: Queryable, project: ProjectId, customer_id: string) {
  const rows = await db.many<{ currency: string }>(sql`
    select distinct currency
      from grants
     where project_id = ${project} and customer_id = ${customer_id}
       and kind in ('free', 'paid') and status not in ('pending', 'voided')`);
  return rows.map(({ currency }) => currency);
}
