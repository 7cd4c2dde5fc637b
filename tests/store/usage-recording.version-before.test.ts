// A process of a version before calls the recording in its older forms: without the count of
// events, and without the sums of days. It records as it did, while this version serves beside it.

import { afterAll, expect, test } from "vitest";
import { sql } from "../../src/store/sql.ts";
import { startApp } from "../support/app.ts";
import { makeMetric, makePlan, makeSubscription } from "../support/records.ts";

const app = await startApp();
afterAll(() => app.close());

const { db } = app.context;
const project = app.profile.project_id;
const keyOf = (n: number) => `01a00000-0000-7000-8000-${String(n).padStart(12, "0")}`;

test.each([
  { form: "without the count", first: 0, tail: () => sql`${false}` },
  {
    form: "without the sums",
    first: 100,
    tail: (count: number) => sql`${count}::integer, ${false}`,
  },
])("$form: few and many events are stored once, repeats told", async ({ first, tail }) => {
  const metric = await makeMetric(app);
  const plan = await makePlan(app);
  const subscription = await makeSubscription(app, { plan_id: plan.id });
  const now = app.context.clock.now().toISOString();
  const record = async (from: number, to: number) => {
    const events = Array.from({ length: to - from }, (_, i) => ({
      ...{ key: keyOf(first + from + i), subscription_id: subscription.id, metric_id: metric.id },
      ...{ period_no: 1, at: now, received_at: now, arrival: from + i, quantity: "3" },
    }));
    const { repeated } = await db.one<{ repeated: string[] }>(sql`
      select record_usage(${project}, false, '{}', '{}', '{}', array[${metric.id}::uuid], '{0}', null,
                          ${JSON.stringify(events)}::json, ${tail(to - from)}) as repeated`);
    return repeated.toSorted();
  };
  expect(await record(0, 3)).toEqual([]);
  expect(await record(2, 5)).toEqual([keyOf(first + 2)]);
  expect(await record(3, 30)).toEqual([keyOf(first + 3), keyOf(first + 4)]);
  const days = await db.many(sql`
    select events, sum::text
      from usage_days
     where project_id = ${project} and subscription_id = ${subscription.id}`);
  expect(days).toEqual([{ events: 30, sum: "90" }]);
});
