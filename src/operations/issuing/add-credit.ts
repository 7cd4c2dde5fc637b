// Credits a customer: a grant that can be used at once, and the ledger's entry that puts the money
// in it. Grants that are paid for first are made by money/top-up.ts.

import { DEFAULT_PRIORITY } from "../../domain/grants.ts";
import { newId, type ProjectId } from "../../ids.ts";
import type { Tx } from "../../store/db/db.ts";
import * as accounts from "../../store/money/accounts.ts";
import * as ledger from "../../store/money/ledger.ts";

export type Credit = {
  readonly customer_id: string;
  readonly currency: string;
  readonly amount_cents: number;
  /** The kind of the grant, and the reason of its entry. */
  readonly reason: "free" | "overpayment" | "negative_total" | "voided" | "credit_note";
  /** What left the credit behind. A free one has none of the three. */
  readonly invoice_id?: string;
  readonly payment_id?: string;
  readonly credit_note_id?: string;
  /** What callers say of a free one. */
  readonly name?: string;
  readonly priority?: number;
  readonly expires_at?: Date | null;
};

/** Takes the lock of the customer. */
export async function addCredit(
  tx: Tx,
  project: ProjectId,
  credit: Credit,
  now: Date,
): Promise<ledger.NewGrant> {
  const grant = grantOf(newId(), credit);
  await insertGrants(tx, project, [grant], now);
  await ledger.record(tx, project, [entryOf(grant.id, credit)], now);
  return grant;
}

/** Writes grants whose entries the caller records. Takes the locks of the customers. */
export async function insertGrants(
  tx: Tx,
  project: ProjectId,
  grants: readonly ledger.NewGrant[],
  now: Date,
): Promise<void> {
  for (const { customer_id } of grants) await accounts.open(tx, project, customer_id);
  await ledger.insertGrants(tx, project, grants, now);
}

export function grantOf(id: string, credit: Credit): ledger.NewGrant {
  return {
    id,
    customer_id: credit.customer_id,
    currency: credit.currency,
    kind: credit.reason,
    name: credit.name ?? "",
    amount_cents: credit.amount_cents,
    priority: credit.priority ?? DEFAULT_PRIORITY,
    expires_at: credit.expires_at ?? null,
    status: "active",
    invoice_id: credit.invoice_id ?? null,
    payment_id: credit.payment_id ?? null,
  };
}

export function entryOf(grant_id: string, credit: Credit): ledger.NewLedgerEntry {
  return {
    customer_id: credit.customer_id,
    currency: credit.currency,
    grant_id,
    reason: credit.reason,
    amount_cents: credit.amount_cents,
    invoice_id: credit.invoice_id ?? null,
    credit_note_id: credit.credit_note_id ?? null,
  };
}
