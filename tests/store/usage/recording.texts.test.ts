// Texts and properties are stored to the letter, and a repeat is given what was stored first.

import { beforeAll, expect, test } from "vitest";
import type { ProjectId } from "../../../src/ids.ts";
import { sql } from "../../../src/store/db/sql.ts";
import { type EventRow, record } from "../../../src/store/usage/recording.ts";
import { type App, sharedApp } from "../../support/app.ts";
import { eventRow } from "../../support/event-rows.ts";
import { makeMetric, makePlan, makeSubscription } from "../../support/records.ts";

const AT = new Date("2026-01-15T12:00:00.007Z");
const TEXTS = [
  ...["", " ", "null", "NULL", "{}", "{a,b}", ",", "'", '"', '""', "\\", '\\"', "\\\\n"],
  ...["a\nb\tc\r", "\u0001\u001f\u007f", "é 漢 🙂", "a,b", "(1)", "$1", "%", "\u2028"],
];

let app: App;
let subscription_id: string;
let metric_id: string;

beforeAll(async () => {
  app = await sharedApp({ at: AT.toISOString() });
  metric_id = (await makeMetric(app)).id;
  const plan = await makePlan(app, { amount_cents: 0 });
  subscription_id = (await makeSubscription(app, { plan_id: plan.id })).id;
});

function eventOf(text: string, i: number): EventRow {
  return eventRow({
    subscription_id,
    metric_id,
    at: AT,
    arrival: i,
    transaction_id: text,
    value: text,
    properties: { [text]: [text, { deep: text }], n: 1.5, none: null },
    combination: JSON.stringify([text]),
  });
}

function recorded(events: readonly EventRow[]) {
  const project = app.profile.project_id as ProjectId;
  return app.context.db.tx((tx) => record(tx, project, events));
}

test.each([1, TEXTS.length])("%i at a time", async (size) => {
  const events = TEXTS.map(eventOf);
  for (let from = 0; from < events.length; from += size) {
    expect(await recorded(events.slice(from, from + size))).toEqual(new Map());
  }
  const rows = await app.context.db.many(sql`
    select key, transaction_id, subscription_id, metric_id, period_no, at, received_at, arrival,
           quantity, unique_value, value, properties, unbillable, combination
      from usage_events
     where project_id = ${app.profile.project_id} and key = any(${events.map(({ key }) => key)})
     order by arrival`);
  expect(rows).toEqual(events.map(({ is_weighted, ...row }) => row));

  const changed = events.map((event) => ({ ...event, value: "another", properties: null }));
  const before = await recorded([...changed, eventOf("new", 0)]);
  expect(before).toEqual(new Map(events.map((event) => [event.key, firstOf(event)])));
});

test.each([1, 20])("%i without properties: none are stored, not JSON's null", async (count) => {
  const events = Array.from({ length: count }, (_, i) => eventOf(`bare ${count} ${i}`, i));
  await recorded(events.map((event) => ({ ...event, properties: null })));
  const stored = await app.context.db.one(sql`
    select count(*) filter (where properties is null)::integer as without
      from usage_events
     where project_id = ${app.profile.project_id} and key = any(${events.map(({ key }) => key)})`);
  expect(stored).toEqual({ without: count });
});

function firstOf({ key, value, properties, at }: EventRow) {
  return { key, subscription_id, metric_id, at, value, properties };
}
