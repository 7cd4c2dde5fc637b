// A process of the version before sends the properties of events as an array of JSON texts. It
// records as it did, while this version serves beside it.

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
  const now = app.context.clock.now();
  const record = async (from: number, to: number) => {
    const count = to - from;
    const column = (pick: (n: number) => string | number) =>
      `{${Array.from({ length: count }, (_, i) => pick(from + i)).join(",")}}`;
    const at = column(() => now.getTime());
    const [ones, none] = [column(() => 1), "{}"];
    const properties = column((n) => (n % 2 === 0 ? JSON.stringify(`{"n":"a\\"${n}"}`) : "null"));
    const one = (value: string | number) => `{${value}}`;
    const { repeated } = await db.one<{ repeated: { key: string }[] }>(sql`
      select record_usage(${project}, false, '{}', array[${subscription.id}::uuid], '{0}',
                          array[${metric.id}::uuid], '{0}', null, ${column(keyOf)}, ${none},
                          ${ones}, ${ones}, ${ones}, ${at}, ${at}, ${column((n) => n)},
                          ${column(() => 3)}, ${none}, ${none}, ${properties}, ${none}, ${none},
                          ${count}::integer, '{1}', '{1}', '{1}', ${none}, ${one(count)},
                          ${one(3 * count)}, '{3}', '{3}', ${one(now.getTime())}, ${one(to - 1)},
                          ${none}) as repeated`);
    return repeated.map(({ key }) => key).toSorted();
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
  const stored = await db.many<{ arrival: number; n: string | null }>(sql`
    select arrival, properties->>'n' as n
      from usage_events
     where project_id = ${project} and subscription_id = ${subscription.id}
     order by arrival`);
  const expected = (arrival: number) => ({ arrival, n: arrival % 2 === 0 ? `a"${arrival}` : null });
  expect(stored).toEqual(Array.from({ length: 50 }, (_, n) => expected(n)));
});
