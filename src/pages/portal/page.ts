// The customer portal as pages: what is due and how to pay it, subscriptions with usage, invoices,
// payments and credit notes; and each of those lists, page by page. They work without a script.

import type { PortalList, PortalListKind, PortalPage, StoredPortal } from "../../schema/portal.ts";
import { PORTAL_LISTS } from "../../schema/portal.ts";
import { type Html, html } from "../html.ts";
import type { Page } from "../page.ts";
import { creditNoteTable } from "./credit-note-table.ts";
import { dueCard } from "./due-card.ts";
import { empty, type Frame, framed, linkTo } from "./frame.ts";
import { hasMoney, invoiceTable } from "./invoice-table.ts";
import { isRefunded, paymentTable } from "./payment-table.ts";
import { MONEY_STYLE } from "./style.ts";
import { subscriptionCard } from "./subscription-card.ts";

/** How many cards are open: those behind them are folded. */
const CARDS_MAX = 5;

export type PortalPageInput = Omit<Frame, "customer"> & {
  readonly portal: StoredPortal;
  readonly page: PortalPage;
};

export function renderPortal({ portal, page, issuer, access }: PortalPageInput): Page {
  const frame = { issuer, access, customer: portal.customer };
  const { invoices, payments, credit_notes } = portal;
  const isPrepaid = page.prepaid.length > 0;
  return framed(frame, {
    more_style: isPrepaid || usesMoney(portal) ? MONEY_STYLE : "",
    main: html`${dueCard({ ...frame, portal, page })}
<h2>Subscriptions</h2>
${subscriptions(portal, page)}
<h2>Invoices</h2>
${
  invoices.length === 0
    ? empty("No invoice yet. Each one appears here on the day it is issued.")
    : firstPage(frame, "invoices", portal)
}
${credit_notes.length > 0 && html`<h2>Credit notes</h2>\n${firstPage(frame, "credit-notes", portal)}`}<h2>Payments</h2>
${payments.length === 0 ? empty("No payment yet.") : firstPage(frame, "payments", portal)}`,
  });
}

export type PortalListInput = Omit<Frame, "customer"> & {
  readonly list: PortalList;
  readonly kind: PortalListKind;
  /** Counts from 1. */
  readonly number: number;
};

export function renderPortalList({ list, kind, number, issuer, access }: PortalListInput): Page {
  const frame = { issuer, access, customer: list.customer };
  const { label, rowsOf } = LISTS[kind];
  return framed(frame, {
    more_style: usesMoney(list) ? MONEY_STYLE : "",
    main: html`<p class="back"><a href="${linkTo(frame, "")}">All of your billing</a></p>
<h2>${label.charAt(0).toUpperCase() + label.slice(1)}, page ${number}</h2>
${rowsOf(list) === 0 ? empty(`There are no older ${label}.`) : LISTS[kind].table(frame, list)}
${pageLinks(frame, kind, number, list.has_more)}`,
  });
}

type Lists = Pick<StoredPortal, "invoices" | "payments" | "credit_notes">;

const LISTS: Readonly<
  Record<
    PortalListKind,
    {
      readonly label: string;
      readonly rowsOf: (lists: Lists) => number;
      readonly table: (frame: Frame, lists: Lists) => Html;
    }
  >
> = {
  invoices: {
    label: "invoices",
    rowsOf: ({ invoices }) => invoices.length,
    table: (frame, { invoices }) => invoiceTable(frame, invoices.slice(0, PORTAL_LISTS.invoices)),
  },
  payments: {
    label: "payments",
    rowsOf: ({ payments }) => payments.length,
    table: (_, { payments }) => paymentTable(payments.slice(0, PORTAL_LISTS.payments)),
  },
  "credit-notes": {
    label: "credit notes",
    rowsOf: ({ credit_notes }) => credit_notes.length,
    table: (frame, { credit_notes }) =>
      creditNoteTable(frame, credit_notes.slice(0, PORTAL_LISTS["credit-notes"])),
  },
};

function firstPage(frame: Frame, kind: PortalListKind, portal: StoredPortal): Html {
  const { rowsOf, table } = LISTS[kind];
  const has_more = rowsOf(portal) > PORTAL_LISTS[kind];
  return html`${table(frame, portal)}${pageLinks(frame, kind, 1, has_more)}`;
}

function pageLinks(frame: Frame, kind: PortalListKind, at: number, has_more: boolean): Html {
  const { label } = LISTS[kind];
  if (at === 1 && !has_more) return html``;
  const linkOf = (page: number) =>
    page === 1 ? linkTo(frame, "") : linkTo(frame, `/${kind}`, { page: String(page) });
  return html`<nav class="pages" aria-label="Pages of ${label}">${
    at > 1 && html`<a class="button" href="${linkOf(at - 1)}">Newer ${label}</a>`
  }${has_more && html`<a class="button older" href="${linkOf(at + 1)}">Older ${label}</a>`}</nav>`;
}

function subscriptions({ subscriptions: all, generated_at }: StoredPortal, page: PortalPage) {
  if (all.length === 0) return empty("No subscription yet. What you subscribe to appears here.");
  const card = (each: (typeof all)[number], i: number) =>
    subscriptionCard(each, page, { as_of: generated_at, is_folded: i >= CARDS_MAX });
  const cards = all.map(card);
  const folded = cards.slice(CARDS_MAX);
  const label =
    folded.length === 1 ? "One more subscription" : `${folded.length} more subscriptions`;
  return html`${cards.slice(0, CARDS_MAX)}${
    folded.length > 0 && html`<details class="more"><summary>${label}</summary>${folded}</details>`
  }${
    page.has_more_subscriptions &&
    html`<p class="soft">These are the newest ${all.length}. Others are not shown here.</p>`
  }`;
}

/** Whether it shows what a project without taxes, coupons, notes and grants has not. */
function usesMoney({ credit_notes, invoices, payments }: Lists): boolean {
  return credit_notes.length > 0 || invoices.some(hasMoney) || payments.some(isRefunded);
}
