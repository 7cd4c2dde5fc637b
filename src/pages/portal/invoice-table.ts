// The invoices of the portal, each with its state and, where it can be paid online, a button.

import { formatDate, formatMoney } from "../../domain/documents/format.ts";
import type { StoredPortal } from "../../schema/portal.ts";
import { type Html, html } from "../html.ts";
import { type Frame, linkTo } from "./frame.ts";

type Invoice = StoredPortal["invoices"][number];

function invoiceState(invoice: Invoice): readonly [string, string] {
  if (invoice.status === "succeeded") {
    const isCredited = invoice.offset_cents > 0 && invoice.offset_cents === invoice.total_cents;
    return isCredited ? ["Credited", ""] : ["Paid", "good"];
  }
  if (invoice.status === "voided") return ["Void", ""];
  if (invoice.status === "uncollectible") return ["Written off", ""];
  if (invoice.status === "overdue") return ["Overdue", "bad"];
  return invoice.payment_status === "partially_paid" ? ["Partly paid", "warn"] : ["Open", "warn"];
}

/** Whether its row shows what invoices had not before taxes, coupons and links to pay. */
export function hasMoney(invoice: Invoice): boolean {
  const { discount_cents, tax_cents, payment_url, invoice_type } = invoice;
  const isTopUp = invoice_type === "top_up";
  return discount_cents !== 0 || tax_cents !== 0 || payment_url !== null || isTopUp;
}

/** "incl. $1.80 tax, $1.00 discount", on phones in two lines. */
function partsOf({ discount_cents, tax_cents, currency }: Invoice): Html | false {
  if (discount_cents === 0 && tax_cents === 0) return false;
  const isBoth = discount_cents !== 0 && tax_cents !== 0;
  return html`<small class="parts">${
    tax_cents !== 0 && html`<span>incl. ${formatMoney(tax_cents, currency)} tax</span>`
  }${isBoth && html`<i>, </i>`}${
    discount_cents !== 0 && html`<span>${formatMoney(discount_cents, currency)} discount</span>`
  }</small>`;
}

export function invoiceTable(frame: Frame, invoices: readonly Invoice[]): Html {
  const isPayable = invoices.some(({ payment_url }) => payment_url !== null);
  const rows = invoices.map((invoice) => {
    const [state, tone] = invoiceState(invoice);
    const open = invoice.amount_due_cents > 0;
    const partly = open && invoice.amount_due_cents !== invoice.total_cents;
    return html`<tr><th scope="row"><a href="${linkTo(
      frame,
      `/invoices/${invoice.number}`,
    )}">${invoice.number}</a>${
      invoice.invoice_type === "top_up" && html`<small>Top-up</small>`
    }</th>
<td class="wide">${formatDate(invoice.issuing_date)}</td>
${
  open
    ? html`<td class="wide"><span class="narrow">Due </span>${formatDate(invoice.due_date)}</td>`
    : html`<td class="broad">–</td>`
}
<td class="state"><span class="pill ${tone}">${state}</span></td>
<td class="amount">${formatMoney(invoice.total_cents, invoice.currency)}${
      partly && html`<small>${formatMoney(invoice.amount_due_cents, invoice.currency)} due</small>`
    }${partsOf(invoice)}</td>${isPayable && payCell(invoice)}</tr>`;
  });
  return html`<div class="card scroll"><table><caption class="hide">Invoices, newest first</caption>
<thead><tr><th scope="col">Number</th><th scope="col">Issued</th><th scope="col">Due</th>
<th scope="col">Status</th><th scope="col" class="amount">Total</th>${
    isPayable && html`<th scope="col"><span class="hide">Pay</span></th>`
  }</tr></thead>
<tbody>${rows}</tbody></table></div>`;
}

function payCell(invoice: Invoice): Html {
  const button = payButton(invoice);
  return button === false ? html`<td class="broad"></td>` : html`<td class="pay">${button}</td>`;
}

export function payButton(invoice: Invoice): Html | false {
  const { payment_url, number, amount_due_cents, currency } = invoice;
  if (payment_url === null) return false;
  const amount = formatMoney(amount_due_cents, currency);
  return html`<a class="button pay" href="${payment_url}" rel="noreferrer">Pay<span class="narrow"> ${
    amount
  }</span><span class="hide"> invoice ${number}</span></a>`;
}
