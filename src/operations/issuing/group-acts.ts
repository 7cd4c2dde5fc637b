// Which acts make one invoice. Pure, so that previews group as the close does. Grouping decides
// which lines stand on one invoice, and nothing else.

import { groupBy } from "../../domain/group-by.ts";
import { isInvoiced } from "../../domain/invoicing.ts";
import type { InvoiceGrouping } from "../../schema/enums.ts";
import { type Act, type InvoiceRequest, joined } from "./request.ts";

/** How many subscriptions one invoice has at most. */
export const GROUP_MAX = 200;

/** An invoice for each act; none for one whose lines are all of 0. */
export function separately(acts: readonly Act[]): InvoiceRequest[] {
  return acts.flatMap((act) => together([act]));
}

/** One invoice for all acts, in their order; none where all lines are of 0. */
export function together(acts: readonly Act[]): InvoiceRequest[] {
  const [first, ...others] = acts;
  if (first === undefined || !isInvoiced(acts.map(({ draft }) => draft))) return [];
  return [joined(first, others)];
}

/** The invoices of what falls due of one subscription at one instant, by itself. */
export function ofSubscription(acts: readonly Act[], mode: InvoiceGrouping): InvoiceRequest[] {
  return mode === "separate" ? separately(acts) : together(acts);
}

/**
 * The invoices of what falls due of customers at one instant each: those of a customer behind each
 * other, where its first act stands, by currency; of an invoice the oldest subscription first.
 */
export function ofCustomers(acts: readonly Act[]): InvoiceRequest[] {
  const inOrder = acts.toSorted(byAge);
  return [...groupBy(inOrder, ({ customer }) => customer.id).values()].flatMap(ofCustomer);
}

/** The instant, then the age of the subscription, which its id tells; else as they came. */
function byAge(one: Act, other: Act): number {
  const later = one.due_at.getTime() - other.due_at.getTime();
  if (later !== 0) return later;
  const [a, b] = [one.subscription.id, other.subscription.id];
  return a < b ? -1 : a > b ? 1 : 0;
}

function ofCustomer(acts: readonly Act[]): InvoiceRequest[] {
  const byCurrency = groupBy(acts, ({ draft }) => draft.currency);
  const inOrder = [...byCurrency].toSorted(([a], [b]) => (a < b ? -1 : 1));
  return inOrder.flatMap(([, own]) => portions(own).flatMap(together));
}

/** The acts of the first subscriptions that one invoice takes, those of the next ones, … */
function portions(acts: readonly Act[]): Act[][] {
  const each = [...groupBy(acts, ({ subscription }) => subscription.id).values()];
  const count = Math.ceil(each.length / GROUP_MAX);
  return Array.from({ length: count }, (_, i) =>
    each.slice(i * GROUP_MAX, (i + 1) * GROUP_MAX).flat(),
  );
}
