// Voids an invoice that is not paid in full: what was used of credit goes back to its grants, what
// was paid becomes credit.

import { statusOf } from "../../domain/amounts.ts";
import { refuse } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import * as coupons from "../../store/catalog/coupons.ts";
import type { Tx } from "../../store/db/db.ts";
import * as invoices from "../../store/invoices/invoices.ts";
import * as ledger from "../../store/money/ledger.ts";
import * as wallets from "../../store/money/wallets.ts";
import { type By, emit, type Fact } from "../emit.ts";
import { addCredit } from "../issuing/add-credit.ts";
import { lockInvoice } from "../issuing/standing.ts";
import { grantFact } from "../money/top-up.ts";
import { lookAtWalletsOf } from "../money/watch-wallets.ts";

// Spec gap: voiding ends the demand for payment and nothing else. The usage on the invoice stays
// billed, so that later corrections of the period start from what was invoiced.
export async function voidInvoice(
  tx: Tx,
  project: ProjectId,
  id: string,
  by: By,
  now: Date,
): Promise<invoices.InvoiceRow> {
  const invoice = await lockInvoice(tx, project, id);
  if (invoice.status === "voided") return invoice;
  if (invoice.status === "succeeded") {
    throw refuse("invoice_already_paid", "A paid invoice cannot be voided.");
  }
  if (invoice.credit_notes_cents > 0) {
    throw refuse("has_credit_notes", "An invoice with credit notes cannot be voided.");
  }
  const expired = await giveBack(tx, project, invoice, now);
  await creditPaid(tx, project, invoice, now);
  await voidTopUp(tx, project, invoice, now);
  await coupons.voidUses(tx, project, id);
  const { payment_status } = statusOf({ ...invoice, is_overdue: false, is_voided: true });
  const voided = await invoices.recordVoided(tx, project, id, payment_status, now);
  const credited_cents = paidIn(invoice) + invoice.credit_applied_cents;
  const payload = { number: voided.number, total_cents: voided.total_cents, credited_cents };
  const facts = [{ type: "invoice.voided" as const, resource_id: id, payload }, ...expired];
  await emit(tx, project, facts, by, now);
  await lookAtWalletsOf(tx, project, invoice.customer_id, by, now);
  return voided;
}

/** Gives the credit back to its grants; one that has ended lets it lapse again at once. */
async function giveBack(
  tx: Tx,
  project: ProjectId,
  { id: invoice_id, customer_id, currency }: invoices.InvoiceRow,
  now: Date,
): Promise<Fact[]> {
  const entry = { customer_id, currency, invoice_id };
  const used = await ledger.listApplied(tx, project, invoice_id);
  const entries: ledger.NewLedgerEntry[] = [];
  const facts: Fact[] = [];
  for (const { grant_id, amount_cents, ...grant } of used) {
    entries.push({ ...entry, grant_id, amount_cents, reason: "voided" });
    const reason = endOf(grant, now);
    if (reason === null) continue;
    entries.push({ ...entry, grant_id, amount_cents: -amount_cents, reason });
    if (reason === grant.status) continue;
    await ledger.setStatus(tx, project, [grant_id], reason);
    const expired = await ledger.getGrant(tx, project, grant_id);
    if (expired !== undefined) facts.push(grantFact("grant.expired", expired));
  }
  await ledger.record(tx, project, entries, now);
  return facts;
}

/** What was paid, without what was paid too much: that is credit already. */
function paidIn({ amount_paid_cents, overpaid_cents }: invoices.InvoiceRow): number {
  return amount_paid_cents - overpaid_cents;
}

/** What was paid becomes credit. */
async function creditPaid(
  tx: Tx,
  project: ProjectId,
  invoice: invoices.InvoiceRow,
  now: Date,
): Promise<void> {
  const { id: invoice_id, customer_id, currency } = invoice;
  const amount_cents = paidIn(invoice);
  if (amount_cents === 0) return;
  const credit = { customer_id, currency, amount_cents, invoice_id };
  await addCredit(tx, project, { ...credit, reason: "voided" }, now);
}

/** How a grant ends with what comes back, if it does: also one that was used up before its time. */
function endOf(
  { status, expires_at }: Pick<ledger.AppliedGrant, "status" | "expires_at">,
  now: Date,
): "expired" | "revoked" | null {
  if (status === "revoked") return status;
  return status === "expired" || (expires_at !== null && expires_at <= now) ? "expired" : null;
}

/** Voids the grants of a top-up: they are never paid. */
async function voidTopUp(tx: Tx, project: ProjectId, invoice: invoices.InvoiceRow, now: Date) {
  if (invoice.invoice_type !== "top_up") return;
  const grants = await ledger.listByInvoice(tx, project, invoice.id);
  const pending = grants.filter(({ kind, status }) => kind === "paid" && status === "pending");
  await ledger.setStatus(
    tx,
    project,
    pending.map(({ id }) => id),
    "voided",
  );
  // None is pending any more: a wallet that is low asks for the next one.
  await wallets.markChanged(tx, project, invoice, now);
}
