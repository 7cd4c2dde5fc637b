// The demo's year: the clock goes from stop to stop, and at each customers come, use, change and
// pay. Everything goes through the public API, as an application would do it.

import type { Dues } from "../../client/dues.ts";
import { dayOf, lastEveningOf, monthName } from "./calendar.ts";
import { type Company, foundCompany, idIn } from "./company.ts";
import { customerBodies } from "./customers.ts";
import {
  billWork,
  creditPart,
  creditWhole,
  payLate,
  payPromptly,
  voidNewest,
  writeOff,
} from "./money.ts";
import { type Change, storiesOf } from "./stories.ts";
import { join, makeSubscribers, type Subscriber, sendUsage, usageSince } from "./subscribers.ts";

export type Size = { readonly customers: number; readonly months: number; readonly seed: number };

/** How much of the year is over, 0 to 1, and what is under way. */
export type OnProgress = (part: number, text: string) => void;

/** A week, the middle, when payments are late, the last evening, and the end of the month. */
const STOPS = 5;

export type Year = { readonly subscribers: readonly Subscriber[]; readonly events: number };

export async function liveYear(
  dues: Dues,
  project_id: string,
  size: Size,
  onProgress: OnProgress,
): Promise<Year> {
  const steps = (size.months + 1) * STOPS;
  let [step, invoices] = [0, 0];
  const report = (text: string) => onProgress(Math.min(step++ / steps, 1), text);
  report("the company");
  await dues.freezeClock({ frozen_at: dayOf(0, 1).toISOString() });
  const company = await foundCompany(dues, project_id);
  const { customers, months, seed } = size;
  const subscribers = await makeSubscribers(
    dues,
    storiesOf(customerBodies(customers), seed, months),
  );
  let events = 0;
  const goTo = async (month: number, to: Date) => {
    report(`${monthName(month)}, ${invoices} invoices`);
    invoices += (await dues.advanceClock({ to: to.toISOString() })).invoices_created;
    events += await sendUsage(dues, usageSince(subscribers, to, seed));
  };
  for (let month = 0; month < months; month++) {
    await newcomers(dues, company, subscribers, month);
    await goTo(month, dayOf(month, 8));
    await act(dues, company, subscribers, month, isBeforePayment);
    await payPromptly(dues, subscribers, month);
    await goTo(month, dayOf(month, 16));
    await act(dues, company, subscribers, month, (change) => !isBeforePayment(change));
    await goTo(month, dayOf(month, 24));
    await payLate(dues, subscribers, month);
    await goTo(month, lastEveningOf(month));
    await goTo(month + 1, dayOf(month + 1, 1));
  }
  await goTo(months, dayOf(months, 8));
  await payPromptly(dues, subscribers, months);
  await lastSignUps(dues, company, subscribers, months);
  await goTo(months, dayOf(months, 12));
  return { subscribers, events };
}

async function newcomers(
  dues: Dues,
  company: Company,
  subscribers: readonly Subscriber[],
  month: number,
): Promise<void> {
  for (const subscriber of subscribers) {
    if (subscriber.story.joins.month !== month) continue;
    await join(dues, company, subscriber, dayOf(month, 1));
  }
}

/** An invoice is taken back before it would be paid. */
function isBeforePayment({ act }: Change): boolean {
  return act === "credit_whole" || act === "void";
}

async function act(
  dues: Dues,
  company: Company,
  subscribers: readonly Subscriber[],
  month: number,
  wanted: (change: Change) => boolean,
): Promise<void> {
  for (const subscriber of subscribers) {
    for (const change of subscriber.story.changes) {
      if (change.month === month && wanted(change)) await make(dues, company, subscriber, change);
    }
  }
}

async function make(
  dues: Dues,
  company: Company,
  subscriber: Subscriber,
  change: Change,
): Promise<void> {
  const { customer_id, story } = subscriber;
  const ref = `ext:${story.customer.external_id}`;
  switch (change.act) {
    case "plan":
      await dues.updateSubscription(ref, {
        plan_id: idIn(company.plans, change.plan),
        change_at: change.at,
      });
      subscriber.plan = change.plan;
      return;
    case "seats":
      await dues.updateSubscription(ref, { properties: { seats: change.seats } });
      return;
    case "add_on":
      await dues.applyAddOn(idIn(company.addons, "onboarding"), { customer_id });
      return;
    case "suspend":
      await dues.suspendSubscription(ref);
      subscriber.sent_until = undefined;
      return;
    case "terminate":
      await dues.terminateSubscription(ref);
      subscriber.sent_until = undefined;
      return;
    case "cancel":
      await dues.updateSubscription(ref, { status: "canceled" });
      subscriber.sent_until = undefined;
      return;
    default:
      return makeMoney(dues, subscriber, change.act);
  }
}

type MoneyAct = "one_off" | "credit_part" | "credit_whole" | "void" | "write_off";

async function makeMoney(dues: Dues, subscriber: Subscriber, act: MoneyAct): Promise<void> {
  const acts = {
    one_off: billWork,
    credit_part: creditPart,
    credit_whole: creditWhole,
    void: voidNewest,
    write_off: writeOff,
  };
  await acts[act](dues, subscriber);
}

/** At the end one customer is in a trial, and one has a subscription that begins later. */
async function lastSignUps(
  dues: Dues,
  company: Company,
  subscribers: readonly Subscriber[],
  month: number,
): Promise<void> {
  const named = (id: string) => subscribers.find(({ story }) => story.customer.external_id === id);
  const [trier, planner] = [named("pine-street"), named("kranich")];
  if (trier === undefined || planner === undefined) return;
  await dues.createSubscription({
    external_id: "pine-street-lab",
    customer_id: trier.customer_id,
    plan_id: idIn(company.plans, "starter"),
  });
  await dues.createSubscription({
    external_id: "kranich-archive",
    customer_id: planner.customer_id,
    plan_id: idIn(company.plans, "team-eur"),
    properties: { seats: 3 },
    starts_at: dayOf(month + 1, 1).toISOString(),
  });
}
