// The credit notes of the portal, each with its invoice and what became of the money.

import { formatDate, formatMoney } from "../../domain/documents/format.ts";
import type { StoredPortal } from "../../schema/portal.ts";
import { type Html, html } from "../html.ts";
import { type Frame, linkTo } from "./frame.ts";

type CreditNote = StoredPortal["credit_notes"][number];

/** "$4.00 off the invoice, $2.00 refunded". */
function whereItWent(note: CreditNote): string {
  const parts: readonly (readonly [number, string])[] = [
    [note.offset_cents, "off the invoice"],
    [note.refunded_cents, "refunded"],
    [note.refund_cents - note.refunded_cents, "to be refunded"],
    [note.credit_cents, "to your credit"],
  ];
  return parts
    .filter(([cents]) => cents > 0)
    .map(([cents, label]) => `${formatMoney(cents, note.currency)} ${label}`)
    .join(", ");
}

export function creditNoteTable(frame: Frame, credit_notes: readonly CreditNote[]): Html {
  const rows = credit_notes.map(
    (note) => html`<tr><th scope="row"><a href="${linkTo(
      frame,
      `/credit-notes/${note.number}`,
    )}">${note.number}</a></th>
<td class="wide">${formatDate(note.issuing_date)}</td>
<td class="wide"><span class="narrow">For </span>${note.invoice_number}</td>
<td class="went">${whereItWent(note)}</td>
<td class="amount">${formatMoney(note.total_cents, note.currency)}</td></tr>`,
  );
  return html`<div class="card scroll"><table><caption class="hide">Credit notes, newest first</caption>
<thead><tr><th scope="col">Number</th><th scope="col">Issued</th><th scope="col">Invoice</th>
<th scope="col">Settled</th><th scope="col" class="amount">Total</th></tr></thead>
<tbody>${rows}</tbody></table></div>
`;
}
