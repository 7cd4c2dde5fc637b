// The log of what happened.

import Type from "typebox";
import { parseTimestamp } from "../../domain/dates.ts";
import { BillingEvent } from "../../schema/billing-events.ts";
import { CursorPage, CursorQuery, OneOf, TimestampInput, Uuid } from "../../schema/common.ts";
import * as billingEvents from "../../store/billing-events.ts";
import { Cursors } from "../paging.ts";
import { type Route, read } from "../route.ts";

const list = read({
  method: "GET",
  path: "/v1/billing-events",
  id: "listBillingEvents",
  tag: "Billing events",
  summary: "Read the log of domain events",
  description:
    "Newest first. With order=asc it is a feed to catch up by: rows come in the order in which they were committed, and the cursor is given on the last page too, to go on from later.",
  scope: "read",
  project: "required",
  query: Type.Object({
    ...CursorQuery,
    resource_type: Type.Optional(Type.String({ maxLength: 64 })),
    resource_id: Type.Optional(Uuid),
    event_type: Type.Optional(Type.String({ maxLength: 64 })),
    actor_token_id: Type.Optional(Uuid),
    since: Type.Optional(TimestampInput),
    order: Type.Optional(OneOf(["asc", "desc"])),
  }),
  reply: [200, CursorPage("billing_events", BillingEvent)],
  async handle({ context, db, project, query }) {
    const {
      limit: _limit,
      offset: _offset,
      all: _all,
      count: _count,
      cursor,
      since,
      order,
      ...exact
    } = query;
    const ascending = order === "asc";
    const cursors = new Cursors(context.secret_key, project, "billing-events", {
      ...exact,
      since,
      order,
    });
    const filter = { ...exact, ...(since && { since: parseTimestamp(since) as Date }) };
    const found = await billingEvents.list(db, project, filter, cursors.page(query), ascending);
    const next = ascending ? (found.last ?? undefined) : found.position;
    return {
      billing_events: found.rows,
      cursor: cursors.write(next) ?? (ascending ? (cursor ?? null) : null),
      has_more: found.has_more,
      total_count: found.total_count,
    };
  },
});

export const billingEventRoutes: Route[] = [list];
