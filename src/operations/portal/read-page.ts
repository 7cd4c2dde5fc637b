// What the portal's pages for people show: the view that the API has, with what is to be paid and
// what the next invoices will come to; and single lists, page by page, back to the first row.

import { lineOf } from "../../domain/documents/lines.ts";
import type { ProjectId } from "../../ids.ts";
import type { Fee } from "../../schema/invoices.ts";
import {
  type Jsonified,
  PORTAL_LISTS,
  PORTAL_OPEN_SHOWN,
  type Portal,
  type PortalList,
  type PortalListKind,
  type PortalPage,
  type StoredPortal,
} from "../../schema/portal.ts";
import * as customers from "../../store/customers/customers.ts";
import { matchesCustomer } from "../../store/customers/customers.ts";
import type { Queryable } from "../../store/db/db.ts";
import * as creditNotes from "../../store/invoices/credit-notes.ts";
import * as invoices from "../../store/invoices/invoices.ts";
import { listPayments } from "../../store/portal/figures.ts";
import { getSettingsById } from "../../store/tenants/tenants.ts";
import { type Estimate, estimateInvoices } from "../previews/estimate.ts";
import {
  type PortalFound,
  portalCreditNote,
  portalInvoice,
  portalPayment,
  readPortal,
} from "./read.ts";

/** Invoices read of each status: one more than the page shows, which then says so. */
const OPEN_MAX = PORTAL_OPEN_SHOWN + 1;
const UNPAID = ["overdue", "outstanding"] as const;

export type PortalShown = { readonly portal: StoredPortal; readonly page: PortalPage };

/** Needs a snapshot. */
export async function readPortalPage(
  db: Queryable,
  project: ProjectId,
  customer_id: string,
  now: Date,
): Promise<PortalShown | undefined> {
  const found = await readPortal(db, project, customer_id, now);
  if (found === undefined) return undefined;
  const next = await readNext(db, project, found, now);
  const open = found.page.due.length === 0 ? [] : await readOpen(db, project, customer_id);
  return { portal: asText(found.portal), page: { ...found.page, next, open: asText(open) } };
}

/** A value as it is in JSON: the pages take its times as text. */
function asText<T>(value: T): Jsonified<T> {
  return JSON.parse(JSON.stringify(value)) as Jsonified<T>;
}

async function readNext(
  db: Queryable,
  project: ProjectId,
  { customer, subscriptions, terms }: PortalFound,
  now: Date,
): Promise<PortalPage["next"]> {
  if (terms === undefined) return {};
  const settings = await getSettingsById(db, project);
  const estimates = await estimateInvoices(db, settings, customer, subscriptions, terms, now);
  const shown = [...estimates].filter(([, { total_cents }]) => total_cents > 0);
  return Object.fromEntries(shown.map(([id, estimate]) => [id, nextInvoice(estimate)]));
}

/** Fees that are to come keep their names already, so nothing has to be looked up. */
const NO_NAMES = {
  plans: new Map<string, string>(),
  dimensions: new Map<string, readonly string[]>(),
};

function nextInvoice({ fixed, ...estimate }: Estimate): PortalPage["next"][string] {
  return {
    ...estimate,
    fixed: fixed.map((fee) => {
      const { title, details, units, rate, amount } = lineOf(issued(fee, estimate), NO_NAMES);
      return { title, details, units, rate, amount };
    }),
  };
}

/** A fee as it will be on the invoice, but for what only an issued invoice has. */
function issued(fee: Estimate["fixed"][number], { currency }: Pick<Estimate, "currency">): Fee {
  const { money: _money, amount_cents, properties, ...rest } = fee;
  const plain = { discount_cents: 0, taxable_cents: amount_cents, taxes: [] };
  const amounts = { amount_cents, amount_currency: currency, ...plain };
  return {
    id: "",
    part: 0,
    subscription_id: null,
    ...rest,
    properties: { ...properties },
    ...amounts,
  };
}

async function readOpen(db: Queryable, project: ProjectId, customer_id: string) {
  const customer = matchesCustomer(project, customer_id);
  const open: Portal["invoices"] = [];
  for (const status of UNPAID) {
    const request = { limit: OPEN_MAX, offset: 0, count: false };
    const filter = { customer, status, oldest_first: true };
    const { rows } = await invoices.list(db, project, filter, request);
    open.push(...rows.map(portalInvoice));
  }
  return open
    .filter(({ amount_due_cents }) => amount_due_cents > 0)
    .sort((a, b) => (a.due_date < b.due_date ? -1 : Number(a.due_date > b.due_date)));
}

/** `page` counts from 1. Needs a snapshot. */
export async function readPortalList(
  db: Queryable,
  project: ProjectId,
  customer_id: string,
  kind: PortalListKind,
  page: number,
): Promise<PortalList | undefined> {
  const customer = await customers.get(db, project, customer_id);
  if (customer === undefined) return undefined;
  const limit = PORTAL_LISTS[kind];
  const request = { limit, offset: (page - 1) * limit, count: false };
  const { id, name } = customer;
  const empty = { customer: { id, name }, invoices: [], payments: [], credit_notes: [] };
  if (kind === "payments") {
    const { rows, has_more } = await listPayments(db, project, id, request);
    return { ...empty, payments: asText(rows.map(portalPayment)), has_more };
  }
  if (kind === "credit-notes") {
    const found = await creditNotes.list(db, project, { customer_id: id }, request);
    const credit_notes = asText(found.rows.map(portalCreditNote));
    return { ...empty, credit_notes, has_more: found.has_more };
  }
  const filter = { customer: matchesCustomer(project, id) };
  const { rows, has_more } = await invoices.list(db, project, filter, request);
  return { ...empty, invoices: asText(rows.map(portalInvoice)), has_more };
}
