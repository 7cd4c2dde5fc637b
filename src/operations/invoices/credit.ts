// Makes credit notes: what is credited, the tax on it, and where the money goes.

import {
  type CreditableFee,
  isCreditable,
  linesLeft,
  type NoteAmounts,
  type NoteLine,
  noteAmounts,
  settleNote,
} from "../../domain/credit-notes.ts";
import { utcDate } from "../../domain/dates.ts";
import { paymentUrl } from "../../domain/payment-url.ts";
import type { Tax } from "../../domain/taxes.ts";
import { refuse, refuseField } from "../../errors.ts";
import { canonicalUuid, newId, type ProjectId } from "../../ids.ts";
import type { CreditNoteCreate } from "../../schema/credit-notes.ts";
import * as installation from "../../store/backup/installation.ts";
import * as customers from "../../store/customers/customers.ts";
import * as settings from "../../store/customers/settings.ts";
import type { Queryable, Tx } from "../../store/db/db.ts";
import * as creditNotes from "../../store/invoices/credit-notes.ts";
import * as invoices from "../../store/invoices/invoices.ts";
import * as ledger from "../../store/money/ledger.ts";
import { type By, emit, type Fact } from "../emit.ts";
import { addCredit } from "../issuing/add-credit.ts";
import { customerData, shortData } from "../issuing/facts.ts";
import { lockInvoice, moveStanding } from "../issuing/standing.ts";
import { lookAtWalletsOf } from "../money/watch-wallets.ts";

export type NoteDraft = NoteAmounts & {
  readonly offset_cents: number;
  readonly from_written_off: number;
  readonly refund_cents: number;
  readonly credit_cents: number;
  /** The grant that a top-up has bought, which loses the total. */
  readonly grant: ledger.GrantRow | undefined;
};

export async function createCreditNote(
  tx: Tx,
  project: ProjectId,
  input: CreditNoteCreate,
  by: By,
  now: Date,
): Promise<creditNotes.CreditNoteRow> {
  await installation.refuseWhileHeld(tx);
  const invoice = await lockInvoice(tx, project, input.invoice_id.toLowerCase(), "invoice_id");
  const draft = await draftNote(tx, project, invoice, input);
  const { lines, taxes, subtotal_cents, tax_cents, total_cents } = draft;
  const { offset_cents, refund_cents, credit_cents } = draft;
  const { credit_note_prefix: prefix } = await settings.get(tx, project);
  const id = newId();
  const year = now.getUTCFullYear();
  const number_seq = await creditNotes.takeNumber(tx, project, year);
  await creditNotes.insert(
    tx,
    project,
    {
      id,
      prefix,
      number_year: year,
      number_seq,
      invoice_id: invoice.id,
      customer_id: invoice.customer_id,
      currency: invoice.currency,
      subtotal_cents,
      tax_cents,
      total_cents,
      offset_cents,
      refund_cents,
      credit_cents,
      reason: input.reason ?? "",
      memo: input.memo ?? "",
      taxes: [...taxes],
      lines: [...lines],
      issuing_date: utcDate(now),
    },
    now,
  );
  const move = {
    offset_cents,
    written_off_cents: -draft.from_written_off,
    credit_notes_cents: total_cents,
  };
  const after = await moveStanding(tx, project, invoice, move, now);
  await moveCredit(tx, project, invoice, id, draft, now);
  const note = await creditNotes.get(tx, project, id);
  if (note === undefined) throw new Error(`Credit note ${id} was not written.`);
  await emit(tx, project, await factsOf(tx, project, note, invoice, after), by, now);
  await lookAtWalletsOf(tx, project, invoice.customer_id, by, now);
  return note;
}

/** Decides a note and writes nothing: the preview takes it as well. */
export async function draftNote(
  db: Queryable,
  project: ProjectId,
  invoice: invoices.InvoiceRow,
  input: CreditNoteCreate,
): Promise<NoteDraft> {
  if (invoice.status === "voided") throw refuse("invoice_voided", "The invoice is voided.");
  const isTopUp = invoice.invoice_type === "top_up";
  if (isTopUp && invoice.status !== "succeeded") {
    throw refuse("wrong_invoice_type", "A top-up is credited only once it is paid.");
  }
  const notes = await creditNotes.listByInvoice(db, project, invoice.id);
  const fees = creditable(await invoices.listFees(db, project, invoice.id), notes);
  const lines = await linesAsked(db, project, invoice, fees, input);
  const amounts = noteAmounts(fees, lines);
  const rest = invoice.total_cents - invoice.credit_notes_cents;
  if (amounts.total_cents < 1 || amounts.total_cents > rest) throw exceedsCreditable(rest);
  const grant = isTopUp ? await topUpOf(db, project, invoice) : undefined;
  if (grant !== undefined) {
    if (amounts.total_cents > grant.remaining_cents) throw exceedsCreditable(grant.remaining_cents);
    const all = { offset_cents: 0, from_written_off: 0, credit_cents: 0 };
    return { ...amounts, ...all, refund_cents: amounts.total_cents, grant };
  }
  const { refund_cents = 0 } = input;
  const due_cents = invoice.amount_due_cents;
  const { written_off_cents } = invoice;
  const settled = settleNote(amounts.total_cents, { due_cents, written_off_cents }, refund_cents);
  const refunded = notes.reduce((sum, note) => sum + note.refund_cents, 0);
  const refundable = Math.min(
    settled.refundable_cents,
    invoice.amount_paid_cents - invoice.overpaid_cents - refunded,
  );
  if (refund_cents > Math.max(0, refundable)) {
    throw refuse(
      "amount_exceeds_refundable",
      `refund_cents may be at most ${Math.max(0, refundable)}: what was paid and is not due.`,
    );
  }
  const { offset_cents, from_written_off, credit_cents } = settled;
  return { ...amounts, offset_cents, from_written_off, refund_cents, credit_cents, grant };
}

function exceedsCreditable(left: number) {
  return refuse("amount_exceeds_creditable", `At most ${left} can be credited on this invoice.`);
}

/** A fee, and the part of the invoice that it is of. */
type PartFee = CreditableFee & { readonly part: number };

function creditable(
  fees: readonly invoices.FeeRow[],
  notes: readonly creditNotes.CreditNoteRow[],
): PartFee[] {
  const credited = new Map<string, number>();
  for (const { lines } of notes) {
    for (const { fee_id, amount_cents } of lines) {
      credited.set(fee_id, (credited.get(fee_id) ?? 0) + amount_cents);
    }
  }
  return fees.map(({ id, part, taxable_cents, taxes }) => ({
    id,
    part,
    taxable_cents,
    left_cents: taxable_cents - (credited.get(id) ?? 0),
    taxes: taxes as Tax[],
  }));
}

/** The lines that the caller names, or all that are left: of the invoice, or of a subscription. */
async function linesAsked(
  db: Queryable,
  project: ProjectId,
  invoice: invoices.InvoiceRow,
  fees: readonly PartFee[],
  { lines, subscription_id }: CreditNoteCreate,
): Promise<NoteLine[]> {
  if (subscription_id === undefined) {
    return lines === undefined ? linesLeft(fees) : linesNamed(fees, lines);
  }
  if (lines !== undefined) {
    const message = "Leave out lines: subscription_id credits all that is left of its lines.";
    throw refuseField("lines", "unsupported", message);
  }
  const { parts } = await invoices.getDetails(db, project, invoice.id);
  const isAsked = isNamed(subscription_id);
  const own = new Set(parts.flatMap((part, i) => (isAsked(part) ? [i] : [])));
  if (own.size === 0) {
    throw refuse("not_found", "subscription_id: the invoice has no lines of this subscription.");
  }
  return linesLeft(fees.filter(({ part }) => own.has(part)));
}

type Named = Pick<
  invoices.InvoiceDetails["parts"][number],
  "subscription_id" | "subscription_external_id"
>;

function isNamed(ref: string): (part: Named) => boolean {
  if (ref.startsWith("ext:")) return (part) => part.subscription_external_id === ref.slice(4);
  const id = canonicalUuid(ref);
  return ({ subscription_id }) => id !== undefined && subscription_id === id;
}

function linesNamed(
  fees: readonly CreditableFee[],
  lines: NonNullable<CreditNoteCreate["lines"]>,
): NoteLine[] {
  const seen = new Set<string>();
  return lines.map(({ fee_id: sent, amount_cents }, i) => {
    const fee_id = sent.toLowerCase();
    const fee = fees.find(({ id }) => id === fee_id);
    const at = `lines[${i}]`;
    if (fee === undefined) throw refuse("not_found", `${at}.fee_id: the invoice has no such fee.`);
    if (seen.has(fee_id)) {
      throw refuseField(`${at}.fee_id`, "uniqueItems", `${at}.fee_id names a fee twice.`);
    }
    seen.add(fee_id);
    if (!isCreditable(fee, amount_cents)) {
      const message = `${at}.amount_cents must be of 1 to ${fee.left_cents}: what is left of the fee.`;
      if (Math.abs(amount_cents) > Math.abs(fee.left_cents)) {
        throw refuse("amount_exceeds_creditable", message);
      }
      throw refuseField(`${at}.amount_cents`, "minimum", message);
    }
    return { fee_id, amount_cents };
  });
}

async function topUpOf(db: Queryable, project: ProjectId, invoice: invoices.InvoiceRow) {
  const grants = await ledger.listByInvoice(db, project, invoice.id);
  const grant = grants.find(({ kind }) => kind === "paid");
  if (grant === undefined) throw new Error(`Top-up ${invoice.id} has no grant.`);
  return grant;
}

async function moveCredit(
  tx: Tx,
  project: ProjectId,
  { customer_id, currency, id: invoice_id }: invoices.InvoiceRow,
  credit_note_id: string,
  { grant, credit_cents, total_cents }: NoteDraft,
  now: Date,
): Promise<void> {
  const of = { customer_id, currency, invoice_id, credit_note_id, reason: "credit_note" as const };
  if (grant !== undefined) {
    const lost = { ...of, grant_id: grant.id, amount_cents: -total_cents };
    await ledger.record(tx, project, [lost], now);
  } else if (credit_cents > 0) {
    await addCredit(tx, project, { ...of, amount_cents: credit_cents }, now);
  }
}

async function factsOf(
  tx: Tx,
  project: ProjectId,
  note: creditNotes.CreditNoteRow,
  before: invoices.InvoiceRow,
  after: invoices.InvoiceRow,
): Promise<Fact[]> {
  const customer = await customers.get(tx, project, note.customer_id);
  if (customer === undefined) throw new Error(`Customer ${note.customer_id} vanished.`);
  const { payment_url: template } = await settings.get(tx, project);
  const payment_url = paymentUrl(after, template, customer.external_id);
  const { number, invoice_id, total_cents } = note;
  const invoice = shortData(after, payment_url);
  const created: Fact = {
    type: "credit_note.created",
    resource_id: note.id,
    payload: { number, invoice_id, total_cents },
    webhook: {
      event: "credit_note.created",
      data: { credit_note: note, invoice, customer: customerData(customer) },
    },
  };
  const isPaid = before.status !== "succeeded" && after.status === "succeeded";
  const payload = { number: after.number, total_cents: after.total_cents };
  return isPaid ? [created, { type: "invoice.paid", resource_id: after.id, payload }] : [created];
}
