// Records a refund that the caller made: with a credit note it pays out what the note set aside for
// that; without one the money is due again.

import { paymentUrl } from "../../domain/payment-url.ts";
import { reportedAt } from "../../domain/reported-at.ts";
import { notFound, refuse } from "../../errors.ts";
import { newId, type ProjectId } from "../../ids.ts";
import type { Refund, RefundCreate } from "../../schema/credit-notes.ts";
import type { Payment } from "../../schema/payments.ts";
import * as customers from "../../store/customers/customers.ts";
import * as settings from "../../store/customers/settings.ts";
import type { Tx } from "../../store/db/db.ts";
import * as creditNotes from "../../store/invoices/credit-notes.ts";
import type { InvoiceRow } from "../../store/invoices/invoices.ts";
import * as accounts from "../../store/money/accounts.ts";
import * as ledger from "../../store/money/ledger.ts";
import * as payments from "../../store/money/payments.ts";
import * as refunds from "../../store/money/refunds.ts";
import { type By, emit, type Fact } from "../emit.ts";
import { becameOverdue, customerData, paymentDue, shortData } from "../issuing/facts.ts";
import { lockInvoice, moveStanding } from "../issuing/standing.ts";
import { lookAtWalletsOf } from "./watch-wallets.ts";

export async function recordRefund(
  tx: Tx,
  project: ProjectId,
  input: RefundCreate,
  by: By,
  now: Date,
): Promise<{ refund: Refund; created: boolean }> {
  const found = await payments.get(tx, project, input.payment_id.toLowerCase());
  if (found === undefined) throw notFound("payment", { field: "payment_id" });
  const invoice = await lockInvoice(tx, project, found.invoice_id);
  const payment = (await payments.get(tx, project, found.id)) ?? found;
  const known = await refunds.getByProvider(
    tx,
    project,
    payment.provider,
    input.provider_refund_id,
  );
  if (known !== undefined) return { refund: sameAs(known, input), created: false };
  const refunded_at = reportedAt("refunded_at", input.refunded_at, now);
  const { amount_cents } = input;
  if (amount_cents > payment.amount_cents - payment.refunded_cents) throw exceeds();
  const id = newId();
  const credit_note_id = input.credit_note_id?.toLowerCase() ?? null;
  const moved =
    credit_note_id === null
      ? await takeBack(tx, project, invoice, payment, amount_cents, id, now)
      : await payOut(tx, project, invoice, payment, credit_note_id, amount_cents);
  const refund = await refunds.insert(
    tx,
    project,
    {
      id,
      payment_id: payment.id,
      invoice_id: invoice.id,
      credit_note_id,
      amount_cents,
      credit_cents: moved.credit_cents,
      currency: payment.currency,
      refunded_at,
      provider: payment.provider,
      provider_refund_id: input.provider_refund_id,
    },
    now,
  );
  // Another call has recorded this reference a moment ago: what has been moved here is undone.
  if (refund === undefined) throw conflict();
  await refunds.addToPayment(tx, project, payment.id, amount_cents);
  const after = { ...payment, refunded_cents: payment.refunded_cents + amount_cents };
  await emit(tx, project, await factsOf(tx, project, refund, after, invoice, moved.after), by, now);
  await lookAtWalletsOf(tx, project, invoice.customer_id, by, now);
  return { refund, created: true };
}

function exceeds() {
  return refuse("amount_exceeds_refundable", "That is more than can be given back.");
}

function sameAs(known: Refund, input: RefundCreate): Refund {
  const same =
    known.payment_id === input.payment_id.toLowerCase() &&
    known.amount_cents === input.amount_cents;
  if (same) return known;
  throw conflict(known.id);
}

function conflict(existing_id?: string) {
  return refuse(
    "refund_conflict",
    "This provider_refund_id is recorded already, with another payment or amount.",
    {
      details: [
        {
          field: "provider_refund_id",
          code: "taken",
          ...(existing_id !== undefined && { existing_id }),
        },
      ],
    },
  );
}

type Moved = { readonly after: InvoiceRow; readonly credit_cents: number };

/** Pays out what a note set aside. The invoice stays as it is: the note has credited it already. */
async function payOut(
  tx: Tx,
  project: ProjectId,
  invoice: InvoiceRow,
  payment: Payment,
  credit_note_id: string,
  amount_cents: number,
): Promise<Moved> {
  const note = await creditNotes.get(tx, project, credit_note_id);
  if (note === undefined || note.invoice_id !== payment.invoice_id) {
    throw refuse("not_found", "credit_note_id: the payment's invoice has no such note.");
  }
  if (amount_cents > note.refund_cents - note.refunded_cents) throw exceeds();
  await creditNotes.addRefunded(tx, project, note.id, amount_cents);
  return { after: invoice, credit_cents: 0 };
}

/** Takes from the credit that the payment, or the void, has made; the rest is due again. */
async function takeBack(
  tx: Tx,
  project: ProjectId,
  invoice: InvoiceRow,
  payment: Payment,
  amount_cents: number,
  refund_id: string,
  now: Date,
): Promise<Moved> {
  const isVoided = invoice.status === "voided";
  const grants = (await ledger.listByInvoice(tx, project, invoice.id)).filter(
    ({ kind, payment_id }) => payment_id === payment.id || (isVoided && kind === "voided"),
  );
  const made = isVoided ? 0 : grants.reduce((sum, grant) => sum + grant.amount_cents, 0);
  let missing = amount_cents;
  const entries: ledger.NewLedgerEntry[] = [];
  for (const { id: grant_id, customer_id, currency, remaining_cents } of grants) {
    const cents = Math.min(missing, remaining_cents);
    if (cents === 0) continue;
    missing -= cents;
    const entry = { customer_id, currency, grant_id, invoice_id: invoice.id, refund_id };
    entries.push({ ...entry, amount_cents: -cents, reason: "refunded" });
  }
  const credit_cents = amount_cents - missing;
  // What a top-up has bought is in its grant, which only a note takes from.
  const isTopUp = invoice.invoice_type === "top_up" && !isVoided;
  if (isTopUp && missing > 0) {
    throw refuse(
      "wrong_invoice_type",
      "What a top-up has bought is refunded with a credit note on it.",
    );
  }
  const before = await refunds.sumByPayment(tx, project, payment.id);
  const inInvoice = isVoided
    ? 0
    : payment.amount_cents - made - (before.total_cents - before.credit_cents);
  if (missing > inInvoice) throw exceeds();
  await accounts.lock(tx, project, [invoice.customer_id]);
  await ledger.record(tx, project, entries, now);
  const move = {
    amount_paid_cents: -amount_cents,
    overpaid_cents: isVoided ? 0 : -credit_cents,
  };
  return { after: await moveStanding(tx, project, invoice, move, now), credit_cents };
}

async function factsOf(
  tx: Tx,
  project: ProjectId,
  refund: Refund,
  payment: Payment,
  before: InvoiceRow,
  after: InvoiceRow,
): Promise<Fact[]> {
  const customer = await customers.get(tx, project, before.customer_id);
  if (customer === undefined) throw new Error(`Customer ${before.customer_id} vanished.`);
  const { payment_url: template } = await settings.get(tx, project);
  const payment_url = paymentUrl(after, template, customer.external_id);
  const { id, payment_id, invoice_id, amount_cents, credit_note_id } = refund;
  // The names of invoice and customer stand beside it.
  const { invoice_number, customer_id, customer_external_id, customer_name, ...paid } = payment;
  const facts: Fact[] = [
    {
      type: "refund.recorded",
      resource_id: id,
      payload: { payment_id, invoice_id, amount_cents, credit_note_id },
      webhook: {
        event: "payment.refunded",
        data: {
          refund,
          payment: paid,
          invoice: shortData(after, payment_url),
          customer: customerData(customer),
        },
      },
    },
  ];
  if (before.amount_due_cents === 0 && after.amount_due_cents > 0) {
    const { number, amount_due_cents } = after;
    const payload = { number, amount_due_cents };
    facts.push({ type: "invoice.reopened", resource_id: after.id, payload });
    if (after.status === "overdue") facts.push(becameOverdue(after));
    facts.push(paymentDue(after, payment_url, customer));
  }
  return facts;
}
