// A usage event on its way into the table: what it names, what it counts, and in which period.

import { usageValue } from "../../domain/aggregation.ts";
import { parseTimestamp, utcDate } from "../../domain/dates.ts";
import { combinationOf } from "../../domain/dimensions.ts";
import { AMOUNT_MAX, exponentOf } from "../../domain/money.ts";
import { periodIndexAt } from "../../domain/periods.ts";
import { AHEAD_MAX_MS } from "../../domain/reported-at.ts";
import { notFound, type Refusal, refuse, refuseField } from "../../errors.ts";
import { digestId } from "../../ids.ts";
import type { Unbillable, UsageEventInput } from "../../schema/events.ts";
import type { Metric } from "../../schema/metrics.ts";
import * as usage from "../../store/usage/events.ts";
import type { EventRow } from "../../store/usage/recording.ts";
import type { KnownMeters } from "./known-meters.ts";

/** An event as it came in: when by the project's clock, and its place in the order of arrival. */
export type Arrived = {
  readonly input: UsageEventInput;
  readonly received_at: Date;
  readonly arrival: number;
};
/** An event before it is stored; `refusal` says why it will not be. */
export type Draft = {
  readonly event: Arrived;
  readonly key: string;
  refusal: Refusal | undefined;
  subscription: usage.UsageSubscription | undefined;
  metric: Metric | undefined;
  at: Date | undefined;
  quantity: string | null;
  unique_value: string | null;
  combination: string | null;
  period_no: number;
  unbillable: Unbillable | null;
  /** Its period is closed, and still corrected. */
  late: boolean;
  /** Its subscription may be closing at this moment, and that concerns its period. */
  closing: boolean;
};

export function draft(event: Arrived, known: KnownMeters): Draft {
  const { input } = event;
  const one: Draft = {
    event,
    key: usage.usageKey(input.transaction_id),
    refusal: undefined,
    subscription: known.byRef.get(input.subscription_id),
    metric: known.byCode.get(input.code),
    at: instantOf(event, known.byRef.get(input.subscription_id)),
    quantity: null,
    unique_value: null,
    combination: null,
    period_no: 0,
    unbillable: null,
    late: false,
    closing: false,
  };
  one.refusal = complete(one, known.closing_until);
  return one;
}

/**
 * When the event happened. Without a timestamp that is when it arrived, but not before the start of
 * a subscription that has begun: the caller knew of the start, which perhaps a machine whose clock
 * is ahead has made.
 */
function instantOf(
  { input, received_at }: Arrived,
  subscription: usage.UsageSubscription | undefined,
): Date | undefined {
  if (input.timestamp !== undefined) return parseTimestamp(input.timestamp);
  const isBegun = subscription?.has_ended === false && !subscription.pending;
  return isBegun && received_at < subscription.started_at ? subscription.started_at : received_at;
}

/** Fills in what the event counts and in which period, or returns why it is refused. */
function complete(one: Draft, closing_until: Date | null): Refusal | undefined {
  const { subscription, metric, at, event } = one;
  if (subscription === undefined) {
    return refuse("not_found", "subscription_id: no subscription is known by it.");
  }
  if (metric === undefined) return notFound("metric", { field: "code", by: "code" });
  if (at === undefined || at.getTime() > event.received_at.getTime() + AHEAD_MAX_MS) {
    const message = "timestamp must not lie more than 24 hours in the future.";
    return refuseField("timestamp", "maximum", message);
  }
  const value = usageValue(metric, event.input);
  if (!value.ok) return refuseField(value.field, "format", `${value.field} ${value.message}.`);
  if (value.quantity !== null && costsTooMuch(value.quantity, metric, subscription)) {
    const message = `${value.quantity} units would cost more than an invoice can be over.`;
    return refuseField("value", "maximum", message);
  }
  const combined = combinationOf(metric.dimensions, event.input.properties);
  if (!combined.ok) {
    return refuseField(combined.field, "format", `${combined.field} ${combined.message}.`);
  }
  one.quantity = value.quantity;
  one.unique_value = value.unique_value;
  one.combination = combined.combination;
  setPeriod(one, subscription, at);
  one.closing = isClosing(one, at, subscription, closing_until);
  return undefined;
}

/**
 * Whether a close of the subscription that may be under way concerns the event. Such a close bills
 * the open period and what came late for earlier ones. Where several periods have ended, the close
 * of the next follows at once; and the subscription itself may be ending.
 */
function isClosing(
  { late, period_no }: Draft,
  at: Date,
  subscription: usage.UsageSubscription,
  closing_until: Date | null,
): boolean {
  const { has_ended, due_at, ends_at } = subscription;
  if (has_ended || closing_until === null || due_at > closing_until) return false;
  if (late || period_no === subscription.period_no || at < closing_until) return true;
  return ends_at !== null && ends_at <= closing_until;
}

/**
 * Whether the quantity alone costs more than an invoice can be over, by the prices of the open
 * period: the invoice could not be made, and would wait for somebody to look. Approximate, because
 * nobody's prices come near the bound.
 */
function costsTooMuch(
  quantity: string,
  metric: Metric,
  { rates, currency }: usage.UsageSubscription,
): boolean {
  const rate = rates[metric.id];
  if (rate === undefined) return false;
  return Number(quantity) * Number(rate) * 10 ** exponentOf(currency) > AMOUNT_MAX;
}

/** Sets the period, or marks the event late: record.ts then finds its closed period. */
function setPeriod(one: Draft, subscription: usage.UsageSubscription, at: Date): void {
  const { started_at, terminated_at, period_no, has_ended } = subscription;
  const { current_period_start: start, current_period_next: next } = subscription;
  // Numbers, because dates are compared at twenty times the cost.
  const ms = at.getTime();
  if (ms < started_at.getTime()) one.unbillable = "before_start";
  else if (has_ended && terminated_at !== null && ms >= terminated_at.getTime()) {
    one.unbillable = "after_termination";
  } else if (has_ended || ms < start.getTime()) one.late = true;
  else {
    const { interval, open_interval, anchor_date } = subscription;
    // Periods of another interval are counted from the end of the open one on.
    const isMoved = anchor_date !== null && interval !== open_interval;
    const anchor = isMoved ? utcDate(next) : anchor_date;
    one.period_no = period_no + periodIndexAt({ start, next }, interval, at, anchor);
  }
}

export function eventRow(one: Draft): EventRow {
  const { subscription, metric, at } = one;
  const { input, received_at, arrival } = one.event;
  if (subscription === undefined || metric === undefined || at === undefined) {
    throw new Error("A refused event reached the table.");
  }
  const { transaction_id, value = null, properties = {} } = input;
  return {
    key: one.key,
    transaction_id: one.key === transaction_id ? null : transaction_id,
    subscription_id: subscription.id,
    metric_id: metric.id,
    period_no: one.period_no,
    at,
    received_at,
    arrival,
    quantity: one.quantity,
    unique_value: one.unique_value === null ? null : digestId(one.unique_value),
    value,
    properties: Object.keys(properties).length === 0 ? null : properties,
    unbillable: one.unbillable,
    combination: one.combination,
    is_weighted: metric.aggregation_type === "weighted_sum",
  };
}
