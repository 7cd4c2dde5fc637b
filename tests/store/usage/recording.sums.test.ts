// The sums that come along with events are added to the days, one by one and all at once, next to
// what is there: the days stay what the raw events give.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { ProjectId } from "../../../src/ids.ts";
import { type EventRow, record } from "../../../src/store/usage/recording.ts";
import { type App, startApp } from "../../support/app.ts";
import { eventRow } from "../../support/event-rows.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { makeMetric, makePlan, makeSubscription } from "../../support/records.ts";

const START = Date.parse("2026-01-14T20:00:00.000Z");
const HOUR_MS = 3_600_000;
const COMBINATIONS = [null, '["eu"]', '["us, \\"east\\""]'];

let app: App;
let subscription_id: string;
let metrics: { id: string; is_weighted: boolean }[];

beforeAll(async () => {
  app = await startApp({ at: "2026-01-15T12:00:00.000Z" });
  const plan = await makePlan(app, { amount_cents: 0 });
  subscription_id = (await makeSubscription(app, { plan_id: plan.id })).id;
  const weighted = { aggregation_type: "weighted_sum", weighted_by: "hour" };
  metrics = [
    { id: (await makeMetric(app)).id, is_weighted: false },
    { id: (await makeMetric(app, weighted)).id, is_weighted: true },
  ];
});

afterAll(() => app.close());

function eventOf(i: number): EventRow {
  const { id: metric_id, is_weighted } = metrics[i % 2] ?? { id: "", is_weighted: false };
  const at = new Date(START + ((i * 7) % 9) * HOUR_MS);
  return eventRow({
    subscription_id,
    metric_id,
    at,
    arrival: 1_000 - i,
    quantity: `${i % 5}.${i % 3}`,
    is_weighted,
    unbillable: i % 11 === 10 ? "late_unbilled" : null,
    combination: COMBINATIONS[i % 3] ?? null,
  });
}

// Of 60 events every day, metric and combination has several.
test.each([1, 8, 60, 5, 60])("%i more events", async (count) => {
  const events = Array.from({ length: count }, (_, i) => eventOf(i));
  const project = app.profile.project_id as ProjectId;
  const repeated = await app.context.db.tx((tx) => record(tx, project, events));
  expect(repeated.size).toBe(0);
  const broken = await checkInvariants(app.context.db);
  expect(broken.filter((rule) => rule.startsWith("daily sums"))).toEqual([]);
});
