// Any sequence of acts: whatever order usage, ends and returns come in, each period costs what its
// own usage comes to, and not a cent is billed twice or lost.

import fc from "fast-check";
import { beforeAll, expect, test } from "vitest";
import { type App, type Json, sharedApp } from "../../support/app.ts";
import { perUnit, type Sandbox, sandbox } from "../../support/given.ts";
import { runs } from "../../support/property-runs.ts";

let app: App;
beforeAll(async () => {
  app = await sharedApp();
});

const HOUR_MS = 3_600_000;
const START = Date.parse("2026-01-07T13:00:00.000Z");
const STATUSES = ["active", "suspended", "terminated", "canceled"] as const;
const AGGREGATIONS = ["sum", "count", "count_unique", "max", "latest"] as const;

type Status = (typeof STATUSES)[number];
type Interval = "weekly" | "monthly";
type Act =
  | { readonly use: number; readonly hours: number }
  | { readonly travel: number }
  | { readonly status: Status };

const use = fc.record({
  use: fc.integer({ min: -20, max: 50 }),
  hours: fc.integer({ min: -1_500, max: 24 }),
});
const travel = fc.record({ travel: fc.integer({ min: 1, max: 400 }) });
const status = fc.record({ status: fc.constantFrom(...STATUSES) });
const acts: fc.Arbitrary<Act[]> = fc.array(
  fc.oneof({ weight: 5, arbitrary: use }, { weight: 3, arbitrary: travel }, status),
  { minLength: 10, maxLength: 25 },
);

/** Usage at the very instant of an end, and a return at that instant. */
const SENT_AND_ENDED: Act[] = [
  { travel: 9 },
  { use: 4, hours: 0 },
  { status: "terminated" },
  { use: 5, hours: 0 },
  { status: "active" },
  { use: 6, hours: 0 },
];

/** The first instant after the calendar period that holds this one. */
function boundary(at: number, interval: Interval): number {
  const day = new Date(at);
  const [year, month] = [day.getUTCFullYear(), day.getUTCMonth()];
  if (interval === "monthly") return Date.UTC(year, month + 1);
  const sinceMonday = (day.getUTCDay() + 6) % 7;
  return Date.UTC(year, month, day.getUTCDate() - sinceMonday + 7);
}

/**
 * A period that is billed. A call that ends one takes what was sent before it up to the very
 * instant of the end: `taken` numbers the last event that it took.
 */
type Span = { readonly start: number; readonly end: number; readonly taken?: number };

/** Plays the acts and keeps its own book of periods that are to be billed. */
class Play {
  readonly billed: Span[] = [];
  #now = START;
  #sent = 0;
  #open: number | null = START;
  readonly #story: Sandbox;
  readonly #interval: Interval;

  constructor(story: Sandbox, interval: Interval) {
    this.#story = story;
    this.#interval = interval;
  }

  async act(subscription: Json, metric: Json, act: Act): Promise<void> {
    if ("travel" in act) return this.travel(act.travel);
    if ("status" in act) return this.#move(subscription, act.status);
    const at = new Date(this.#now + act.hours * HOUR_MS).toISOString();
    const event = this.#story.usage(subscription, metric, String(act.use), at);
    this.#sent += 1;
    await this.#story.post("/v1/events", { ...event, transaction_id: `use-${this.#sent}` });
  }

  async travel(hours: number): Promise<void> {
    this.#now += hours * HOUR_MS;
    await this.#story.travelTo(new Date(this.#now).toISOString());
    while (this.#open !== null && boundary(this.#open, this.#interval) <= this.#now) {
      const end = boundary(this.#open, this.#interval);
      this.billed.push({ start: this.#open, end });
      this.#open = end;
    }
  }

  async #move(subscription: Json, status: Status): Promise<void> {
    await this.#story.setStatus(subscription, status);
    const lives = status === "active" || status === "suspended";
    if (this.#open !== null && !lives) {
      const span = { start: this.#open, end: this.#now, taken: this.#sent };
      if (status === "terminated") this.billed.push(span);
      this.#open = null;
    }
    if (this.#open === null && lives) this.#open = this.#now;
  }
}

/** The values of a period's events, the latest first; of one instant the last to arrive. */
function valuesIn(span: Span, spans: readonly Span[], events: readonly Json[]): number[] {
  const arrival = ({ transaction_id }: Json) => Number(transaction_id.slice("use-".length));
  return events
    .map((event) => ({ at: Date.parse(event.timestamp), arrival: arrival(event), event }))
    .filter((one) => spans.find((each) => holds(each, one)) === span)
    .sort((a, b) => b.at - a.at || b.arrival - a.arrival)
    .map(({ event }) => Number(event.value));
}

function holds({ start, end, taken = 0 }: Span, one: { at: number; arrival: number }): boolean {
  return start <= one.at && (one.at < end || (one.at === end && one.arrival <= taken));
}

/** What the events of one period come to, folded as simply as can be. */
function unitsOf(type: (typeof AGGREGATIONS)[number], values: readonly number[]): number {
  switch (type) {
    case "sum":
      return values.reduce((sum, value) => sum + value, 0);
    case "count":
      return values.length;
    case "count_unique":
      return new Set(values).size;
    case "max":
      return values.length === 0 ? 0 : Math.max(...values);
    case "latest":
      return values[0] ?? 0;
  }
}

/** At 0.033 a unit: 3.3 cents, rounded half up, in whole numbers. */
function cents(units: number): number {
  return Math.floor((Math.max(0, units) * 33 + 5) / 10);
}

test("any story bills each period exactly what its usage comes to (R7, R10)", {
  timeout: 240_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...AGGREGATIONS),
      fc.constantFrom<Interval>("weekly", "monthly"),
      acts,
      async (type, interval, story_acts) => {
        const story = await sandbox(app, new Date(START).toISOString());
        const metric = await story.metric(type);
        const subscription = await story.subscribe({
          interval,
          charges: [perUnit(metric, "0.033")],
        });
        const play = new Play(story, interval);
        for (const act of story_acts) await play.act(subscription, metric, act);
        await play.travel(24 * 100);

        const url = `/v1/events?all=1&state=billable&subscription_id=${subscription.id}`;
        const { events } = await story.get(url);
        const wanted = play.billed.map((span) => {
          return cents(unitsOf(type, valuesIn(span, play.billed, events)));
        });
        const invoices = await story.invoices();
        const lines: Json[] = invoices.flatMap((invoice) => invoice.fees);
        const sum = (amounts: readonly number[]) => amounts.reduce((a, b) => a + b, 0);
        expect(sum(lines.map((line) => line.amount_cents))).toBe(sum(wanted));
      },
    ),
    { ...runs(10), examples: [["count", "weekly", SENT_AND_ENDED]] },
  );
});
