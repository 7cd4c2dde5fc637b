// What an advance of the clock answers is what happened, also where workers did a part of it.

import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "../../../src/store/db/sql.ts";
import { billingJob } from "../../../src/workers/billing.ts";
import { type App, startApp } from "../../support/app.ts";
import { sandbox } from "../../support/given.ts";

/** More than a worker or a step of the clock takes at once. */
const SUBSCRIPTIONS = 1_500;
const MONTHS = 6;

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

test("periods that a worker closes meanwhile are in its figures", async () => {
  const story = await sandbox(app, "2026-01-01");
  await story.subscribe({ amount_cents: 100 });
  await app.context.db.run(sql`
    insert into subscriptions
    select (jsonb_populate_record(s, jsonb_build_object('id', gen_random_uuid(),
                                                        'external_id', 'copy-' || n))).*
      from subscriptions s, generate_series(2, ${SUBSCRIPTIONS}) as n
     where s.project_id = ${story.project_id}`);
  const worker = billingJob(app.context);
  let by_worker = 0;
  // Until both have met: who is faster is left to chance.
  for (let month = 2; by_worker === 0 && month < 2 + MONTHS; month++) {
    let is_under_way = true;
    const advancing = story.travelTo(`2026-0${month}-01`).finally(() => {
      is_under_way = false;
    });
    while (is_under_way) by_worker += (await worker.tick()).done;
    const report = await advancing;
    const { periods_closed, invoices_created, events } = report;
    expect([periods_closed, invoices_created]).toEqual([SUBSCRIPTIONS, SUBSCRIPTIONS]);
    const renewed = events.filter(
      ({ event }: { event: string }) => event === "subscription.period_renewed",
    );
    expect(renewed).toHaveLength(SUBSCRIPTIONS);
  }
  expect(by_worker).toBeGreaterThan(0);
});

test("what was done before it is not, and what is asked for by callers neither", async () => {
  const story = await sandbox(app, "2026-01-01");
  const subscription = await story.subscribe({ amount_cents: 100 });
  await story.travelTo("2026-02-01");
  await story.terminate(subscription);
  const report = await story.travelTo("2026-03-01");
  expect(report).toMatchObject({ periods_closed: 0, invoices_created: 0 });
});
