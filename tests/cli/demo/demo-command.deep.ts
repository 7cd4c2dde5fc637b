// The whole demo, twice on two services of their own: the same figures, invoice by invoice.

import { expect, test } from "vitest";
import type { Json } from "../../support/app.ts";
import { startShell } from "../support.ts";

async function wholeDemo() {
  const shell = await startShell();
  try {
    const ran = await shell.run(["demo", "--json"]);
    expect(ran.code, ran.err).toBe(0);
    const list = async (path: string, name: string) => {
      const pages = await shell.run(["api", "get", path, "--paginate", "-q", "limit=500"]);
      return JSON.parse(pages.out)[name] as Json[];
    };
    const invoices = (await list("invoices", "invoices")).map((row) => [
      ...[row.number, row.status, row.customer_external_id, row.currency, row.issuing_date],
      ...[row.subtotal_cents, row.discount_cents, row.tax_cents, row.total_cents],
      ...[row.credit_applied_cents, row.amount_paid_cents, row.amount_due_cents],
    ]);
    const notes = (await list("credit-notes", "credit_notes")).map((row) => [
      ...[row.number, row.invoice_number, row.total_cents, row.refunded_cents],
    ]);
    const subscriptions = (await list("subscriptions", "subscriptions")).map((row) => [
      ...[row.external_id, row.status, row.plan_code, row.billing_error],
    ]);
    const log = await list("billing-events", "billing_events");
    const dunning = log.filter(({ event_type }) => /overdue|requested/.test(event_type)).length;
    return { figures: JSON.parse(ran.out).figures, invoices, notes, subscriptions, dunning };
  } finally {
    await shell.close();
  }
}

test("the same seed gives the same company", async () => {
  const [first, second] = [await wholeDemo(), await wholeDemo()];
  expect(second).toEqual(first);
  const { figures, invoices, subscriptions, dunning } = first;
  expect(figures).toMatchObject({ customers: 50, credit_notes: 2, refunds: 1 });
  expect(figures.by_currency.map(({ currency }: Json) => currency)).toEqual(["EUR", "JPY", "USD"]);
  for (const status of ["succeeded", "overdue", "outstanding", "voided", "uncollectible"]) {
    expect([status, figures.invoices[status] > 0]).toEqual([status, true]);
  }
  for (const status of ["active", "pending", "suspended", "terminated", "canceled"]) {
    expect([status, figures.subscriptions[status] > 0]).toEqual([status, true]);
  }
  expect(new Set(invoices.map(([number]) => number)).size).toBe(invoices.length);
  expect(subscriptions.filter(([, , , fault]) => fault !== null)).toEqual([]);
  expect(dunning).toBeGreaterThan(4);
}, 240_000);
