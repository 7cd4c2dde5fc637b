// The period that a subscription begins with, or that follows the one just closed: at which prices,
// until when, and what is due at its start.

import type { Closing } from "./closing.ts";
import { utcDate } from "./dates.ts";
import { formatDecimal, integer } from "./decimal.ts";
import { draftInvoice, type InvoiceDraft } from "./invoicing.ts";
import { namesOf } from "./names.ts";
import { billedDates, type Period, periodAt, periodDays } from "./periods.ts";
import { type ListInForce, listAt, listOf } from "./price-lists.ts";
import {
  type Advance,
  advanceOf,
  type PlanVersion,
  recurringPerPeriod,
  startFees,
} from "./pricing.ts";
import { BadQuantity } from "./quantities.ts";

export type Opened = {
  readonly period: Period;
  readonly list: PlanVersion;
  readonly override_no: number | null;
  readonly anchor_date: string | null;
  readonly recurring_cents: string;
  readonly advance: Advance | null;
  /** What is due at the start of the period, perhaps nothing. */
  readonly draft: InvoiceDraft;
};

export type Opening = Pick<
  Closing,
  "lists" | "names" | "suspensions" | "net_payment_days" | "drops_start_fees" | "now"
> & {
  readonly properties: Readonly<Record<string, unknown>>;
  readonly ends_at: Date | null;
};

/** The period that follows the one closed, at the prices in force when it starts. */
export function openNext(closing: Closing): Opened {
  const { subscription, lists, end } = closing;
  const plan_id = closing.change_to ?? subscription.scheduled_plan_id ?? subscription.plan_id;
  const before = listOf(lists, subscription);
  const inForce = listAt(lists, plan_id, end);
  const isOther = inForce.list.interval !== before.interval;
  const { anchor_date: anchor, ends_at, in_trial } = subscription;
  const properties = closing.next_properties ?? subscription.properties;
  const anchor_date = anchor !== null && isOther ? utcDate(end) : anchor;
  const opening = { ...closing, properties, ends_at };
  return openPeriod(opening, inForce, { start: end, anchor_date, is_first: in_trial });
}

/** A period from the instant to its schedule's next boundary, and what is due at its start. */
export function openPeriod(
  opening: Opening,
  { list, override_no }: ListInForce,
  at: { readonly start: Date; readonly anchor_date: string | null; readonly is_first: boolean },
): Opened {
  const { properties, suspensions, ends_at, now, net_payment_days } = opening;
  const { start, anchor_date, is_first } = at;
  const full = periodAt(start, list.interval, anchor_date);
  const end = ends_at !== null && ends_at < full.next ? ends_at : full.next;
  const billed = { start, end, suspensions, period_days: periodDays(full) };
  const fees =
    opening.drops_start_fees === true
      ? []
      : startFees(list, { properties, billed, is_first }, namesOf(opening.names, list));
  const draft = draftInvoice({
    fees,
    currency: list.currency,
    ...billedDates(start, full.next),
    now,
    net_payment_days,
    part: { starts_at: start, anchor_date, interval: list.interval, is_trial: false },
  });
  return {
    period: { start, next: full.next },
    list,
    override_no,
    anchor_date,
    recurring_cents: formatDecimal(recurringOrBase(list, properties)),
    advance: advanceOf(list, fees),
    draft,
  };
}

/**
 * What the new period is expected to bring in. A quantity that a new charge asks for and the
 * subscription lacks is no reason to hold up the close of a period that did not have the charge.
 */
function recurringOrBase(list: PlanVersion, properties: Readonly<Record<string, unknown>>) {
  try {
    return recurringPerPeriod(list, properties);
  } catch (error) {
    if (error instanceof BadQuantity) return integer(list.amount_cents);
    throw error;
  }
}
