// The first thing on the portal: what is due, invoice by invoice, how it can be paid, and what
// credit there is.

import { formatDate, formatInstant, formatMoney } from "../../domain/documents/format.ts";
import { PORTAL_OPEN_SHOWN, type PortalPage, type StoredPortal } from "../../schema/portal.ts";
import { type Html, html } from "../html.ts";
import { contact, type Frame, linkTo } from "./frame.ts";
import { payButton } from "./invoice-table.ts";

export type Due = Frame & { readonly portal: StoredPortal; readonly page: PortalPage };

export function dueCard({ portal, page, ...frame }: Due): Html {
  const { totals, generated_at } = portal;
  const none = [{ currency: totals.currency, outstanding_cents: 0, overdue_cents: 0 }];
  const due = page.due.length === 0 ? none : page.due;
  const overdue = due.filter(({ overdue_cents }) => overdue_cents > 0);
  const { access } = frame;
  return html`<section class="card due" aria-label="What is due">
<dl>
<div><dt>Amount due</dt><dd>${amounts(due, "outstanding_cents")}</dd></div>
${
  overdue.length > 0 &&
  html`<div><dt>Overdue</dt><dd class="bad">${amounts(overdue, "overdue_cents")}</dd></div>`
}
${credit(portal, page)}
</dl>
<div class="asof"><span>As of <time datetime="${generated_at}">${formatInstant(generated_at)}</time>
</span><form method="get">${
    access !== undefined && html`<input type="hidden" name="access" value="${access}">`
  }
<button type="submit">Refresh</button></form></div>
${page.open.length > 0 && toPay(frame, page.open)}
</section>`;
}

function toPay(frame: Frame, open: PortalPage["open"]): Html {
  const shown = open.slice(0, PORTAL_OPEN_SHOWN);
  const { payment_instructions } = frame.issuer;
  return html`<div class="topay"><ul>${shown.map((invoice) => openLine(frame, invoice))}</ul>${
    open.length > shown.length &&
    html`<p class="soft">Others that are to be paid are in the list of invoices below.</p>`
  }${
    payment_instructions !== "" &&
    html`<h2>How to pay</h2><p class="how" dir="auto">${payment_instructions}</p>${contact(frame.issuer)}`
  }</div>`;
}

function openLine(frame: Frame, invoice: PortalPage["open"][number]): Html {
  const { number, status, due_date, amount_due_cents, currency } = invoice;
  const isLate = status === "overdue";
  const label = `${isLate ? "Was due" : "Due"} ${formatDate(due_date)}`;
  return html`<li><a href="${linkTo(frame, `/invoices/${number}`)}">${number}</a><span class="${
    isLate ? "when bad" : "when"
  }">${label}</span><b>${formatMoney(amount_due_cents, currency)}</b>${payButton(invoice)}</li>`;
}

function credit(portal: StoredPortal, { prepaid }: PortalPage): Html | false {
  const shown = portal.wallets.filter(
    ({ currency, balance_cents }) => balance_cents > 0 || prepaid.includes(currency),
  );
  return (
    shown.length > 0 &&
    html`<div><dt>Your credit</dt><dd>${amounts(shown, "balance_cents")}</dd>${shown
      .filter(({ currency }) => prepaid.includes(currency))
      .map((wallet) => html`<dd class="left">${leftText(wallet)}</dd>`)}</div>`
  );
}

/** What the open periods will take of a wallet, as far as they have come. */
function leftText({ currency, running_cents, available_cents }: StoredPortal["wallets"][number]) {
  if (running_cents === 0) return "";
  const used = formatMoney(running_cents, currency);
  if (available_cents >= 0) {
    return `${formatMoney(available_cents, currency)} left after ${used} not yet invoiced`;
  }
  return `${used} not yet invoiced: ${formatMoney(-available_cents, currency)} more than you have`;
}

function amounts<K extends string>(
  sums: readonly ({ readonly currency: string } & Readonly<Record<K, number>>)[],
  key: K,
): (string | Html)[] {
  return sums.map((sum, i) => {
    const text = formatMoney(sum[key], sum.currency);
    return i === 0 ? text : html`<small>${text}</small>`;
  });
}
