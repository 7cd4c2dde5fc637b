// A process of the version before calls the recording without the count of events: it records as it
// did, while this version serves beside it.

import { afterAll, expect, test } from "vitest";
import { sql } from "../../src/store/sql.ts";
import { startApp } from "../support/app.ts";
import { makeMetric, makePlan, makeSubscription } from "../support/records.ts";

const app = await startApp();
afterAll(() => app.close());

const { db } = app.context;
const project = app.profile.project_id;
const keyOf = (n: number) => `01a00000-0000-7000-8000-${String(n).padStart(12, "0")}`;

test("few and many events are stored once, and repeats are told", async () => {
  const metric = await makeMetric(app);
  const plan = await makePlan(app);
  const subscription = await makeSubscription(app, { plan_id: plan.id });
  const now = app.context.clock.now().toISOString();
  const record = async (from: number, to: number) => {
    const events = Array.from({ length: to - from }, (_, i) => ({
      ...{ key: keyOf(from + i), subscription_id: subscription.id, metric_id: metric.id },
      ...{ period_no: 1, at: now, received_at: now, arrival: from + i, quantity: "3" },
    }));
    const { repeated } = await db.one<{ repeated: string[] }>(sql`
      select record_usage(${project}, false, '{}', '{}', '{}', array[${metric.id}::uuid], '{0}', null,
                          ${JSON.stringify(events)}::json, false) as repeated`);
    return repeated.toSorted();
  };
  expect(await record(0, 3)).toEqual([]);
  expect(await record(2, 5)).toEqual([keyOf(2)]);
  expect(await record(3, 30)).toEqual([keyOf(3), keyOf(4)]);
  const days = await db.many(sql`
    select events, sum::text from usage_days where project_id = ${project}`);
  expect(days).toEqual([{ events: 30, sum: "90" }]);
});
