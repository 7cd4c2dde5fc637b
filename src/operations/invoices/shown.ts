// Invoices as callers see them: with the link to pay, and a single one with all that stands behind
// its figures.

import { partOfNone, partsWithSums } from "../../domain/parts.ts";
import { paymentUrl } from "../../domain/payment-url.ts";
import type { ProjectId } from "../../ids.ts";
import type { Invoice, InvoiceWithFees } from "../../schema/invoices.ts";
import * as parties from "../../store/customers/parties.ts";
import type { Queryable } from "../../store/db/db.ts";
import * as invoices from "../../store/invoices/invoices.ts";

export function shownInvoice(row: invoices.ShownRow): Invoice {
  const { url_template, own_payment_url: _own, ...invoice } = row;
  return { ...invoice, payment_url: paymentUrl(row, url_template, row.customer_external_id) };
}

export async function readInvoice(
  db: Queryable,
  project: ProjectId,
  row: invoices.ShownRow,
): Promise<InvoiceWithFees> {
  const { parts: kept, ...details } = await invoices.getDetails(db, project, row.id);
  const both = await parties.get(db, project, row.id);
  const fees = await invoices.listFees(db, project, row.id);
  const parts = kept.map((part) => ({ ...part, due_at: new Date(part.due_at) }));
  return {
    ...shownInvoice(row),
    ...details,
    ...both,
    parts: partsWithSums(parts.length === 0 ? [partOfNone(row)] : parts, fees),
    fees: fees.map(({ invoice_id: _invoice, taxes, ...fee }) => ({
      ...fee,
      subscription_id: parts[fee.part]?.subscription_id ?? null,
      taxes: taxes.map(({ code, percent }) => ({ code, percent })),
    })),
  };
}
