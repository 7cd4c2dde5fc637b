// Invoices as callers see them: with the link to pay, and a single one with all that stands behind
// its figures.

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
  const details = await invoices.getDetails(db, project, row.id);
  const both = await parties.get(db, project, row.id);
  const fees = await invoices.listFees(db, project, row.id);
  return {
    ...shownInvoice(row),
    ...details,
    ...both,
    fees: fees.map(({ invoice_id: _invoice, taxes, ...fee }) => ({
      ...fee,
      taxes: taxes.map(({ code, percent }) => ({ code, percent })),
    })),
  };
}
