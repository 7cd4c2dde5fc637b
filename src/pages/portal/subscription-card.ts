// A subscription in the portal: its plan, how it runs (trial, start, end), and its usage so far.

import {
  formatDate,
  formatInstant,
  formatMoney,
  formatPeriod,
  formatUnits,
} from "../../domain/documents/format.ts";
import { sumCents } from "../../domain/money.ts";
import type { NextInvoice, PortalPage, StoredPortal } from "../../schema/portal.ts";
import { type Html, html } from "../html.ts";
import { usageChart } from "./usage-chart.ts";

type Subscription = StoredPortal["subscriptions"][number];

const STATES = {
  active: ["Active", "good"],
  suspended: ["Suspended", "warn"],
  pending: ["Starts later", ""],
  terminated: ["Ended", ""],
  canceled: ["Canceled", ""],
} as const;
const TRIAL = ["Free trial", "good"] as const;

const INTERVAL_NAMES = {
  weekly: "week",
  monthly: "month",
  quarterly: "quarter",
  semiannual: "half-year",
  yearly: "year",
} as const;

/** A chart takes 5 KB; with more lines than this, the list alone is easier to read too. */
const CHARTS_MAX = 12;

type Shown = {
  /** When the view was computed. */
  readonly as_of: string;
  /** Whether it is one of many that are folded away, which have no charts. */
  readonly is_folded: boolean;
};

export function subscriptionCard(
  subscription: Subscription,
  page: PortalPage,
  { as_of, is_folded }: Shown,
): Html {
  const { plan, status } = subscription;
  const in_trial = isInTrial(subscription, as_of);
  const [state, tone] = in_trial && status === "active" ? TRIAL : STATES[status];
  const runs = runTexts(subscription, as_of);
  const next = page.next[subscription.id];
  return html`<article class="card sub">
<div class="top"><h3><bdi>${plan.name}</bdi><span class="pill ${tone}">${state}</span></h3>
<p>${in_trial && "Then "}${priceText(plan, in_trial)}</p></div>
${runs.map((text) => html`<p class="run">${text}</p>`)}
<p class="meta">${periodName(subscription, in_trial)}: ${formatPeriod(
    subscription.current_period_start,
    subscription.current_period_end,
  )} · <bdi>${subscription.external_id}</bdi></p>
${status !== "pending" && billed(subscription, page, { in_trial, is_folded })}${
  next !== undefined && nextLine(next)
}
</article>`;
}

/** What has been used so far, without what has not, and what is charged beside it. */
function billed(
  subscription: Subscription,
  page: PortalPage,
  { in_trial, is_folded }: { readonly in_trial: boolean; readonly is_folded: boolean },
): Html | false {
  const { usage, plan } = subscription;
  const used = usage.flatMap((line, i) =>
    line.units === "0" && line.amount_cents === 0 ? [] : [i],
  );
  const fixed = page.next[subscription.id]?.fixed ?? [];
  const hasCharts = !is_folded && used.length <= CHARTS_MAX;
  const sum = sumCents(usage.map(({ amount_cents }) => amount_cents));
  const text = in_trial ? "Usage so far, free in the trial" : "Usage so far this period";
  if (usage.length + fixed.length === 0) return false;
  return html`${
    used.length + fixed.length > 0 &&
    html`<ul class="usage ${!hasCharts && "many"}">${used.map((i) =>
      usageLine(subscription, i, page, hasCharts),
    )}${fixed.map(fixedLine)}</ul>`
  }${
    usage.length > 0 &&
    (used.length === 0
      ? html`<p class="sum"><span>Nothing used yet this period</span></p>`
      : html`<p class="sum"><span>${text}</span><b>${formatMoney(sum, plan.amount_currency)}</b></p>`)
  }`;
}

function fixedLine({ title, details, units, rate, amount }: NextInvoice["fixed"][number]): Html {
  const text = details[0] ?? (units === "1" || units === "" ? "" : `${units} × ${rate}`);
  return html`<li class="fixed"><div><b><bdi>${title}</bdi></b>${
    text !== "" && html`<span>${text}</span>`
  }</div><span class="amount">${amount}</span></li>`;
}

function nextLine({ total_cents, tax_cents, currency, issuing_date, others }: NextInvoice): Html {
  const subscriptions = others === 1 ? "another subscription" : `${others} other subscriptions`;
  return html`<p class="sum next"><span>Next invoice, on ${formatDate(issuing_date)}${
    others > 0 && `, together with ${subscriptions}`
  }${tax_cents > 0 && ", with tax"}</span><b>about ${formatMoney(total_cents, currency)}</b></p>`;
}

function priceText(plan: Subscription["plan"], in_trial: boolean): string {
  if (plan.amount_cents === 0) return in_trial ? "by usage" : "By usage";
  const price = formatMoney(plan.amount_cents, plan.amount_currency);
  return `${price} per ${INTERVAL_NAMES[plan.interval]}`;
}

function isLive({ status }: Subscription): boolean {
  return status !== "terminated" && status !== "canceled";
}

function isInTrial(subscription: Subscription, as_of: string): boolean {
  const { trial_ends_at, status } = subscription;
  const isLate = trial_ends_at === null || trial_ends_at === undefined || trial_ends_at <= as_of;
  return !isLate && isLive(subscription) && status !== "pending";
}

function periodName(subscription: Subscription, in_trial: boolean): string {
  if (subscription.status === "pending") return "First period";
  if (in_trial) return "Trial period";
  return isLive(subscription) ? "Current period" : "Last period";
}

/** When it starts, until when it is free, and when it ends, where that is to come. */
function runTexts(subscription: Subscription, as_of: string): string[] {
  const { status, trial_ends_at, ends_at, current_period_start } = subscription;
  if (!isLive(subscription)) return [];
  const isAhead = (instant: string | null | undefined): instant is string =>
    instant !== null && instant !== undefined && instant > as_of;
  return [
    ...(status === "pending" ? [`Starts on ${startText(current_period_start)}.`] : []),
    ...(isAhead(trial_ends_at) ? [`Free of charge ${endText(trial_ends_at, "up to")}.`] : []),
    ...(isAhead(ends_at) ? [`Ends ${endText(ends_at, "on")}.`] : []),
  ];
}

function startText(instant: string): string {
  return isMidnight(instant) ? formatDate(instant) : formatInstant(instant);
}

/** An end at midnight is after the day before. */
function endText(instant: string, preposition: string): string {
  if (!isMidnight(instant)) return `${preposition} ${formatInstant(instant)}`;
  const last = new Date(new Date(instant).getTime() - 1).toISOString();
  const word = preposition === "on" ? "after" : "up to and including";
  return `${word} ${formatDate(last)}`;
}

function isMidnight(instant: string): boolean {
  return instant.slice(11) === "00:00:00.000Z";
}

function usageLine(
  subscription: Subscription,
  i: number,
  page: PortalPage,
  hasChart: boolean,
): Html {
  const used = subscription.usage[i];
  if (used === undefined) return html``;
  const { code, dimensions, units } = used;
  const title = page.titles[subscription.id]?.[i] ?? used.name;
  const key =
    dimensions === undefined ? code : `${code} ${JSON.stringify(Object.values(dimensions))}`;
  const days = page.days[`${subscription.id} ${key}`] ?? [];
  const period = {
    start: subscription.current_period_start.slice(0, 10),
    end: subscription.current_period_end.slice(0, 10),
  };
  return html`<li><div><b><bdi>${title}</bdi></b><span>${formatUnits(units)} used</span></div>
${hasChart && html`<div class="chart">${usageChart(days, period)}</div>`}
<span class="amount">${formatMoney(used.amount_cents, subscription.plan.amount_currency)}</span></li>`;
}
