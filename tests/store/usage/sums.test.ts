// What the sums are when periods are cut and boundaries move: what the events give, and at the cost
// of the days that change alone.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { digestId, type ProjectId } from "../../../src/ids.ts";
import type { Tx } from "../../../src/store/db/db.ts";
import { sql } from "../../../src/store/db/sql.ts";
import { type EventRow, record } from "../../../src/store/usage/recording.ts";
import * as usageSums from "../../../src/store/usage/sums.ts";
import { type App, type Json, startApp } from "../../support/app.ts";
import { eventRow } from "../../support/event-rows.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { countingPages } from "../../support/pages.ts";
import { makeMetric, makePlan, makeSubscription } from "../../support/records.ts";

const START = Date.parse("2026-01-10T00:00:00.000Z");
const HOUR_MS = 3_600_000;
const SENDERS = 6;
const SENT_EACH = 20;
/** From this number on each event has a value that no other has. */
const NEW = 100_000;
const hour = (hours: number) => new Date(START + hours * HOUR_MS);

let app: App;
let project: ProjectId;
let metrics: Json[];
beforeAll(async () => {
  app = await startApp({ at: "2026-01-10T00:00:00.000Z" });
  project = app.profile.project_id as ProjectId;
  metrics = [
    await makeMetric(app),
    await makeMetric(app, { aggregation_type: "count_unique" }),
    await makeMetric(app, { aggregation_type: "weighted_sum", weighted_by: "hour" }),
    await makeMetric(app, { dimensions: ["region"] }),
    await makeMetric(app, { aggregation_type: "latest" }),
  ];
});
afterAll(() => app.close());

async function subscribed(): Promise<usageSums.PeriodRef> {
  const plan = await makePlan(app, { amount_cents: 0 });
  return { subscription_id: (await makeSubscription(app, { plan_id: plan.id })).id, period_no: 1 };
}

/** Every kind of metric in turn; those that were sent later may lie before. */
function eventOf(period: usageSums.PeriodRef, no: number, at: Date): EventRow {
  const metric = metrics[no % metrics.length];
  const isUnique = metric.aggregation_type === "count_unique";
  return eventRow({
    ...period,
    metric_id: metric.id,
    at,
    arrival: no,
    quantity: isUnique ? null : `${no % 7}.${no % 3}`,
    unique_value: isUnique ? digestId(`value ${no < NEW ? no % 30 : no}`) : null,
    combination: metric.dimensions.length > 0 ? `["r${no % 2}"]` : null,
    is_weighted: metric.aggregation_type === "weighted_sum",
  });
}

async function send(events: readonly EventRow[]): Promise<void> {
  for (let sent = 0; sent < events.length; sent += 1_000) {
    await app.context.db.tx((tx) => record(tx, project, events.slice(sent, sent + 1_000)));
  }
}

/** Some 40 events a day for five days, in an order of their own. */
async function used(): Promise<usageSums.PeriodRef> {
  const period = await subscribed();
  const hours = Array.from({ length: 200 }, (_, i) => ((i * 77) % 200) * 0.6);
  await send(hours.map((at, no) => eventOf(period, no, hour(at))));
  return period;
}

const broken = async () =>
  (await checkInvariants(app.context.db)).filter((rule) => /^(daily sums|distinct)/.test(rule));

const inTx = <T>(work: (tx: Tx) => Promise<T>) => app.context.db.tx(work);
/** What is billed of them, in one order; which value came last counts for one metric alone. */
const billed = (rows: readonly usageSums.PeriodUsage[]) =>
  rows
    .map(({ metric_id, combination, events, sum, max, uniques, latest, last_at, moment }) => {
      const { aggregation_type } = metrics.find(({ id }) => id === metric_id);
      const last = aggregation_type === "latest" ? latest : null;
      return [metric_id, combination, events, sum, max, uniques, last, last_at, moment];
    })
    .sort((a, b) => (JSON.stringify(a) < JSON.stringify(b) ? -1 : 1));

describe("the sums are what the events give", () => {
  test.each([0, 0.5, 47.9, 48, 60.6, 119, 200])("cut %d hours in, and shown before", async (at) => {
    const period = await used();
    const shown = await inTx((tx) => usageSums.totalsBefore(tx, project, period, hour(at)));
    await inTx((tx) => usageSums.cutAt(tx, project, period, hour(at)));
    expect(await broken()).toEqual([]);
    const left = await inTx((tx) => usageSums.totals(tx, project, [period]));
    expect(billed(shown)).toEqual(billed(left));
  });

  test("when boundaries come, move to another day and back, and go", async () => {
    const period = await used();
    const schedules: [Date, ...Date[]][] = [
      [hour(60), hour(100)],
      [hour(30.5), hour(96), hour(110)],
      [hour(72)],
      [hour(1_000)],
    ];
    for (const [first, ...later] of schedules) {
      await inTx((tx) => usageSums.moveToPeriods(tx, project, period, first, later));
      expect(await broken()).toEqual([]);
      const { misplaced } = await app.context.db.one<{ misplaced: number }>(sql`
        select count(*) as misplaced
          from usage_events e
         where e.project_id = ${project} and e.subscription_id = ${period.subscription_id}
           and e.period_no <> 1 + (select count(*) from unnest(${[first, ...later]}::timestamptz[]) as b (at)
                                    where b.at <= e.at)`);
      expect(misplaced).toBe(0);
    }
  });
});

describe("a distinct value counts on the first day that it was used on", () => {
  /** An event of the one metric that counts values; a value is named by a number below 30. */
  const used = (period: usageSums.PeriodRef, value: number, day: number) => ({
    ...eventOf(period, 1, hour(24 * day + 1)),
    arrival: value,
    unique_value: digestId(`value ${value}`),
  });
  const daysOf = async (period: usageSums.PeriodRef) => {
    const days = await inTx((tx) => usageSums.listDays(tx, project, [period]));
    return days.map(({ events, uniques }) => [events, uniques]);
  };

  test("whatever comes in first, alone or with others", async () => {
    const period = await subscribed();
    await send([used(period, 1, 2), used(period, 2, 2), used(period, 1, 3)]);
    expect(await daysOf(period)).toEqual([
      [2, 2],
      [1, 0],
    ]);
    await send([used(period, 1, 1)]);
    expect(await daysOf(period)).toEqual([
      [1, 1],
      [2, 1],
      [1, 0],
    ]);
    // More than are written one by one: values come earlier once more, and again later.
    await send([
      ...[used(period, 1, 0), used(period, 2, 1), used(period, 3, 2), used(period, 3, 1)],
      ...Array.from({ length: 9 }, (_, no) => used(period, no % 3, 3)),
    ]);
    expect(await daysOf(period)).toEqual([
      [1, 1],
      [3, 2],
      [3, 0],
      [10, 1],
    ]);
    expect(await broken()).toEqual([]);
  });

  test("many at once, in all orders: no ring, and each counts once", async () => {
    const period = await subscribed();
    const sent = Array.from({ length: SENDERS }, (_, sender) =>
      Array.from({ length: SENT_EACH }, (_, no) =>
        // Some send a day's values backwards, and some a few only, one by one.
        Array.from({ length: sender % 3 === 0 ? 4 : 40 }, (_, i) =>
          used(period, (i * (7 + sender)) % 30, (SENT_EACH - no + i + sender) % 9),
        ),
      ),
    );
    await Promise.all(
      sent.map(async (batches) => {
        for (const batch of batches) await send(batch);
      }),
    );
    expect(await broken()).toEqual([]);
    const { uniques } = (await inTx((tx) => usageSums.totals(tx, project, [period])))[0] ?? {};
    expect(uniques).toBe(30);
    const { deadlocks } = await app.context.db.one<{ deadlocks: number }>(sql`
      select deadlocks
        from pg_stat_database
       where datname = current_database()`);
    expect(deadlocks).toBe(0);
  });
});

describe("usage of earlier days costs an end, a change and a preview nothing", () => {
  const ends: [string, (tx: Tx, period: usageSums.PeriodRef) => Promise<unknown>][] = [
    ["an end", (tx, period) => usageSums.cutAt(tx, project, period, hour(100))],
    ["a change", (tx, period) => usageSums.moveToPeriods(tx, project, period, hour(100), [])],
    ["a preview", (tx, period) => usageSums.totalsBefore(tx, project, period, hour(100))],
  ];
  /** Undone again, so that each finds the same. */
  const pagesOf = async (period: usageSums.PeriodRef, end: (typeof ends)[number][1]) => {
    let pages = 0;
    const undone = inTx(async (tx) => {
      const counting = countingPages(tx);
      await end(counting.tx, period);
      pages = counting.pages();
      throw new Error("undone");
    });
    await expect(undone).rejects.toThrow("undone");
    return pages;
  };

  test("many events or few", async () => {
    const [few, many] = [await subscribed(), await subscribed()];
    const today = (period: usageSums.PeriodRef) =>
      Array.from({ length: 100 }, (_, no) => eventOf(period, NEW + no, hour(96 + no / 8)));
    await send(today(few));
    await send([
      ...Array.from({ length: 20_000 }, (_, no) => eventOf(many, no, hour(no / 250))),
      ...today(many),
    ]);
    await app.context.db.run(sql`analyze usage_events`);
    for (const [name, end] of ends) {
      const [least, most] = [await pagesOf(few, end), await pagesOf(many, end)];
      expect([name, most < least + 500], `${name}: ${least} and ${most} pages`).toEqual([
        name,
        true,
      ]);
    }
  });
});
