// Everything that stands on the document of an invoice or credit note, read for the renderers.

import { type DocumentInput, type InvoiceDocument, invoiceDocument } from "../domain/documents.ts";
import { creditNoteDocument, type Note } from "../domain/documents-notes.ts";
import { maskedEmail } from "../domain/email-mask.ts";
import type { InvoiceWithFees } from "../schema/invoices.ts";
import * as creditNotes from "../store/credit-notes.ts";
import * as customers from "../store/customers.ts";
import type { Queryable } from "../store/db.ts";
import * as documents from "../store/documents.ts";
import * as payments from "../store/payments.ts";
import * as refunds from "../store/refunds.ts";
import * as settings from "../store/settings.ts";
import type { ProjectId } from "../store/tenants.ts";

/** A `stranger` has a link and no token, and sees the email masked. */
export type Reader = "owner" | "stranger";

/** To be called in a snapshot, so that all of it is of one moment. */
export async function readDocument(
  db: Queryable,
  project: ProjectId,
  invoice: InvoiceWithFees,
  reader: Reader,
): Promise<InvoiceDocument> {
  const input = await readInput(db, project, invoice, reader);
  return invoiceDocument({ ...input, settlement: await readSettlement(db, project, invoice) });
}

/** Of a note and the invoice that it corrects; in a snapshot too. */
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
  const customer = await customers.get(db, project, invoice.customer_id);
  if (customer === undefined) throw new Error("An invoice always has a customer.");
  const shown = (email: string) => (reader === "owner" ? email : maskedEmail(email));
  const { buyer } = invoice;
  return {
    issuer,
    customer: {
      name: customer.name,
      email: shown(customer.email),
      reference: customer.external_id,
    },
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
  { id, subscription_id, fees }: InvoiceWithFees,
): Promise<DocumentInput["names"]> {
  const metricCodes = fees.flatMap((fee) => fee.billable_metric_code ?? []);
  const itemCodes = fees.flatMap(({ properties: { catalog_item_code: code } }) =>
    typeof code === "string" ? [code] : [],
  );
  const metrics = await documents.listMetrics(db, project, metricCodes);
  return {
    plan: subscription_id === null ? undefined : await documents.getPlan(db, project, id),
    metrics: byCode(metrics),
    catalog: byCode(await documents.listCatalogNames(db, project, itemCodes)),
    dimensions: new Map(metrics.map(({ code, dimensions }) => [code, dimensions])),
  };
}

/** Refunds and credit notes, which few invoices have, are read only where there are some. */
async function readSettlement(
  db: Queryable,
  project: ProjectId,
  { id, credit_notes_cents }: InvoiceWithFees,
): Promise<DocumentInput["settlement"]> {
  const paid = await payments.listByInvoice(db, project, id);
  const hasRefunds = paid.some(({ refunded_cents }) => refunded_cents > 0);
  return {
    payments: paid,
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

function byCode(rows: readonly documents.Named[]): ReadonlyMap<string, string> {
  return new Map(rows.map(({ code, name }) => [code, name]));
}
