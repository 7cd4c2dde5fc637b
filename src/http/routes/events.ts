// Usage events: the 200 is sent after the commit.

import Type from "typebox";
import type { Context } from "../../context.ts";
import { instant } from "../../domain/reported-at.ts";
import { notFound, Refusal, refuseField } from "../../errors.ts";
import { UsageMemory } from "../../operations/usage/memory.ts";
import {
  CursorPage,
  CursorQuery,
  OneOf,
  RefFilter,
  TimestampInput,
  Wrapped,
} from "../../schema/common.ts";
import {
  EventAccepted,
  EventBatch,
  EventBatchResult,
  UsageEvent,
  UsageEventInput,
} from "../../schema/events.ts";
import * as metrics from "../../store/catalog/metrics.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import * as usage from "../../store/usage/events.ts";
import { listBySubscription } from "../../store/usage/events-by-subscription.ts";
import type { Bounds } from "../admission/bound.ts";
import { recordBatch } from "../event-batch.ts";
import { EventQueue } from "../event-queue.ts";
import { Cursors, filtersOf, type PagingQuery } from "../request/paging.ts";
import { ownTransactions, point, type Route, read } from "../route.ts";

const tag = "Usage events";
const EVENT_BYTES_MAX = 64 * 1024;
const BATCH_BYTES_MAX = 8 * 1024 * 1024;

/** A function, because each server has a queue and a memory of its own. */
export function eventRoutes(context: Context, bounds: Bounds): Route[] {
  const memory = new UsageMemory();
  const queue = new EventQueue(context, memory, bounds);

  const post = ownTransactions({
    method: "POST",
    path: "/v1/events",
    once_by: "transaction_id",
    replays: "after",
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

function postBatch(memory: UsageMemory): Route {
  return ownTransactions({
    method: "POST",
    path: "/v1/events/batch",
    once_by: "events",
    replays: "after",
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
    apart: "events",
    reply: [200, EventBatchResult],
    async handle({ context, db, settings, body, now }) {
      const target = { db, memory, settings, rule: context.config };
      const outcomes = await recordBatch(target, body.events, now);
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

/** How many keys order the list; behind them its cursor has the subscription. */
const EVENT_KEYS = 2;

const list = read({
  method: "GET",
  path: "/v1/events",
  id: "listEvents",
  tag,
  summary: "List usage events",
  description:
    "Of one subscription, newest first; with state=unbillable all that are stored and never billed, with the reason. Of all subscriptions by subscription id, each newest first: by cursor alone, and a page may be shorter than its limit, or empty, while has_more is true.",
  scope: "read",
  project: "required",
  query: Type.Object({
    ...CursorQuery,
    subscription_id: RefFilter,
    code: Type.Optional(Type.String({ maxLength: 255 })),
    state: Type.Optional(OneOf(["billable", "unbillable"])),
    from: Type.Optional(TimestampInput),
    to: Type.Optional(TimestampInput),
  }),
  reply: [200, CursorPage("events", UsageEvent)],
  async handle({ context, db, project, query }) {
    const { subscription_id, code, state, from, to } = query;
    const isOfAll = subscription_id === undefined && state !== "unbillable";
    if (isOfAll) refuseUnknownPlaces(query);
    const cursors = new Cursors(context.secret_key, project, "events", filtersOf(query));
    const request = cursors.page(query);
    // A name may have come to mean another subscription: a list goes on with the one it began with.
    const named = isOfAll ? undefined : (request.after?.[EVENT_KEYS] ?? subscription_id);
    const subscription =
      named === undefined ? undefined : await subscriptions.get(db, project, named);
    const metric = code === undefined ? undefined : await metrics.getByCode(db, project, code);
    const unknown =
      (subscription_id !== undefined && !subscription) || (code !== undefined && !metric);
    if (unknown) return { events: [], cursor: null, has_more: false };
    const filter = {
      ...(metric && { metric_id: metric.id }),
      ...(state && { state }),
      ...(from && { from: instant(from, "from") }),
      ...(to && { to: instant(to, "to") }),
    };
    if (isOfAll) {
      const found = await listBySubscription(db, project, filter, request);
      return { events: found.rows, ...cursors.foot(found) };
    }
    const ofOne = { ...filter, ...(subscription && { subscription_id: subscription.id }) };
    const found = await usage.list(db, project, ofOne, request);
    const owner = subscription === undefined ? [] : [subscription.id];
    const position = found.position && [...found.position, ...owner];
    return { events: found.rows, ...cursors.foot({ ...found, position }) };
  },
});

/** Nobody knows how many rows lie before an offset, or in all, without reading them. */
function refuseUnknownPlaces({ offset, count }: PagingQuery): void {
  const names = { ...(offset !== undefined && { offset }), ...(count === "1" && { count }) };
  for (const name of Object.keys(names)) {
    const message = `${name} needs a subscription_id or state=unbillable: page by cursor.`;
    throw refuseField(name, "exclusive", message);
  }
}

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
    const event = await usage.getByTransaction(db, project, params.transaction_id);
    if (event === undefined) throw notFound("event", { by: "transaction_id" });
    return { event };
  },
});
