// The customer portal as a page: amounts due, subscriptions with usage, invoices, payments and
// credit notes. It works without a script; the only one shows that a refresh is under way.

import { DAY_MS } from "../../domain/dates.ts";
import { formatDate, formatInstant, formatMoney } from "../../domain/documents-format.ts";
import type { ErrorCode } from "../../errors.ts";
import type { PortalPage, StoredPortal } from "../../schema/portal.ts";
import type { Settings } from "../../schema/settings.ts";
import { type Html, html } from "../html.ts";
import type { Page } from "../page.ts";
import { creditNoteTable } from "./credit-note-table.ts";
import { hasMoney, invoiceTable } from "./invoice-table.ts";
import { MONEY_STYLE, portalStyle } from "./style.ts";
import { subscriptionCard } from "./subscription-card.ts";

const SCRIPT_PATH = "/portal-assets/refresh.js";
const DEFAULT_COLOR = "#3347c4";

export type PortalPageInput = {
  readonly portal: StoredPortal;
  readonly page: PortalPage;
  readonly issuer: Settings;
  /** Of the signed link that was followed; the page's own links carry it on. */
  readonly access: string | undefined;
  readonly now: Date;
};

export function renderPortal(input: PortalPageInput): Page {
  const { portal, issuer } = input;
  return {
    title: `Billing – ${issuer.name}`,
    style: `${portalStyle(issuer.logo_color)}${usesMoney(input) ? MONEY_STYLE : ""}`,
    script: SCRIPT_PATH,
    body: html`<a class="skip" href="#main">Skip to content</a>
<div class="wrap">
<header>
<span class="logo" aria-hidden="true">${initial(issuer.name)}</span>
<div><h1><bdi>${issuer.name}</bdi></h1>
<p>Billing for <bdi>${portal.customer.name}</bdi></p></div>
</header>
<main id="main">
${summary(input)}
<h2>Subscriptions</h2>
${
  portal.subscriptions.length === 0
    ? empty("No subscription yet. What you subscribe to appears here.")
    : portal.subscriptions.map((each) => subscriptionCard(each, input.page, portal.generated_at))
}
<h2>Invoices</h2>
${
  portal.invoices.length === 0
    ? empty("No invoice yet. Each one appears here on the day it is issued.")
    : invoiceTable(portal, queryOf(input))
}
${portal.credit_notes.length > 0 && creditNoteTable(portal, queryOf(input))}<h2>Payments</h2>
${portal.payments.length === 0 ? empty("No payment yet.") : paymentTable(portal.payments)}
</main>
${footer(issuer)}
</div>`,
  };
}

const ERROR_TEXTS: Partial<Record<ErrorCode, readonly [string, string]>> = {
  not_found: [
    "This page does not exist",
    "The link may be incomplete. Ask whoever sent it to you for a new one.",
  ],
  rate_limited: ["One moment, please", "There were many requests just now. Try again shortly."],
};

/** `path` is the page that was asked for. */
export function renderPortalError(code: ErrorCode, path: string): Page {
  const [title, text] = ERROR_TEXTS[code] ?? [
    "This page is not available just now",
    "Nothing is wrong with your account. Please try again in a few minutes.",
  ];
  return {
    title,
    style: portalStyle(DEFAULT_COLOR),
    body: html`<main class="wrap"><div class="fault" role="alert"><h1>${title}</h1>
<p>${text}</p>${
      code !== "not_found" && html`<a class="button" href="${path}">Try again</a>`
    }</div></main>`,
  };
}

/** Shows that the refresh is under way, and disables the button until it is done. */
export const PORTAL_SCRIPT = `"use strict";
for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", () => {
    const button = form.querySelector("button");
    button.setAttribute("aria-busy", "true");
    button.disabled = true;
    button.textContent = "Refreshing…";
  });
}
// A refreshed page is an ordinary one: reloading it should not compute it again.
const shown = new URL(location.href);
if (shown.searchParams.has("refresh")) {
  shown.searchParams.delete("refresh");
  history.replaceState(null, "", shown);
}
addEventListener("pageshow", (event) => {
  if (event.persisted) location.reload();
});
`;

/** Whether it shows what a project without taxes, coupons, notes and grants has not. */
function usesMoney({ portal, page }: PortalPageInput): boolean {
  const { credit_notes, invoices, payments } = portal;
  const isPrepaid = page.prepaid !== undefined && page.prepaid.length > 0;
  const isRefunded = payments.some(({ refunded_cents }) => refunded_cents > 0);
  return isPrepaid || isRefunded || credit_notes.length > 0 || invoices.some(hasMoney);
}

/** What links of a page carry on. */
function queryOf({ access }: PortalPageInput): string {
  return access === undefined ? "" : `?access=${encodeURIComponent(access)}`;
}

function initial(name: string): string {
  const [first = "•"] = name.trim();
  return first.toUpperCase();
}

function summary({ portal, page, access, now }: PortalPageInput): Html {
  const { totals, generated_at } = portal;
  const none = [{ currency: totals.currency, outstanding_cents: 0, overdue_cents: 0 }];
  const due = page.due.length === 0 ? none : page.due;
  const overdue = due.filter(({ overdue_cents }) => overdue_cents > 0);
  const { prepaid = [] } = page;
  const credit = portal.wallets.filter(
    ({ currency, balance_cents }) => balance_cents > 0 || prepaid.includes(currency),
  );
  const days = Math.floor((now.getTime() - new Date(generated_at).getTime()) / DAY_MS);
  return html`<section class="card due" aria-label="What is due">
<dl>
<div><dt>Amount due</dt><dd>${amounts(due, "outstanding_cents")}</dd></div>
${
  overdue.length > 0 &&
  html`<div><dt>Of this overdue</dt><dd class="bad">${amounts(overdue, "overdue_cents")}</dd></div>`
}
${
  credit.length > 0 &&
  html`<div><dt>Your credit</dt><dd>${amounts(credit, "balance_cents")}</dd>${credit
    .filter(({ currency }) => prepaid.includes(currency))
    .map((wallet) => html`<dd class="left">${leftWords(wallet)}</dd>`)}</div>`
}
</dl>
<div class="asof"><span>As of <time datetime="${generated_at}">${formatInstant(generated_at)}</time>
</span><form method="get"><input type="hidden" name="refresh" value="1">${
    access !== undefined && html`<input type="hidden" name="access" value="${access}">`
  }
<button type="submit">Refresh</button></form></div>
</section>
${
  days >= 1 &&
  html`<p class="note" role="status">This view is ${
    days === 1 ? "a day" : `${days} days`
  } old. Refresh it to see what has happened since.</p>`
}`;
}

/** What the open periods will take of a wallet, as far as they have come. */
function leftWords({ currency, running_cents, available_cents }: StoredPortal["wallets"][number]) {
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

function paymentTable(payments: StoredPortal["payments"]): Html {
  const rows = payments.map(
    (payment) => html`<tr><th scope="row">${formatDate(payment.paid_at)}</th>
<td class="wide"><span class="narrow">For </span>${payment.invoice_number}</td><td class="wide"><bdi>${payment.provider}</bdi></td>
<td class="amount">${formatMoney(payment.amount_cents, payment.currency)}${
      payment.refunded_cents > 0 &&
      html`<small>${formatMoney(payment.refunded_cents, payment.currency)} refunded</small>`
    }</td></tr>`,
  );
  return html`<div class="card scroll"><table><caption class="hide">Payments, newest first</caption>
<thead><tr><th scope="col">Paid</th><th scope="col">Invoice</th><th scope="col">By</th>
<th scope="col" class="amount">Amount</th></tr></thead><tbody>${rows}</tbody></table></div>`;
}

function empty(text: string): Html {
  return html`<div class="card"><p class="none">${text}</p></div>`;
}

function footer({ name, address, tax_id }: Settings): Html {
  return html`<footer><p><bdi>${name}</bdi></p>${address !== "" && html`<p>${address}</p>`}${
    tax_id !== "" && html`<p>Tax number <bdi>${tax_id}</bdi></p>`
  }</footer>`;
}
