// Any story of changes: every UTC day of a subscription is billed exactly once, by the plan whose
// day it is, and however the clock is moved.

import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type App, type Json, startApp } from "../../support/app.ts";
import { flatFee, perUnit, type Sandbox, sandbox } from "../../support/given.ts";
import { closeSound } from "../../support/pricing.ts";
import { runs } from "../../support/property-runs.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => closeSound(app));

const RUNS = process.env.DUES_DEEP === "1" ? 100 : 8;
const TIMEOUT = { timeout: process.env.DUES_DEEP === "1" ? 1_200_000 : 120_000 };
const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
const START = Date.parse("2026-01-07T13:00:00.000Z");

/** A multiple of 28, 30 and 31: any month's share of a day is a whole number. */
const MONTHLY = 28 * 15 * 31;
const PLANS = [1, 10, 100, 1000].map((factor, i) => ({
  amount_cents: MONTHLY * factor,
  base_timing: i % 2 === 0 ? "arrears" : "advance",
}));

type Act =
  | { readonly travel: number }
  | { readonly plan: number; readonly change_at: "now" | "period_end" }
  | { readonly status: "active" | "suspended" };

const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.oneof(
    { weight: 4, arbitrary: fc.record({ travel: fc.integer({ min: 0, max: 300 }) }) },
    {
      weight: 3,
      arbitrary: fc.record({
        plan: fc.nat({ max: PLANS.length - 1 }),
        change_at: fc.constantFrom("now" as const, "period_end" as const),
      }),
    },
    fc.record({ status: fc.constantFrom("active" as const, "suspended" as const) }),
  ),
  { minLength: 6, maxLength: 14 },
);

/** The boundary of the month that holds this day: of the calendar, or of a day of the month. */
function monthOf(at: number, anchor: number | undefined): readonly [start: number, end: number] {
  const date = new Date(at);
  const cut = (month: number) => {
    const last = new Date(Date.UTC(date.getUTCFullYear(), month + 1, 0)).getUTCDate();
    return Date.UTC(date.getUTCFullYear(), month, Math.min(anchor ?? 1, last));
  };
  const month = date.getUTCMonth();
  return at < cut(month) ? [cut(month - 1), cut(month)] : [cut(month), cut(month + 1)];
}

/** Its own book: which plan each UTC day belongs to, and which days were suspended as a whole. */
class Book {
  now = START;
  #plan = 0;
  #scheduled: number | undefined;
  #suspended_at: number | undefined;
  readonly #suspensions: [number, number][] = [];
  readonly #planOf = new Map<number, number>();
  readonly #anchor: number | undefined;

  constructor(anchor: number | undefined) {
    this.#anchor = anchor;
    this.#planOf.set(dayOf(START), 0);
  }

  travel(ms: number): void {
    const end = this.now + ms;
    for (let boundary = this.#boundary(); boundary <= end; boundary = this.#boundary()) {
      this.#to(boundary - 1);
      this.now = boundary;
      this.#plan = this.#scheduled ?? this.#plan;
      this.#scheduled = undefined;
      this.#planOf.set(dayOf(boundary), this.#plan);
    }
    this.#to(end);
    this.now = end;
  }

  change(plan: number, change_at: "now" | "period_end"): void {
    // The present plan takes a scheduled change back and else does nothing.
    this.#scheduled = plan === this.#plan || change_at === "now" ? undefined : plan;
    if (change_at === "now") this.#plan = plan;
    this.#planOf.set(dayOf(this.now), this.#plan);
  }

  setStatus(status: "active" | "suspended"): void {
    if (status === "suspended" && this.#suspended_at === undefined) {
      // One that begins where another ended goes on with it.
      const joined = this.#suspensions.findIndex(([, end]) => end === this.now);
      const [last] = joined < 0 ? [] : this.#suspensions.splice(joined, 1);
      this.#suspended_at = last?.[0] ?? this.now;
    }
    if (status === "active") this.#resume(this.now);
  }

  #resume(at: number): void {
    if (this.#suspended_at !== undefined) this.#suspensions.push([this.#suspended_at, at]);
    this.#suspended_at = undefined;
  }

  /**
   * Every day up to the end, that of the end too, unless it ends in its first instant or was
   * suspended to the end.
   */
  owed(): number {
    this.#resume(Number.POSITIVE_INFINITY);
    let sum = 0;
    for (const [day, plan] of this.#planOf) {
      const [from, to] = [day * DAY_MS, (day + 1) * DAY_MS];
      if (from >= this.now) continue;
      if (this.#suspensions.some(([start, end]) => start <= from && to <= end)) continue;
      const [start, end] = monthOf(from, this.#anchor);
      sum += (PLANS[plan]?.amount_cents ?? 0) / ((end - start) / DAY_MS);
    }
    return sum;
  }

  #boundary(): number {
    return monthOf(this.now, this.#anchor)[1];
  }

  /** The days up to this instant are the present plan's; that of a change has its own. */
  #to(at: number): void {
    for (let day = dayOf(this.now) + 1; day <= dayOf(at); day++) this.#planOf.set(day, this.#plan);
  }
}

function dayOf(at: number): number {
  return Math.floor(at / DAY_MS);
}

async function billedInAll(story: Sandbox): Promise<number> {
  const invoices = await story.invoices();
  const lines: Json[] = invoices.flatMap((invoice) => invoice.fees);
  return lines.reduce((sum, { amount_cents }) => sum + amount_cents, 0);
}

test("every UTC day is billed exactly once, by the plan whose day it is", TIMEOUT, async () => {
  await fc.assert(
    fc.asyncProperty(fc.boolean(), acts, async (anniversary, all) => {
      const story = await sandbox(app, new Date(START).toISOString());
      const plans: Json[] = [];
      for (const fields of PLANS) plans.push(await story.plan(fields));
      const run = anniversary ? { billing_time: "anniversary", anchor_date: "2026-01-31" } : {};
      const subscription = await story.subscribe({ plan: plans[0], ...run });
      const book = new Book(anniversary ? 31 : undefined);
      // An hour before the end, so that no period that ends there is of no length.
      for (const act of [...all, { travel: 1 }]) {
        if ("travel" in act) {
          book.travel(act.travel * HOUR_MS);
          await story.travelTo(new Date(book.now).toISOString());
        } else if ("plan" in act) {
          book.change(act.plan, act.change_at);
          await story.change(subscription, plans[act.plan], { change_at: act.change_at });
        } else {
          book.setStatus(act.status);
          await story.setStatus(subscription, act.status);
        }
      }
      await story.terminate(subscription);
      expect(await billedInAll(story)).toBe(book.owed());
    }),
    runs(RUNS),
  );
});

const times = fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 4, maxLength: 8 });

/** Plans in turn, now and at the period's end, with usage and seats at each stop. */
async function tell(story: Sandbox, stops: readonly number[], step: number): Promise<unknown> {
  const metric = await story.metric();
  const level = await story.metric("weighted_sum", { weighted_by: "period" });
  const plans: Json[] = [];
  for (const { amount_cents, base_timing } of PLANS) {
    const mode = { quantity_mode: "prorated" };
    const seats = flatFee({ amount_override_cents: 77, seats: true, properties: mode });
    const charges = [perUnit(metric, "0.013"), perUnit(level, "0.17"), seats];
    const fields = { amount_cents: amount_cents + 1, base_timing, minimum_cents: 9_999 };
    plans.push(await story.plan({ ...fields, charges, trial_days: 9 }));
  }
  const properties = { seats: 2 };
  const calendar = await story.subscribe({ plan: plans[0], properties });
  const own = { billing_time: "anniversary", trial_days: 0 };
  const anniversary = await story.subscribe({ plan: plans[1], properties, ...own });
  let now = START;
  for (const [i, hours] of stops.entries()) {
    const end = now + hours * HOUR_MS;
    for (let at = now + step; at < end; at += step) {
      await story.travelTo(new Date(at).toISOString());
    }
    now = end;
    await story.travelTo(new Date(now).toISOString());
    for (const each of [calendar, anniversary]) {
      await story.use(each, metric, String(i * 7.5));
      await story.use(each, level, String(3 - i));
      await story.update(each, { properties: { seats: i } });
    }
    const change_at = i % 2 === 0 ? "now" : "period_end";
    await story.change(calendar, plans[(i + 1) % 4], { change_at });
    await story.change(anniversary, plans[i % 4], { change_at });
  }
  await story.travelTo("2026-08-01");
  const invoices = await story.invoices();
  return invoices.map(({ number, issuing_date, total_cents, amount_due_cents, fees }) => ({
    number,
    issuing_date,
    total_cents,
    amount_due_cents,
    fees: fees.map(({ fee_type, units, amount_cents, properties: shown }: Json) => ({
      fee_type,
      units,
      amount_cents,
      precise: shown.precise_amount,
      start: shown.period_start,
      plan: shown.plan_code,
    })),
  }));
}

test("one jump of the clock or day by day gives the same invoices", TIMEOUT, async () => {
  await fc.assert(
    fc.asyncProperty(times, async (stops) => {
      const at = new Date(START).toISOString();
      const jumped = await tell(await sandbox(app, at), stops, Number.POSITIVE_INFINITY);
      expect(await tell(await sandbox(app, at), stops, DAY_MS)).toEqual(jumped);
    }),
    runs(process.env.DUES_DEEP === "1" ? 20 : 3),
  );
});
