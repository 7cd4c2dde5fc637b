// Recording from memory: one statement that stores the events only when what they count on is as it
// was, and else stores nothing.

import { randomUUID } from "node:crypto";
import { beforeAll, expect, test } from "vitest";
import type { ProjectId } from "../../../src/ids.ts";
import { sql } from "../../../src/store/db/sql.ts";
import {
  type EventRow,
  type Expected,
  recordIfUnchanged,
} from "../../../src/store/usage/recording.ts";
import { type App, sharedApp } from "../../support/app.ts";
import { eventRow } from "../../support/event-rows.ts";
import { makeMetric, makePlan, makeSubscription } from "../../support/records.ts";

const AT = new Date("2026-01-15T12:00:00.000Z");
/** More than the function writes one by one. */
const MANY = 12;

let app: App;
let project: ProjectId;
let metric_id: string;
let plan_id: string;
let subscription_ids: string[] = [];

beforeAll(async () => {
  app = await sharedApp({ at: AT.toISOString() });
  project = app.profile.project_id as ProjectId;
  metric_id = (await makeMetric(app, { field_name: "n" })).id;
  plan_id = (await makePlan(app, { amount_cents: 0 })).id;
  for (let n = 0; n < MANY; n++) {
    subscription_ids.push((await makeSubscription(app, { plan_id })).id);
  }
  // Neither in the order of the table nor in its reverse.
  subscription_ids = subscription_ids.map((_, n) => subscription_ids[(n * 5) % MANY] ?? "");
});

function eventOf(subscription_id: string): EventRow {
  return eventRow({ subscription_id, metric_id, at: AT, quantity: "3" });
}

function row(id: string, version: string) {
  return { id, version };
}

function expecting(ids: readonly string[], changed: Partial<Expected> = {}): Expected {
  return {
    locks: [1],
    subscriptions: ids.map((id) => row(id, "0")),
    metrics: [row(metric_id, "0")],
    closing_until: null,
    ...changed,
  };
}

/** How many were stored; undefined: it was refused, and the table is as before. */
async function stored(ids: readonly string[], expected: Expected): Promise<number | undefined> {
  const count = () =>
    app.context.db.one<{ events: number; counted: number }>(sql`
      select (select count(*) from usage_events where project_id = ${project}) as events,
             coalesce((select sum(events)::bigint
                         from usage_days
                        where project_id = ${project}), 0) as counted`);
  const before = await count();
  const repeated = await recordIfUnchanged(app.context.db, project, ids.map(eventOf), expected);
  const after = await count();
  const stored = after.events - before.events;
  expect(after.counted - before.counted).toBe(stored);
  expect(repeated?.size ?? 0).toBe(0);
  if (repeated === undefined) expect(stored).toBe(0);
  return repeated && stored;
}

test.each([1, MANY])("%i of them are stored when nothing has changed", async (count) => {
  const ids = subscription_ids.slice(0, count);
  expect(await stored(ids, expecting(ids))).toBe(count);
});

test.each([1, MANY])("none of %i is when one thing has changed", async (count) => {
  const ids = subscription_ids.slice(0, count);
  const [first = "", ...others] = ids;
  const unchanged = others.map((id) => row(id, "0"));
  const changes: Partial<Expected>[] = [
    { subscriptions: [row(first, "1"), ...unchanged] },
    { subscriptions: [row(first, "0"), row(randomUUID(), "0"), ...unchanged] },
    { metrics: [row(metric_id, "1")] },
    { metrics: [row(metric_id, "0"), row(randomUUID(), "0")] },
    { closing_until: AT },
  ];
  for (const changed of changes) expect(await stored(ids, expecting(ids, changed))).toBeUndefined();
});

test("versions that were exchanged are a change", async () => {
  const first: string = (await makeSubscription(app, { plan_id })).id;
  const second: string = (await makeSubscription(app, { plan_id })).id;
  const ids = [first, second];
  await app.context.db.run(sql`
    update subscriptions set updated_at = updated_at where project_id = ${project} and id = ${second}`);
  const right = { subscriptions: [row(first, "0"), row(second, "1")] };
  const wrong = { subscriptions: [row(first, "1"), row(second, "0")] };
  expect(await stored(ids, expecting(ids, wrong))).toBeUndefined();
  expect(await stored(ids, expecting(ids, right))).toBe(2);
});
