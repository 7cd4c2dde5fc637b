// Everything that stands on the document of an invoice or credit note, read for the renderers.

import {
  type DocumentInput,
  type InvoiceDocument,
  invoiceDocument,
} from "../../domain/documents/document.ts";
import { creditNoteDocument, type Note } from "../../domain/documents/notes.ts";
import { maskedEmail } from "../../domain/email-mask.ts";
import type { ProjectId } from "../../ids.ts";
import type { InvoiceWithFees } from "../../schema/invoices.ts";
import * as settings from "../../store/customers/settings.ts";
import type { Queryable } from "../../store/db/db.ts";
import * as creditNotes from "../../store/invoices/credit-notes.ts";
import * as documents from "../../store/invoices/documents.ts";
import * as payments from "../../store/money/payments.ts";
import * as refunds from "../../store/money/refunds.ts";

/** A `stranger` has a link and no token: sees the email masked, and no note beside a payment. */
export type Reader = "owner" | "stranger";

/** Needs a snapshot, so that all of it is of one moment. */
export async function readDocument(
  db: Queryable,
  project: ProjectId,
  invoice: InvoiceWithFees,
  reader: Reader,
): Promise<InvoiceDocument> {
  const input = await readInput(db, project, invoice, reader);
  const settlement = await readSettlement(db, project, invoice, reader);
  return invoiceDocument({ ...input, settlement });
}

/** `invoice` is the one that the note corrects. Needs a snapshot too. */
export async function readNoteDocument(
  db: Queryable,
  project: ProjectId,
  note: Note,
  invoice: InvoiceWithFees,
  reader: Reader,
): Promise<InvoiceDocument> {
  const input = await readInput(db, project, invoice, reader);
  const all = note.refunded_cents === 0 ? [] : await readRefunds(db, project, invoice.id);
  const own = all.filter(({ credit_note_id }) => credit_note_id === note.id);
  return creditNoteDocument({ ...input, note, refunds: own });
}

async function readInput(
  db: Queryable,
  project: ProjectId,
  invoice: InvoiceWithFees,
  reader: Reader,
): Promise<Omit<DocumentInput, "settlement">> {
  const issuer = await settings.get(db, project);
  const shown = (email: string) => (reader === "owner" ? email : maskedEmail(email));
  const { buyer } = invoice;
  return {
    issuer,
    invoice: {
      ...invoice,
      buyer: typeof buyer.email === "string" ? { ...buyer, email: shown(buyer.email) } : buyer,
    },
    names: await readNames(db, project, invoice),
  };
}

export async function readNames(
  db: Queryable,
  project: ProjectId,
  { id, invoice_type, fees }: InvoiceWithFees,
): Promise<DocumentInput["names"]> {
  const metricCodes = fees.flatMap((fee) => fee.billable_metric_code ?? []);
  const isOfPlan = invoice_type === "subscription";
  const plans = isOfPlan ? await documents.listPlans(db, project, id) : [];
  const metrics = await documents.listDimensions(db, project, metricCodes);
  return {
    plans: new Map(plans.map(({ code, name }) => [code, name])),
    dimensions: new Map(metrics.map(({ code, dimensions }) => [code, dimensions])),
  };
}

/** Refunds and credit notes, which few invoices have, are read only where there are some. */
async function readSettlement(
  db: Queryable,
  project: ProjectId,
  { id, credit_notes_cents }: InvoiceWithFees,
  reader: Reader,
): Promise<DocumentInput["settlement"]> {
  const paid = await payments.listByInvoice(db, project, id);
  const hasRefunds = paid.some(({ refunded_cents }) => refunded_cents > 0);
  return {
    payments: reader === "owner" ? paid : paid.map((each) => ({ ...each, reference: null })),
    refunds: hasRefunds ? await refunds.listByPayments(db, project, idsOf(paid)) : [],
    notes: credit_notes_cents === 0 ? [] : await creditNotes.listByInvoice(db, project, id),
  };
}

async function readRefunds(db: Queryable, project: ProjectId, invoice_id: string) {
  const paid = await payments.listByInvoice(db, project, invoice_id);
  return refunds.listByPayments(db, project, idsOf(paid));
}

function idsOf(rows: readonly { readonly id: string }[]): string[] {
  return rows.map(({ id }) => id);
}
