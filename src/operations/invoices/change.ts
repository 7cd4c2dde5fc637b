// Changes what a caller says on an invoice of any kind: memo, PO number, metadata and the link to
// pay. Nothing that counts.

import { changedFields } from "../../domain/changed-fields.ts";
import { checkPaymentUrl } from "../../domain/payment-url.ts";
import type { ProjectId } from "../../ids.ts";
import type { InvoicePatch } from "../../schema/invoices.ts";
import type { Tx } from "../../store/db/db.ts";
import * as invoices from "../../store/invoices/invoices.ts";
import { type By, emit, updated } from "../emit.ts";
import { lockInvoice } from "../issuing/standing.ts";

export async function patchInvoice(
  tx: Tx,
  project: ProjectId,
  id: string,
  change: InvoicePatch,
  by: By,
  now: Date,
): Promise<void> {
  checkPaymentUrl(change.payment_url);
  const invoice = await lockInvoice(tx, project, id);
  const { memo = invoice.memo, po_number = invoice.po_number } = change;
  const { metadata = invoice.metadata } = change;
  const own_payment_url =
    change.payment_url === undefined ? invoice.own_payment_url : change.payment_url;
  const details = { memo, po_number, metadata, own_payment_url };
  await invoices.setDetails(tx, project, id, details);
  const { own_payment_url: payment_url, ...changed } = changedFields(
    invoice,
    { ...invoice, ...details },
    Object.keys(details),
  );
  const told = { ...changed, ...(payment_url !== undefined && { payment_url }) };
  await emit(tx, project, updated("invoice.updated", id, told), by, now);
}
