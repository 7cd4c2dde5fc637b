// What the exports of data hold: which columns, read in which pages.

import type { Dues } from "../client/dues.ts";
import type { Invoice, Payment, UsageEvent } from "../client/types.ts";
import type { CsvValue } from "./csv-write.ts";
import { amountText } from "./output.ts";
import { pathRef } from "./refs.ts";

export type Table = {
  readonly columns: readonly string[];
  readonly pages: AsyncIterable<readonly (readonly CsvValue[])[]>;
};

/** Days of UTC, both of them included. */
export type Span = { readonly from?: string; readonly to?: string };

const PAGE = 500;
/** Requests under way at once. */
const LOOKUPS_MAX = 8;
/** How many names are remembered, so that each is looked up once. */
const NAMES_MAX = 20_000;
const DAY_MS = 24 * 3_600 * 1_000;

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

/**
 * The wanted rows, in pages. `ends` is asked of each row, wanted or not: when it is true, neither
 * this row nor any behind it is read.
 */
async function* pagesOf<Row>(
  rows: AsyncIterable<Row>,
  wanted: (row: Row) => boolean,
  ends: (row: Row) => boolean = () => false,
): AsyncGenerator<Row[]> {
  let page: Row[] = [];
  for await (const row of rows) {
    if (ends(row)) break;
    if (wanted(row)) page.push(row);
    if (page.length < PAGE) continue;
    yield page;
    page = [];
  }
  if (page.length > 0) yield page;
}

/** Looks up what rows only name by id. Forgets the oldest beyond NAMES_MAX. */
class Lookup<Found> {
  readonly #known = new Map<string, Found>();
  readonly #find: (id: string) => Promise<Found>;

  constructor(find: (id: string) => Promise<Found>) {
    this.#find = find;
  }

  async all(ids: readonly string[]): Promise<ReadonlyMap<string, Found>> {
    const found = new Map<string, Found>();
    const missing = [...new Set(ids)].filter((id) => {
      const known = this.#known.get(id);
      if (known !== undefined) found.set(id, known);
      return known === undefined;
    });
    for (let i = 0; i < missing.length; i += LOOKUPS_MAX) {
      await Promise.all(
        missing.slice(i, i + LOOKUPS_MAX).map(async (id) => {
          const value = await this.#find(id);
          found.set(id, value);
          this.#remember(id, value);
        }),
      );
    }
    return found;
  }

  #remember(id: string, value: Found): void {
    this.#known.set(id, value);
    if (this.#known.size <= NAMES_MAX) return;
    for (const oldest of this.#known.keys()) {
      this.#known.delete(oldest);
      return;
    }
  }
}

type Named<Row> = Row & { readonly customer_name: string };

const INVOICE: Columns<Named<Invoice>> = [
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
  ...amount<Named<Invoice>>("subtotal", (row) => row.subtotal_cents),
  ...amount<Named<Invoice>>("discount", (row) => row.discount_cents),
  ...amount<Named<Invoice>>("tax", (row) => row.tax_cents),
  ...amount<Named<Invoice>>("total", (row) => row.total_cents),
  ...amount<Named<Invoice>>("credit_applied", (row) => row.credit_applied_cents),
  ...amount<Named<Invoice>>("credit_notes", (row) => row.credit_notes_cents),
  ...amount<Named<Invoice>>("amount_paid", (row) => row.amount_paid_cents),
  ...amount<Named<Invoice>>("written_off", (row) => row.written_off_cents),
  ...amount<Named<Invoice>>("amount_due", (row) => row.amount_due_cents),
  ["po_number", (row) => row.po_number],
  ["memo", (row) => row.memo],
  ["voided_at", (row) => row.voided_at],
  ["created_at", (row) => row.created_at],
  ["subscription_id", (row) => row.subscription_id],
  ["customer_id", (row) => row.customer_id],
  ["id", (row) => row.id],
];

export function exportedInvoices(
  dues: Dues,
  span: Span,
  filter: { readonly customer_id?: string },
): Table {
  const names = new Lookup(async (id: string) => (await dues.getCustomer(id)).customer.name);
  async function* pages() {
    const rows = dues.invoices.all({ ...filter, limit: PAGE });
    // They come newest first, and no issuing_date is after the day of created_at: behind the first
    // that was made before `from`, none can be wanted.
    const ends = ({ created_at }: Invoice) => created_at.slice(0, 10) < (span.from ?? "");
    for await (const page of pagesOf(rows, ({ issuing_date }) => isIn(issuing_date, span), ends)) {
      const customers = await names.all(page.map(({ customer_id }) => customer_id));
      yield page.map((row) => {
        return { ...row, customer_name: customers.get(row.customer_id) ?? "" };
      });
    }
  }
  return tableOf(INVOICE, pages());
}

type NumberedPayment = Payment & { readonly number: string };

const PAYMENT: Columns<NumberedPayment> = [
  ["paid_at", (row) => row.paid_at],
  ["invoice_number", (row) => row.number],
  ["currency", (row) => row.currency],
  ...amount<NumberedPayment>("amount", (row) => row.amount_cents),
  ...amount<NumberedPayment>("refunded", (row) => row.refunded_cents),
  ["status", (row) => row.status],
  ["provider", (row) => row.provider],
  ["provider_payment_id", (row) => row.provider_payment_id],
  ["reference", (row) => row.reference],
  ["created_at", (row) => row.created_at],
  ["invoice_id", (row) => row.invoice_id],
  ["id", (row) => row.id],
];

export function exportedPayments(
  dues: Dues,
  span: Span,
  filter: { readonly customer_id?: string },
): Table {
  const numbers = new Lookup(async (id: string) => (await dues.getInvoice(id)).invoice.number);
  async function* pages() {
    const rows = dues.payments.all({ ...filter, limit: PAGE });
    for await (const page of pagesOf(rows, ({ paid_at }) => isIn(paid_at.slice(0, 10), span))) {
      const known = await numbers.all(page.map(({ invoice_id }) => invoice_id));
      yield page.map((row) => ({ ...row, number: known.get(row.invoice_id) ?? "" }));
    }
  }
  return tableOf(PAYMENT, pages());
}

type Used = UsageEvent & { readonly subscription: string };

const EVENT: Columns<Used> = [
  ["timestamp", (row) => row.timestamp],
  ["transaction_id", (row) => row.transaction_id],
  ["subscription_external_id", (row) => row.subscription],
  ["code", (row) => row.code],
  ["value", (row) => row.value],
  ["properties", (row) => JSON.stringify(row.properties)],
  ["state", (row) => row.state],
  ["reason", (row) => row.reason],
  ["received_at", (row) => row.received_at],
  ["subscription_id", (row) => row.subscription_id],
];

export function exportedEvents(dues: Dues, span: Span, subscription: string | undefined): Table {
  const { from, to } = span;
  const filter = {
    limit: PAGE,
    ...(from !== undefined && { from: `${from}T00:00:00.000Z` }),
    ...(to !== undefined && { to: dayAfter(to) }),
  };
  async function* wanted() {
    if (subscription === undefined) yield* dues.subscriptions.all({ limit: PAGE });
    else yield (await dues.getSubscription(pathRef(subscription))).subscription;
  }
  async function* pages() {
    for await (const { id, external_id } of wanted()) {
      const rows = dues.events.all({ ...filter, subscription_id: id });
      for await (const page of pagesOf(rows, () => true)) {
        yield page.map((row) => ({ ...row, subscription: external_id }));
      }
    }
  }
  return tableOf(EVENT, pages());
}

function isIn(day: string, { from, to }: Span): boolean {
  return (from === undefined || day >= from) && (to === undefined || day <= to);
}

function dayAfter(day: string): string {
  return new Date(Date.parse(`${day}T00:00:00.000Z`) + DAY_MS).toISOString();
}
