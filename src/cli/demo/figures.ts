// What came of the demo's year, counted through the API: the same for the same seed.

import type { Dues } from "../../client/dues.ts";

const PAGE = 500;

export type Sums = {
  readonly currency: string;
  readonly invoices: number;
  readonly total_cents: number;
  readonly tax_cents: number;
  readonly discount_cents: number;
  readonly paid_cents: number;
  readonly due_cents: number;
  readonly overdue_cents: number;
};

export type Figures = {
  readonly customers: number;
  readonly subscriptions: Readonly<Record<string, number>>;
  readonly invoices: Readonly<Record<string, number>>;
  readonly payments: number;
  readonly credit_notes: number;
  readonly refunds: number;
  readonly usage_events: number;
  readonly mrr_cents: number;
  readonly by_currency: readonly Sums[];
};

export async function figuresOf(dues: Dues, usage_events: number): Promise<Figures> {
  const sums = new Map<string, Sums>();
  const invoices: Record<string, number> = {};
  for await (const invoice of dues.invoices.all({ limit: PAGE })) {
    const { currency, status } = invoice;
    invoices[status] = (invoices[status] ?? 0) + 1;
    const counts = status === "voided" ? 0 : 1;
    const before = sums.get(currency);
    sums.set(currency, {
      currency,
      invoices: (before?.invoices ?? 0) + 1,
      total_cents: (before?.total_cents ?? 0) + counts * invoice.total_cents,
      tax_cents: (before?.tax_cents ?? 0) + counts * invoice.tax_cents,
      discount_cents: (before?.discount_cents ?? 0) + counts * invoice.discount_cents,
      paid_cents: (before?.paid_cents ?? 0) + invoice.amount_paid_cents,
      due_cents: (before?.due_cents ?? 0) + invoice.amount_due_cents,
      overdue_cents:
        (before?.overdue_cents ?? 0) + (status === "overdue" ? invoice.amount_due_cents : 0),
    });
  }
  const subscriptions: Record<string, number> = {};
  for await (const { status } of dues.subscriptions.all({ limit: PAGE })) {
    subscriptions[status] = (subscriptions[status] ?? 0) + 1;
  }
  const count = { limit: 1, count: "1" } as const;
  return {
    customers: (await dues.listCustomers(count)).total_count ?? 0,
    subscriptions,
    invoices,
    payments: (await dues.listPayments(count)).total_count ?? 0,
    credit_notes: (await dues.listCreditNotes(count)).total_count ?? 0,
    refunds: (await dues.listRefunds(count)).total_count ?? 0,
    usage_events,
    mrr_cents: (await dues.getAnalytics()).mrr_cents,
    by_currency: [...sums.values()].sort((a, b) => (a.currency < b.currency ? -1 : 1)),
  };
}
