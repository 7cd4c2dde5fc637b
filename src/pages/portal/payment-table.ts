// The payments of the portal.

import { formatDate, formatMoney } from "../../domain/documents/format.ts";
import { methodName } from "../../domain/payment-methods.ts";
import type { StoredPortal } from "../../schema/portal.ts";
import { type Html, html } from "../html.ts";

type Payment = StoredPortal["payments"][number];

export function isRefunded({ refunded_cents }: Payment): boolean {
  return refunded_cents > 0;
}

export function paymentTable(payments: readonly Payment[]): Html {
  const rows = payments.map(
    (payment) => html`<tr><th scope="row">${formatDate(payment.paid_at)}</th>
<td class="wide"><span class="narrow">For </span>${payment.invoice_number}</td><td class="wide"><bdi>${methodName(payment.provider)}</bdi></td>
<td class="amount">${formatMoney(payment.amount_cents, payment.currency)}${
      isRefunded(payment) &&
      html`<small>${formatMoney(payment.refunded_cents, payment.currency)} refunded</small>`
    }</td></tr>`,
  );
  return html`<div class="card scroll"><table><caption class="hide">Payments, newest first</caption>
<thead><tr><th scope="col">Paid</th><th scope="col">Invoice</th><th scope="col">Method</th>
<th scope="col" class="amount">Amount</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}
