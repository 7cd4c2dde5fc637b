// Puts drafts on record as invoices: credit, number, rows. Numbers are taken last, so that the
// counter is held for the shortest time.

import { groupBy } from "../domain/group-by.ts";
import { applyCredit, type InvoiceDraft, invoiceStatus } from "../domain/invoicing.ts";
import { newId } from "../ids.ts";
import type { Invoice, InvoiceWithFees } from "../schema/invoices.ts";
import * as credits from "../store/credits.ts";
import type { Tx } from "../store/db.ts";
import * as installation from "../store/installation.ts";
import * as invoices from "../store/invoices.ts";
import type { BilledSubscription } from "../store/subscriptions.ts";
import type { ProjectId } from "../store/tenants.ts";
import type { Fact } from "./emit.ts";

/** An invoice to be made, and why: one cause makes one invoice, whatever is tried again. */
export type InvoiceRequest = {
  readonly draft: InvoiceDraft;
  readonly cause: invoices.Cause;
  readonly period_no: number;
  readonly cause_no: number;
  readonly customer: InvoiceCustomer;
  readonly subscription: InvoiceSubscription | null;
};

export type InvoiceCustomer = {
  readonly id: string;
  readonly external_id: string;
  readonly name: string;
  readonly email: string;
};
export type InvoiceSubscription = {
  readonly id: string;
  readonly external_id: string;
  readonly plan_code: string;
};

type BilledFor = InvoiceSubscription &
  Pick<
    BilledSubscription,
    "customer_id" | "customer_external_id" | "customer_name" | "customer_email"
  >;

/** Of a subscription, named with the plan of the billed period. None when nothing is to bill. */
export function requestFor(
  subscription: BilledFor,
  draft: InvoiceDraft | undefined,
  cause: InvoiceRequest["cause"],
  period_no: number,
  cause_no = 0,
): InvoiceRequest[] {
  if (draft === undefined) return [];
  const { id, external_id, plan_code } = subscription;
  const customer = {
    id: subscription.customer_id,
    external_id: subscription.customer_external_id,
    name: subscription.customer_name,
    email: subscription.customer_email,
  };
  return [
    { draft, cause, period_no, cause_no, customer, subscription: { id, external_id, plan_code } },
  ];
}

export type Issued = { readonly invoice: InvoiceWithFees; readonly facts: Fact[] };

/** The invoices come back in the order of the requests, numbered in that order. */
export async function issueInvoices(
  tx: Tx,
  project: ProjectId,
  requests: readonly InvoiceRequest[],
  now: Date,
): Promise<Issued[]> {
  if (requests.length === 0) return [];
  const customers = [...new Set(requests.map(({ customer }) => customer.id))];
  const [balances] = await Promise.all([
    credits.lock(tx, project, customers),
    installation.refuseWhileHeld(tx),
  ]);
  const { settled, entries } = settle(requests, balances);
  const fees = settled.flatMap(({ request, id }) => feesOf(request, id));
  await invoices.insertFees(tx, project, fees);

  const year = now.getUTCFullYear();
  const first = await invoices.takeNumbers(tx, project, year, settled.length);
  const rows = settled.map(({ request, id, credit_applied_cents, ...status }, i) => {
    const { fees: _fees, credit_cents: _credit, ...draft } = request.draft;
    return {
      ...draft,
      ...status,
      id,
      credit_applied_cents,
      number_year: year,
      number_seq: first + i,
      customer_id: request.customer.id,
      subscription_id: request.subscription?.id ?? null,
      cause: request.cause,
      period_no: request.period_no,
      cause_no: request.cause_no,
      invoice_type: request.cause === "add_on" ? ("addon" as const) : ("subscription" as const),
    };
  });
  const written = await invoices.insert(tx, project, rows, now);
  await credits.record(tx, project, entries, now);
  return withFees(settled, written, fees);
}

type Settled = {
  readonly request: InvoiceRequest;
  readonly id: string;
  readonly credit_applied_cents: number;
} & ReturnType<typeof invoiceStatus>;

/** Credit is used up in the order of the requests; one request's credit may pay the next. */
function settle(requests: readonly InvoiceRequest[], balances: readonly credits.Balance[]) {
  const left = new Map(balances.map((b) => [`${b.customer_id} ${b.currency}`, b.balance_cents]));
  const entries: credits.CreditEntry[] = [];
  const settled = requests.map((request): Settled => {
    const { draft, customer } = request;
    const id = newId();
    const account = `${customer.id} ${draft.currency}`;
    const balance = left.get(account) ?? 0;
    const { credit_applied_cents } = applyCredit(draft.total_cents, balance);
    left.set(account, balance - credit_applied_cents + draft.credit_cents);
    const entry = { customer_id: customer.id, currency: draft.currency, invoice_id: id };
    if (credit_applied_cents > 0) {
      entries.push({ ...entry, amount_cents: -credit_applied_cents, reason: "applied" });
    }
    if (draft.credit_cents > 0) {
      entries.push({ ...entry, amount_cents: draft.credit_cents, reason: "negative_total" });
    }
    const status = invoiceStatus({
      total_cents: draft.total_cents,
      paid_cents: 0,
      credit_cents: credit_applied_cents,
      overdue: false,
      voided: false,
    });
    return { request, id, credit_applied_cents, ...status };
  });
  return { settled, entries };
}

function feesOf(request: InvoiceRequest, invoice_id: string): invoices.NewFee[] {
  return request.draft.fees.map((fee) => ({
    ...fee,
    id: newId(),
    invoice_id,
    amount_currency: request.draft.currency,
  }));
}

function withFees(
  settled: readonly Settled[],
  written: readonly Invoice[],
  fees: readonly invoices.NewFee[],
): Issued[] {
  const byId = new Map(written.map((invoice) => [invoice.id, invoice]));
  const byInvoice = groupBy(fees, (fee) => fee.invoice_id);
  return settled.map(({ request, id }) => {
    const row = byId.get(id);
    if (row === undefined) throw new Error(`Invoice ${id} was not written.`);
    const lines = byInvoice.get(id) ?? [];
    const invoice = { ...row, fees: lines.map(({ invoice_id: _, ...fee }) => ({ ...fee })) };
    return { invoice, facts: [invoiceCreated(invoice, request)] };
  });
}

function invoiceCreated(invoice: InvoiceWithFees, request: InvoiceRequest): Fact {
  const { customer, subscription } = request;
  return {
    type: "invoice.created",
    resource_id: invoice.id,
    payload: {
      number: invoice.number,
      invoice_type: invoice.invoice_type,
      total_cents: invoice.total_cents,
      currency: invoice.currency,
      customer_id: customer.id,
      subscription_id: subscription?.id ?? null,
    },
    webhook: {
      event: "invoice.created",
      data: { invoice: invoiceData(invoice), customer: customerData(customer), subscription },
    },
  };
}

/** The invoice as webhooks show it. */
function invoiceData(invoice: InvoiceWithFees) {
  return {
    id: invoice.id,
    number: invoice.number,
    status: invoice.status,
    payment_status: invoice.payment_status,
    invoice_type: invoice.invoice_type,
    currency: invoice.currency,
    subtotal_cents: invoice.subtotal_cents,
    total_cents: invoice.total_cents,
    issuing_date: invoice.issuing_date,
    due_date: invoice.due_date,
    period_start: invoice.period_start,
    period_end: invoice.period_end,
    fees: invoice.fees.map(feeData),
  };
}

function feeData(fee: InvoiceWithFees["fees"][number]) {
  const { id, fee_type, billable_metric_code, units, amount_cents, amount_currency, properties } =
    fee;
  return { id, fee_type, billable_metric_code, units, amount_cents, amount_currency, properties };
}

function customerData({ id, external_id, name, email }: InvoiceCustomer) {
  return { id, external_id, name, email };
}
