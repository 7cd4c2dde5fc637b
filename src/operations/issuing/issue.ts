// Puts drafts on record as invoices: amounts, number, rows, credit. Numbers are taken last, so that
// the counter is held for the shortest time.

import { statusOf } from "../../domain/amounts.ts";
import { paymentUrl } from "../../domain/payment-url.ts";
import type { ProjectId } from "../../ids.ts";
import type { Invoice } from "../../schema/invoices.ts";
import * as installation from "../../store/backup/installation.ts";
import * as coupons from "../../store/catalog/coupons.ts";
import type { Tx } from "../../store/db/db.ts";
import type * as invoices from "../../store/invoices/invoices.ts";
import * as newInvoices from "../../store/invoices/new-invoices.ts";
import * as ledger from "../../store/money/ledger.ts";
import type { Fact } from "../emit.ts";
import { entryOf, grantOf, insertGrants } from "./add-credit.ts";
import { lineOf } from "./coupon-history.ts";
import { invoiceCreated, paymentDue } from "./facts.ts";
import {
  computeFigures,
  creditOf,
  dueDateOf,
  type Figure,
  noteFor,
  shownCoupon,
} from "./figures.ts";
import { lockMoney, type Money } from "./load-money.ts";
import { type InvoiceRequest, linesOf, type Part } from "./request.ts";
import { shownParts } from "./shown-parts.ts";
import { UNMOVED } from "./standing.ts";

export type Issued = { readonly invoice: invoices.InvoiceRow; readonly facts: Fact[] };

/** Issues invoices, numbered and returned in the order of the requests. */
export async function issueInvoices(
  tx: Tx,
  project: ProjectId,
  requests: readonly InvoiceRequest[],
  now: Date,
  held?: Money,
): Promise<Issued[]> {
  if (requests.length === 0) return [];
  const customers = [...new Set(requests.map(({ customer }) => customer.id))];
  const money = held ?? (await lockMoney(tx, project, customers, requests, now));
  for (const { held_since } of money.customers.values()) installation.refuseHeld(held_since);
  const figures = await computeFigures(tx, project, requests, money);
  const fees = figures.map(feesOf);
  await newInvoices.insertLines(tx, project, fees.flat(), figures.flatMap(partsOf));
  const year = now.getUTCFullYear();
  const first = await newInvoices.takeNumbers(tx, project, year, figures.length);
  const rows = figures.map((figure, i) => rowOf(figure, money, first + i, now));
  await newInvoices.insert(tx, project, rows);
  await coupons.insertUses(tx, project, figures.flatMap(usesOf));
  await recordCredit(tx, project, figures, now);
  return figures.map((figure, i) => issuedOf(figure, rows[i], fees[i] ?? [], money));
}

/** Whether the invoice was paid with credit, in whole or in part: else it touched no ledger. */
export function takesCredit({ credit_applied_cents }: invoices.InvoiceRow): boolean {
  return credit_applied_cents > 0;
}

async function recordCredit(
  tx: Tx,
  project: ProjectId,
  figures: readonly Figure[],
  now: Date,
): Promise<void> {
  const given = figures.flatMap((figure) => {
    const credit = creditOf(figure);
    return credit === undefined ? [] : [grantOf(figure.id, credit)];
  });
  await insertGrants(tx, project, given, now);
  await ledger.record(tx, project, figures.flatMap(entriesOf), now);
}

/** First what the invoice took of grants, then what it gives back. */
function entriesOf(figure: Figure): ledger.NewLedgerEntry[] {
  const { request, id: invoice_id, taken } = figure;
  const of = { customer_id: request.customer.id, currency: request.draft.currency, invoice_id };
  const applied = taken.map(({ grant_id, amount_cents }) => {
    return { ...of, grant_id, amount_cents: -amount_cents, reason: "applied" as const };
  });
  const credit = creditOf(figure);
  return credit === undefined ? applied : [...applied, entryOf(invoice_id, credit)];
}

function rowOf(
  figure: Figure,
  money: Money,
  number_seq: number,
  now: Date,
): newInvoices.NewInvoice {
  const { request, id, amounts, credit_applied_cents } = figure;
  const { draft, parts } = request;
  const customer = money.customers.get(request.customer.id);
  if (customer === undefined) throw new Error(`Customer ${request.customer.id} vanished.`);
  const { total_cents } = amounts;
  const { status, payment_status } = statusOf({
    ...UNMOVED,
    total_cents,
    credit_applied_cents,
    is_overdue: false,
    is_voided: false,
  });
  return {
    id,
    status,
    payment_status,
    currency: draft.currency,
    subtotal_cents: amounts.subtotal_cents,
    total_cents,
    credit_applied_cents,
    issuing_date: draft.issuing_date,
    due_date: dueDateOf(request, money),
    period_start: draft.period_start,
    period_end: draft.period_end,
    prefix: customer.invoice_prefix,
    number_year: now.getUTCFullYear(),
    number_seq,
    customer_id: request.customer.id,
    subscription_id: request.subscription?.id ?? null,
    invoice_type: typeOf(request),
    part_count: parts.length,
    seller_version: customer.seller_version,
    buyer_version: customer.buyer_version,
    created_at: now,
    ...detailsOf(figure, money),
  };
}

function detailsOf(figure: Figure, money: Money): Partial<newInvoices.Details> {
  const { request, amounts, taken } = figure;
  const tax_note = noteFor(figure, money);
  const { terms } = request;
  const isPlain = amounts.coupons.length + amounts.taxes.length + taken.length === 0;
  if (isPlain && tax_note === "" && terms === undefined) return {};
  return {
    discount_cents: amounts.discount_cents,
    tax_cents: amounts.tax_cents,
    coupons: amounts.coupons.length === 0 ? null : amounts.coupons.map(shownCoupon),
    taxes: amounts.taxes.length === 0 ? null : amounts.taxes,
    credits: taken.length === 0 ? null : taken,
    tax_note,
    memo: terms?.memo ?? "",
    po_number: terms?.po_number ?? "",
    metadata: terms?.metadata ?? {},
  };
}

function typeOf({ parts: [first] }: InvoiceRequest): Invoice["invoice_type"] {
  if (first === undefined) throw new Error("Every invoice has a part.");
  return TYPES[first.reason];
}

const TYPES: Readonly<Record<invoices.Reason, Invoice["invoice_type"]>> = {
  period: "subscription",
  start: "subscription",
  advance: "subscription",
  supplement: "subscription",
  add_on: "addon",
  one_off: "one_off",
  top_up: "top_up",
};

function feesOf(figure: Figure): newInvoices.NewFee[] {
  const { request, id, fee_ids, amounts, taxes, exemptions } = figure;
  return linesOf(request).map(({ fee, part, part_no }, i) => ({
    id: fee_ids[i] ?? "",
    invoice_id: id,
    part_no,
    fee_type: fee.fee_type,
    charge_id: fee.charge_id,
    billable_metric_code: fee.billable_metric_code,
    units: fee.units,
    amount_cents: fee.amount_cents,
    amount_currency: request.draft.currency,
    discount_cents: amounts.fees[i]?.discount_cents ?? 0,
    taxable_cents: amounts.fees[i]?.taxable_cents ?? fee.amount_cents,
    taxes: taxes[i] ?? [],
    tax_category: exemptions[i]?.tax_category ?? null,
    tax_reason: exemptions[i]?.tax_reason ?? null,
    coupons: takenOf(amounts.fees[i]?.parts ?? [], lineOf(fee, part)),
    properties: fee.properties,
  }));
}

/** The parts that have a subscription: others say nothing that their invoice does not. */
function partsOf({ request, id: invoice_id }: Figure): newInvoices.NewPart[] {
  return request.parts.flatMap((part, part_no) => partOf(part, invoice_id, part_no));
}

function partOf(
  { subscription, draft, reason, ...part }: Part,
  invoice_id: string,
  part_no: number,
): newInvoices.NewPart[] {
  if (subscription === null) return [];
  const { id: subscription_id, plan_code } = subscription;
  const { period_start, period_end } = draft;
  const of = { subscription_id, invoice_id, plan_code, period_start, period_end };
  const { period_no, cause_no, due_at, set_aside } = part;
  return [{ ...of, part_no, period_no, reason, cause_no, due_at, set_aside }];
}

type Taken = Figure["amounts"]["fees"][number]["parts"];

/** What coupons took of a fee, as it is kept with it. */
function takenOf(taken: Taken, line: string | null): coupons.FeePart[] | null {
  if (taken.length === 0) return null;
  return taken.map(({ applied_coupon_id, left_cents, amount_cents }) => ({
    applied_coupon_id,
    line,
    left_cents,
    amount_cents,
  }));
}

function usesOf({ id: invoice_id, amounts }: Figure): coupons.NewUse[] {
  const uses: { -readonly [name in keyof coupons.NewUse]: coupons.NewUse[name] }[] = [];
  for (const { parts } of amounts.fees) {
    for (const { applied_coupon_id, use, amount_cents, is_taken_back } of parts) {
      const use_cents = is_taken_back ? 0 : amount_cents;
      const same = uses.find(
        (one) => one.applied_coupon_id === applied_coupon_id && one.use === use,
      );
      if (same === undefined) {
        uses.push({ applied_coupon_id, use, invoice_id, amount_cents, use_cents });
      } else {
        same.amount_cents += amount_cents;
        same.use_cents += use_cents;
      }
    }
  }
  return uses;
}

function issuedOf(
  figure: Figure,
  row: newInvoices.NewInvoice | undefined,
  fees: readonly newInvoices.NewFee[],
  money: Money,
): Issued {
  if (row === undefined) throw new Error("Every figure makes an invoice.");
  const { request, amounts } = figure;
  const { customer, subscription } = request;
  const invoice = newInvoices.written(row);
  const template = money.customers.get(customer.id)?.payment_url ?? "";
  const payment_url = paymentUrl(invoice, template, customer.external_id);
  const behind = { fees, coupons: row.coupons ?? [], taxes: amounts.taxes };
  const created = { ...behind, parts: shownParts(figure), invoice, payment_url };
  const facts = [invoiceCreated(created, customer, subscription)];
  if (invoice.amount_due_cents > 0) facts.push(paymentDue(invoice, payment_url, customer));
  return { invoice, facts };
}
