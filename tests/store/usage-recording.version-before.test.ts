// A process of the version before calls the recording in its older form, with the events as JSON.
// It records as it did, while this version serves beside it.

import { afterAll, expect, test } from "vitest";
import { sql } from "../../src/store/sql.ts";
import { startApp } from "../support/app.ts";
import { makeMetric, makePlan, makeSubscription } from "../support/records.ts";

const app = await startApp();
afterAll(() => app.close());

const { db } = app.context;
const project = app.profile.project_id;
const keyOf = (n: number) => `01a00000-0000-7000-8000-${String(n).padStart(12, "0")}`;

test("few and many events are stored once, repeats told", async () => {
  const metric = await makeMetric(app);
  const plan = await makePlan(app);
  const subscription = await makeSubscription(app, { plan_id: plan.id });
  const now = app.context.clock.now().toISOString();
  const record = async (from: number, to: number) => {
    const events = Array.from({ length: to - from }, (_, i) => ({
      ...{ key: keyOf(from + i), subscription: 1, metric: 1 },
      ...{ period_no: 1, at: now, received_at: now, arrival: from + i, quantity: "3" },
    }));
    const sum = {
      ...{ subscription: 1, metric: 1, period_no: 1, day: now.slice(0, 10), events: to - from },
      ...{
        sum: String(3 * (to - from)),
        max: "3",
        latest: "3",
        last_at: now,
        last_arrival: to - 1,
      },
    };
    const { repeated } = await db.one<{ repeated: string[] }>(sql`
      select record_usage(${project}, false, '{}', array[${subscription.id}::uuid], '{0}',
                          array[${metric.id}::uuid], '{0}', null, ${JSON.stringify(events)}::json,
                          ${JSON.stringify([sum])}::json, ${to - from}::integer) as repeated`);
    return repeated.toSorted();
  };
  expect(await record(0, 3)).toEqual([]);
  expect(await record(2, 5)).toEqual([keyOf(2)]);
  expect(await record(3, 30)).toEqual([keyOf(3), keyOf(4)]);
  expect(await record(30, 50)).toEqual([]);
  const days = await db.many(sql`
    select events, sum::text
      from usage_days
     where project_id = ${project} and subscription_id = ${subscription.id}`);
  expect(days).toEqual([{ events: 50, sum: "150" }]);
});
