// What the exports of data hold: which columns, read in which pages.

import type { Dues } from "../../client/dues.ts";
import type { Customer, Invoice, Payment, Subscription, UsageEvent } from "../../client/types.ts";
import { DAY_MS } from "../../domain/dates.ts";
import { customerId, pathRef } from "../connection/refs.ts";
import type { CsvValue } from "../terminal/csv-write.ts";
import { amountText } from "../terminal/output.ts";

export type Table = {
  readonly columns: readonly string[];
  readonly pages: AsyncIterable<readonly (readonly CsvValue[])[]>;
};

/** The first and the last day, of UTC, of what is exported. */
export type Span = { readonly from?: string; readonly to?: string };

/** The largest page of a list: the fewest calls. */
const PAGE = 1_000;

type Columns<Row> = readonly (readonly [title: string, of: (row: Row) => CsvValue])[];

/** Two columns of one amount: in the smallest unit, and as a decimal. */
function amount<Row extends { readonly currency: string }>(
  name: string,
  of: (row: Row) => number,
): Columns<Row> {
  return [
    [`${name}_cents`, of],
    [name, (row) => amountText(of(row), row.currency)],
  ];
}

function tableOf<Row>(columns: Columns<Row>, pages: AsyncIterable<readonly Row[]>): Table {
  async function* cells() {
    for await (const page of pages) yield page.map((row) => columns.map(([, of]) => of(row)));
  }
  return { columns: columns.map(([title]) => title), pages: cells() };
}

/** The rows in pages. */
async function* pagesOf<Row>(rows: AsyncIterable<Row>): AsyncGenerator<Row[]> {
  let page: Row[] = [];
  for await (const row of rows) {
    page.push(row);
    if (page.length < PAGE) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

const INVOICE: Columns<Invoice> = [
  ["number", (row) => row.number],
  ["status", (row) => row.status],
  ["payment_status", (row) => row.payment_status],
  ["invoice_type", (row) => row.invoice_type],
  ["customer_external_id", (row) => row.customer_external_id],
  ["customer_name", (row) => row.customer_name],
  ["issuing_date", (row) => row.issuing_date],
  ["due_date", (row) => row.due_date],
  ["period_start", (row) => row.period_start],
  ["period_end", (row) => row.period_end],
  ["currency", (row) => row.currency],
  ...amount<Invoice>("subtotal", (row) => row.subtotal_cents),
  ...amount<Invoice>("discount", (row) => row.discount_cents),
  ...amount<Invoice>("tax", (row) => row.tax_cents),
  ...amount<Invoice>("total", (row) => row.total_cents),
  ...amount<Invoice>("credit_applied", (row) => row.credit_applied_cents),
  ...amount<Invoice>("credit_notes", (row) => row.credit_notes_cents),
  ...amount<Invoice>("offset", (row) => row.offset_cents),
  ...amount<Invoice>("amount_paid", (row) => row.amount_paid_cents),
  ...amount<Invoice>("overpaid", (row) => row.overpaid_cents),
  ...amount<Invoice>("written_off", (row) => row.written_off_cents),
  ...amount<Invoice>("amount_due", (row) => row.amount_due_cents),
  ["po_number", (row) => row.po_number],
  ["memo", (row) => row.memo],
  ["voided_at", (row) => row.voided_at],
  ["created_at", (row) => row.created_at],
  ["subscription_id", (row) => row.subscription_id],
  ["customer_id", (row) => row.customer_id],
  ["id", (row) => row.id],
];

// A customer or subscription is looked up before anything is written: of a name that nobody has the
// export would only be empty.

export async function exportedInvoices(
  dues: Dues,
  { from, to }: Span,
  customer: string | undefined,
): Promise<Table> {
  const filter = {
    limit: PAGE,
    ...(await ofCustomer(dues, customer)),
    ...(from !== undefined && { issued_from: from }),
    ...(to !== undefined && { issued_to: to }),
  };
  return tableOf(INVOICE, pagesOf(dues.invoices.all(filter)));
}

async function ofCustomer(dues: Dues, ref: string | undefined) {
  return ref === undefined ? {} : { customer_id: await customerId(dues, ref) };
}

const PAYMENT: Columns<Payment> = [
  ["paid_at", (row) => row.paid_at],
  ["invoice_number", (row) => row.invoice_number],
  ["customer_external_id", (row) => row.customer_external_id],
  ["customer_name", (row) => row.customer_name],
  ["currency", (row) => row.currency],
  ...amount<Payment>("amount", (row) => row.amount_cents),
  ...amount<Payment>("refunded", (row) => row.refunded_cents),
  ["status", (row) => row.status],
  ["provider", (row) => row.provider],
  ["provider_payment_id", (row) => row.provider_payment_id],
  ["reference", (row) => row.reference],
  ["created_at", (row) => row.created_at],
  ["invoice_id", (row) => row.invoice_id],
  ["id", (row) => row.id],
];

export async function exportedPayments(
  dues: Dues,
  { from, to }: Span,
  customer: string | undefined,
): Promise<Table> {
  const filter = {
    limit: PAGE,
    ...(await ofCustomer(dues, customer)),
    ...(from !== undefined && { paid_from: from }),
    ...(to !== undefined && { paid_to: to }),
  };
  return tableOf(PAYMENT, pagesOf(dues.payments.all(filter)));
}

const EVENT: Columns<UsageEvent> = [
  ["timestamp", (row) => row.timestamp],
  ["transaction_id", (row) => row.transaction_id],
  ["subscription_external_id", (row) => row.subscription_external_id],
  ["code", (row) => row.code],
  ["value", (row) => row.value],
  ["properties", (row) => JSON.stringify(row.properties)],
  ["state", (row) => row.state],
  ["reason", (row) => row.reason],
  ["received_at", (row) => row.received_at],
  ["subscription_id", (row) => row.subscription_id],
];

export async function exportedEvents(
  dues: Dues,
  { from, to }: Span,
  ref: string | undefined,
): Promise<Table> {
  const named = ref === undefined ? undefined : await dues.getSubscription(pathRef(ref));
  const filter = {
    limit: PAGE,
    ...(named !== undefined && { subscription_id: named.subscription.id }),
    ...(from !== undefined && { from: `${from}T00:00:00.000Z` }),
    ...(to !== undefined && { to: dayAfter(to) }),
  };
  return tableOf(EVENT, pagesOf(dues.events.all(filter)));
}

function dayAfter(day: string): string {
  return new Date(Date.parse(`${day}T00:00:00.000Z`) + DAY_MS).toISOString();
}

const CUSTOMER: Columns<Customer> = [
  ["external_id", (row) => row.external_id],
  ["name", (row) => row.name],
  ["email", (row) => row.email],
  ["currency", (row) => row.currency],
  ["address", (row) => row.address],
  ["city", (row) => row.city],
  ["postal_code", (row) => row.postal_code],
  ["region", (row) => row.region],
  ["country", (row) => row.country],
  ["tax_id", (row) => row.tax_id],
  ["tax_exemption", (row) => row.tax_exemption],
  ["net_payment_days", (row) => row.net_payment_days],
  ["metadata", (row) => JSON.stringify(row.metadata)],
  ["created_at", (row) => row.created_at],
  ["updated_at", (row) => row.updated_at],
  ["short_id", (row) => row.short_id],
  ["id", (row) => row.id],
];

export async function exportedCustomers(dues: Dues): Promise<Table> {
  return tableOf(CUSTOMER, pagesOf(dues.customers.all({ limit: PAGE })));
}

const SUBSCRIPTION: Columns<Subscription> = [
  ["external_id", (row) => row.external_id],
  ["customer_external_id", (row) => row.customer_external_id],
  ["plan_code", (row) => row.plan_code],
  ["status", (row) => row.status],
  ["billing_time", (row) => row.billing_time],
  ["started_at", (row) => row.started_at],
  ["current_period_start", (row) => row.current_period_start],
  ["current_period_end", (row) => row.current_period_end],
  ["trial_ends_at", (row) => row.trial_ends_at],
  ["ends_at", (row) => row.ends_at],
  ["terminated_at", (row) => row.terminated_at],
  ["properties", (row) => row.properties],
  ["billing_error", (row) => row.billing_error],
  ["metadata", (row) => JSON.stringify(row.metadata)],
  ["created_at", (row) => row.created_at],
  ["customer_id", (row) => row.customer_id],
  ["plan_id", (row) => row.plan_id],
  ["id", (row) => row.id],
];

export async function exportedSubscriptions(
  dues: Dues,
  customer: string | undefined,
): Promise<Table> {
  const filter = { limit: PAGE, ...(await ofCustomer(dues, customer)) };
  return tableOf(SUBSCRIPTION, pagesOf(dues.subscriptions.all(filter)));
}
