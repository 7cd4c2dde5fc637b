// Changes what a caller says on an invoice of any kind: memo, PO number, metadata and the link to
// pay. Nothing that counts.

import { checkPaymentUrl } from "../domain/payment-url.ts";
import type { InvoicePatch } from "../schema/invoices.ts";
import type { Tx } from "../store/db.ts";
import * as invoices from "../store/invoices.ts";
import type { ProjectId } from "../store/tenants.ts";
import { type By, emit } from "./emit.ts";
import { lockInvoice } from "./invoice-standing.ts";

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
  await invoices.setDetails(tx, project, id, { memo, po_number, metadata, own_payment_url });
  const payload = { ...change };
  await emit(tx, project, [{ type: "invoice.updated", resource_id: id, payload }], by, now);
}
