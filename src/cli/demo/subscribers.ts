// A customer of the demo while the year runs: how it comes in, and what it sends.

import type { Dues } from "../../client/dues.ts";
import type { UsageEventInput } from "../../client/types.ts";
import { DAY_MS } from "../../domain/dates.ts";
import { CliError } from "../terminal/io.ts";
import { daysBetween } from "./calendar.ts";
import { type Company, idIn } from "./company.ts";
import type { Story } from "./stories.ts";
import { usageOf } from "./usage.ts";

const BATCH = 5_000;

export type Subscriber = {
  readonly story: Story;
  readonly customer_id: string;
  plan: string;
  /** Undefined before it comes, and after it has left. */
  sent_until: Date | undefined;
};

export async function makeSubscribers(
  dues: Dues,
  stories: readonly Story[],
): Promise<Subscriber[]> {
  const subscribers: Subscriber[] = [];
  // One after the other: ids rise, and with them the order of invoice numbers.
  for (const story of stories) {
    const { customer } = await dues.createCustomer(story.customer);
    const { plan } = story;
    subscribers.push({ story, customer_id: customer.id, plan, sent_until: undefined });
  }
  return subscribers;
}

/** Subscribes, with the coupon and the money that the story has. */
export async function join(
  dues: Dues,
  company: Company,
  subscriber: Subscriber,
  now: Date,
): Promise<void> {
  const { story, customer_id } = subscriber;
  const { coupon, wallet, free_cents, joins } = story;
  if (coupon !== undefined) await dues.applyCoupon(idIn(company.coupons, coupon), { customer_id });
  const starts = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), joins.day));
  const { customer } = story;
  if (free_cents !== undefined) {
    const name = "Startup credit";
    await dues.createGrant({ customer_id, amount_cents: free_cents, kind: "free", name });
  }
  if (wallet !== undefined) await fillWallet(dues, subscriber, wallet);
  await dues.createSubscription({
    external_id: customer.external_id,
    customer_id,
    plan_id: idIn(company.plans, story.plan),
    properties: { seats: story.seats },
    ...(starts > now && { starts_at: starts.toISOString() }),
  });
  subscriber.sent_until = starts > now ? starts : now;
}

async function fillWallet(
  dues: Dues,
  { customer_id, story }: Subscriber,
  { prepaid_cents, low_cents }: NonNullable<Story["wallet"]>,
): Promise<void> {
  const { grant } = await dues.createGrant({
    customer_id,
    amount_cents: prepaid_cents,
    kind: "paid",
    name: "Prepaid",
  });
  if (grant.invoice_id !== null) {
    const { invoice } = await dues.getInvoice(grant.invoice_id);
    await dues.recordPayment({
      invoice_id: invoice.id,
      amount_cents: invoice.amount_due_cents,
      currency: invoice.currency,
      provider: "stripe",
      provider_payment_id: `pi_${invoice.number}`,
    });
  }
  const terms = { low_balance_cents: low_cents, top_up_cents: prepaid_cents };
  await dues.setWallet(customer_id, story.customer.currency ?? "USD", terms);
}

/** The day of the month from which those that report late keep their usage to themselves. */
const HELD_BACK_FROM = 27;

/** Usage of all since each last sent some, up to `now`, less what is held back. */
export function usageSince(
  subscribers: readonly Subscriber[],
  now: Date,
  seed: number,
): UsageEventInput[] {
  return subscribers.flatMap((subscriber) => {
    const { story, plan, sent_until } = subscriber;
    if (sent_until === undefined || sent_until >= now) return [];
    const isHeld = story.reports_late === true && now.getUTCDate() >= HELD_BACK_FROM;
    const until = isHeld
      ? new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth(), HELD_BACK_FROM))
      : now;
    const days = daysBetween(sent_until, until);
    // An evening ends a day: what follows begins with the next.
    subscriber.sent_until = new Date(sent_until.getTime() + days.length * DAY_MS);
    return days.flatMap((day) => usageOf(story, plan, day, seed));
  });
}

export async function sendUsage(dues: Dues, events: readonly UsageEventInput[]): Promise<number> {
  for (let i = 0; i < events.length; i += BATCH) {
    const batch = events.slice(i, i + BATCH);
    const { refused, results } = await dues.sendEventBatch({ events: batch });
    if (refused === 0) continue;
    const why = results.find(({ error }) => error !== undefined)?.error?.message;
    throw new CliError("failed", `${refused} usage events were refused: ${why}`);
  }
  return events.length;
}
