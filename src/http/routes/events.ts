// Usage events: the 200 is sent after the commit.

import Type from "typebox";
import { monotonicMs, nextArrivals } from "../../clock.ts";
import type { Context } from "../../context.ts";
import { parseTimestamp } from "../../domain/dates.ts";
import { Refusal, refuse, refuseField } from "../../errors.ts";
import { type Arrived, type Outcome, recordUsage } from "../../operations/record-usage.ts";
import { UsageMemory } from "../../operations/usage-memory.ts";
import { CursorPage, CursorQuery, OneOf, TimestampInput, Wrapped } from "../../schema/common.ts";
import {
  EventAccepted,
  EventBatch,
  EventBatchResult,
  UsageEvent,
  UsageEventInput,
} from "../../schema/events.ts";
import type { Db } from "../../store/db.ts";
import * as metrics from "../../store/metrics.ts";
import * as subscriptions from "../../store/subscriptions.ts";
import type { ProjectSettings } from "../../store/tenants.ts";
import * as usage from "../../store/usage.ts";
import { EventQueue } from "../event-queue.ts";
import type { Bounds } from "../limits/bound.ts";
import { Cursors } from "../paging.ts";
import { own, point, type Route, read } from "../route.ts";
import { checker } from "../validation.ts";
import { within } from "../within.ts";

const tag = "Usage events";
const EVENT_BYTES_MAX = 64 * 1024;
const BATCH_BYTES_MAX = 8 * 1024 * 1024;
/**
 * Events per transaction of a batch: larger ones are hardly faster, hold locks for longer, and keep
 * other callers waiting while they are worked out.
 */
const CHUNK = 1_000;
/** A batch is answered by then, as an event is, also when each of its transactions waits. */
const ANSWER_MS = 4_000;
const LATE = refuse(
  "unavailable",
  "The batch could not be stored in time. Send it again: what is stored already counts once.",
  { headers: { "retry-after": "1" } },
);

/** A function, because each server has a queue and a memory of its own. */
export function eventRoutes(context: Context, bounds: Bounds): Route[] {
  const memory = new UsageMemory();
  const queue = new EventQueue(context.db, context.placement, memory, bounds);

  const post = own({
    method: "POST",
    path: "/v1/events",
    once_by: "transaction_id",
    id: "sendEvent",
    errors: ["limit_exceeded"],
    tag,
    summary: "Send a usage event",
    description:
      "Answered after the event is stored for ever. A transaction_id that was seen before is accepted and not counted again.",
    scope: "events",
    project: "required",
    body: UsageEventInput,
    body_max: EVENT_BYTES_MAX,
    reply: [200, EventAccepted],
    example: {
      transaction_id: "evt-1",
      subscription_id: "ext:acme-pro",
      code: "api_calls",
      value: "400",
      timestamp: "2026-01-20T12:00:00.000Z",
      properties: {},
    },
    handle({ settings, body, now }) {
      return queue.push(settings, body, now);
    },
  });

  return [post, postBatch(memory), list, get];
}

const checkEvent = checker(UsageEventInput, "body");

function postBatch(memory: UsageMemory): Route {
  return own({
    method: "POST",
    path: "/v1/events/batch",
    once_by: "events",
    id: "sendEventBatch",
    tag,
    summary: "Send up to 10,000 usage events",
    description:
      "Answers for each event by its index; good ones are stored whatever the others are.",
    scope: "events",
    project: "required",
    body: EventBatch,
    body_fields: Type.Object({ events: Type.Array(UsageEventInput) }),
    body_max: BATCH_BYTES_MAX,
    reply: [200, EventBatchResult],
    async handle({ db, settings, body, now }) {
      // When the time is over, the transaction under way goes on and is the last.
      const recording = recordBatch(db, memory, settings, body.events, now);
      const outcomes = await within(ANSWER_MS, recording, LATE);
      const results = outcomes.map((outcome, index) =>
        outcome instanceof Refusal
          ? {
              index,
              accepted: false,
              duplicate: false,
              error: { code: outcome.code, message: outcome.message, retryable: outcome.retryable },
            }
          : { index, ...outcome },
      );
      const refused = outcomes.filter((outcome) => outcome instanceof Refusal).length;
      const duplicates = results.filter((result) => result.duplicate).length;
      return { accepted: results.length - refused - duplicates, duplicates, refused, results };
    },
  });
}

async function recordBatch(
  db: Db,
  memory: UsageMemory,
  settings: ProjectSettings,
  events: readonly unknown[],
  received_at: Date,
): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  const until_ms = monotonicMs() + ANSWER_MS;
  for (let start = 0; start < events.length; start += CHUNK) {
    if (monotonicMs() >= until_ms) throw LATE;
    const chunk = events.slice(start, start + CHUNK);
    const first = nextArrivals(chunk.length);
    const checked = chunk.map((event, i): Arrived | Refusal => {
      try {
        checkEvent(event);
        return { input: event as UsageEventInput, received_at, arrival: first + i };
      } catch (error) {
        if (error instanceof Refusal) return error;
        throw error;
      }
    });
    const good = checked.filter((event): event is Arrived => !(event instanceof Refusal));
    const recorded = good.length === 0 ? [] : await recordUsage(db, memory, settings, good);
    let next = 0;
    for (const event of checked) {
      const outcome = event instanceof Refusal ? event : recorded[next++];
      outcomes.push(outcome ?? refuse("internal_error", "The event has no outcome."));
    }
  }
  return outcomes;
}

const list = read({
  method: "GET",
  path: "/v1/events",
  id: "listEvents",
  tag,
  summary: "List usage events",
  description:
    "Of one subscription, newest first; or with state=unbillable all that are stored and never billed, with the reason.",
  scope: "read",
  project: "required",
  query: Type.Object({
    ...CursorQuery,
    subscription_id: Type.Optional(
      Type.String({ maxLength: 260, description: "UUID, or ext:<external_id>." }),
    ),
    code: Type.Optional(Type.String({ maxLength: 255 })),
    state: Type.Optional(OneOf(["billable", "unbillable"])),
    from: Type.Optional(TimestampInput),
    to: Type.Optional(TimestampInput),
  }),
  reply: [200, CursorPage("events", UsageEvent)],
  async handle({ context, db, project, query }) {
    const { subscription_id, code, state, from, to } = query;
    if (subscription_id === undefined && state !== "unbillable") {
      throw refuseField(
        "subscription_id",
        "required",
        "Name a subscription_id, or ask for state=unbillable.",
      );
    }
    const subscription =
      subscription_id === undefined
        ? undefined
        : await subscriptions.get(db, project, subscription_id);
    const metric = code === undefined ? undefined : await metrics.getByCode(db, project, code);
    const unknown =
      (subscription_id !== undefined && !subscription) || (code !== undefined && !metric);
    if (unknown) return { events: [], cursor: null, has_more: false };
    const cursors = new Cursors(context.secret_key, project, "events", {
      subscription_id,
      code,
      state,
      from,
      to,
    });
    const found = await usage.list(
      db,
      project,
      {
        ...(subscription && { subscription_id: subscription.id }),
        ...(metric && { metric_id: metric.id }),
        ...(state && { state }),
        ...(from && { from: parseTimestamp(from) as Date }),
        ...(to && { to: parseTimestamp(to) as Date }),
      },
      cursors.page(query),
    );
    const { rows, has_more, total_count, position } = found;
    return { events: rows, cursor: cursors.write(position), has_more, total_count };
  },
});

const get = point({
  method: "GET",
  path: "/v1/events/:transaction_id",
  id: "getEvent",
  tag,
  summary: "Get a usage event",
  description: "By the transaction_id it was sent with: whether it is stored, and how it counts.",
  scope: "read",
  project: "required",
  params: { transaction_id: "The event's transaction_id." },
  reply: [200, Wrapped("event", UsageEvent)],
  async handle({ db, project, params }) {
    const event = await usage.getByTransaction(db, project, params.transaction_id ?? "");
    if (event === undefined) throw refuse("not_found", "No event has this transaction_id.");
    return { event };
  },
});
