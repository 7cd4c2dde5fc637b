// The log of what happened.

import Type from "typebox";
import { instant } from "../../domain/reported-at.ts";
import { refuseField } from "../../errors.ts";
import { BillingEvent } from "../../schema/billing-events.ts";
import { CursorPage, CursorQuery, OneOf, TimestampInput, Uuid } from "../../schema/common.ts";
import * as billingEvents from "../../store/feeds/billing-events.ts";
import { Cursors, filtersOf } from "../request/paging.ts";
import { type Route, read } from "../route.ts";

const END_ONLY = "start=end goes with order=asc, and not with a cursor.";

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
    start: Type.Optional(
      OneOf(["end"], "end, with order=asc: no rows, and the cursor to read on from later."),
    ),
  }),
  reply: [200, CursorPage("billing_events", BillingEvent)],
  async handle({ context, db, project, query }) {
    const { cursor } = query;
    const { since, order, start, ...exact } = filtersOf(query);
    const ascending = order === "asc";
    const filters = { ...exact, since, order };
    const cursors = new Cursors(context.secret_key, project, "billing-events", filters);
    const filter = { ...exact, ...(since && { since: instant(since, "since") }) };
    const request = cursors.page(query);
    if (start === "end") {
      if (!ascending || cursor !== undefined) throw refuseField("start", "exclusive", END_ONLY);
      const newest = { ...request, limit: 1, offset: 0 };
      const found = await billingEvents.list(db, project, filter, newest, false);
      const end = { ...found, position: found.last, has_more: false };
      return { billing_events: [], ...cursors.foot(end) };
    }
    const found = await billingEvents.list(db, project, filter, request, ascending);
    const next = ascending ? (found.last ?? undefined) : found.position;
    return {
      billing_events: found.rows,
      ...cursors.foot(found),
      cursor: cursors.write(next) ?? (ascending ? (cursor ?? null) : null),
    };
  },
});

export const billingEventRoutes: Route[] = [list];
