// Subscriptions.

import Type from "typebox";
import { notFound } from "../../errors.ts";
import { catchUp } from "../../operations/clock/catch-up.ts";
import { readUsage } from "../../operations/closing/read-usage.ts";
import { moveSubscription, patchSubscription } from "../../operations/subscriptions/change.ts";
import { startSubscription } from "../../operations/subscriptions/start.ts";
import { CursorPage, CursorQuery, OneOf, RecordRef, Uuid, Wrapped } from "../../schema/common.ts";
import { SUBSCRIPTION_STATUSES } from "../../schema/enums.ts";
import {
  Subscription,
  SubscriptionCreate,
  SubscriptionPatch,
  SubscriptionUsage,
  Terminate,
} from "../../schema/subscriptions.ts";
import { ownChargesName } from "../../store/catalog/price-overrides.ts";
import { matchesCustomer } from "../../store/customers/customers.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import { Cursors, filtersOf } from "../request/paging.ts";
import { point, type Route, read, write } from "../route.ts";
import { subscriptionView } from "../views.ts";

const tag = "Subscriptions";
const params = { id: "UUID, or ext:<external_id>." };
const One = Wrapped("subscription", Subscription);

const create = write({
  method: "POST",
  path: "/v1/subscriptions",
  once_by: "external_id",
  id: "createSubscription",
  errors: ["already_exists", "currency_mismatch", "plan_archived"],
  tag,
  summary: "Start a subscription",
  description:
    "Active from now on, or pending until starts_at. What is due at the start is invoiced then, or at the end of the trial.",
  scope: "write",
  project: "required",
  body: SubscriptionCreate,
  reply: [201, One],
  example: {
    external_id: "acme",
    customer_id: "0197a2b4-7c1e-7d3a-9f52-3b8e6a1c4d70",
    plan_id: "0197a2b4-7c1e-7d3a-9f52-3b8e6a1c4d70",
    billing_time: "anniversary",
    anchor_date: "2026-01-31",
    starts_at: "2026-01-17T14:00:00.000Z",
    trial_days: 14,
    properties: { seats: 3 },
    overrides: { amount_cents: 1900 },
  },
  async handle({ tx, settings, by, body, now }) {
    const started = await startSubscription(tx, settings, body, by, now);
    return { subscription: subscriptionView(started) };
  },
});

const list = read({
  method: "GET",
  path: "/v1/subscriptions",
  id: "listSubscriptions",
  tag,
  summary: "List subscriptions",
  description: "Newest first, those that have ended too.",
  scope: "read",
  project: "required",
  query: Type.Object({
    ...CursorQuery,
    customer_id: Type.Optional(RecordRef),
    plan_id: Type.Optional(Uuid),
    external_id: Type.Optional(Type.String({ maxLength: 255 })),
    status: Type.Optional(OneOf(SUBSCRIPTION_STATUSES)),
    billing_error: Type.Optional(OneOf(["0", "1"], "1: those whose period cannot be billed.")),
    catalog_item_code: Type.Optional(
      Type.String({ maxLength: 64, description: "Live ones whose own charges name this item." }),
    ),
  }),
  reply: [200, CursorPage("subscriptions", Subscription)],
  async handle({ context, db, project, query }) {
    const { customer_id, catalog_item_code: code, ...exact } = filtersOf(query);
    const cursors = new Cursors(context.secret_key, project, "subscriptions", filtersOf(query));
    const filter = {
      ...exact,
      ...(customer_id !== undefined && { customer: matchesCustomer(project, customer_id) }),
      ...(code !== undefined && { priced_by: ownChargesName(project, code) }),
    };
    const found = await subscriptions.list(db, project, filter, cursors.page(query));
    return { subscriptions: found.rows.map(subscriptionView), ...cursors.foot(found) };
  },
});

const get = point({
  method: "GET",
  path: "/v1/subscriptions/:id",
  id: "getSubscription",
  tag,
  summary: "Get a subscription",
  description: "By its id or by your own.",
  scope: "read",
  project: "required",
  params,
  reply: [200, One],
  async handle({ db, project, params }) {
    const found = await subscriptions.get(db, project, params.id);
    if (found === undefined) throw notFound("subscription");
    return { subscription: subscriptionView(found) };
  },
});

const usage = read({
  method: "GET",
  path: "/v1/subscriptions/:id/usage",
  id: "getSubscriptionUsage",
  errors: ["limit_exceeded"],
  tag,
  summary: "Usage and amounts of the open period so far",
  description: "From the very numbers that will be billed.",
  scope: "read",
  project: "required",
  params,
  reply: [200, Wrapped("usage", SubscriptionUsage)],
  async handle({ db, project, params, now }) {
    return { usage: await db.snapshot((tx) => readUsage(tx, project, params.id, now)) };
  },
});

const terminate = write({
  method: "POST",
  path: "/v1/subscriptions/:id/terminate",
  once_by: "id",
  id: "terminateSubscription",
  errors: ["too_far_behind", "unbilled_periods"],
  tag,
  summary: "Terminate a subscription",
  description: "Bills the open period up to now, at once. Again: nothing happens.",
  scope: "write",
  project: "required",
  params,
  body: Terminate,
  body_optional: true,
  reply: [200, One],
  async handle({ tx, settings, by, params, body, now }) {
    const { invoice, unbilled } = body ?? {};
    const [bill, drops] = [invoice !== "skip", unbilled === "drop"];
    const wanted = { status: "terminated" as const, bill, drops };
    const moved = await moveSubscription(tx, settings, params.id, wanted, by, now);
    return { subscription: subscriptionView(moved) };
  },
});

const catchUpRoute = write({
  method: "POST",
  path: "/v1/subscriptions/:id/catch-up",
  once_by: "id",
  id: "catchUpSubscription",
  errors: ["subscription_ended"],
  tag,
  summary: "Have a subscription that is too far behind be billed",
  description:
    "Of one with more than 24 ended periods, as after years without the service or with a wrong clock, none is billed until this is asked for: its billing_error begins with too_far_behind. All that have ended by now are then billed, one after the other, within seconds. Where nothing waits, nothing happens.",
  scope: "write",
  project: "required",
  params,
  reply: [202, One],
  async handle({ tx, settings, by, params, now }) {
    const found = await catchUp(tx, settings, params.id, by, now);
    return { subscription: subscriptionView(found) };
  },
});

const suspend = write({
  method: "POST",
  path: "/v1/subscriptions/:id/suspend",
  once_by: "id",
  id: "suspendSubscription",
  errors: ["not_started"],
  tag,
  summary: "Suspend a subscription",
  description:
    "Usage is still billed; whole suspended days are free of the base fee. One that has ended stays ended, and nothing is billed.",
  scope: "write",
  project: "required",
  params,
  reply: [200, One],
  async handle({ tx, settings, by, params, now }) {
    const wanted = { status: "suspended" as const, bill: true };
    const moved = await moveSubscription(tx, settings, params.id, wanted, by, now);
    return { subscription: subscriptionView(moved) };
  },
});

const patch = write({
  method: "PATCH",
  path: "/v1/subscriptions/:id",
  id: "updateSubscription",
  errors: [
    "already_exists",
    "currency_mismatch",
    "limit_exceeded",
    "not_started",
    "plan_archived",
    "subscription_ended",
    "unbilled_periods",
  ],
  tag,
  summary: "Change properties, plan, prices, trial, end or status",
  description:
    "Properties are merged into the existing ones. plan_id changes the plan now, or with change_at period_end from the next period on.",
  scope: "write",
  project: "required",
  params,
  body: SubscriptionPatch,
  reply: [200, One],
  async handle({ tx, settings, by, params, body, now }) {
    const ref = params.id;
    const patched = await patchSubscription(tx, settings, ref, body, by, now);
    return { subscription: subscriptionView(patched) };
  },
});

export const subscriptionRoutes: Route[] = [
  create,
  list,
  get,
  usage,
  terminate,
  suspend,
  catchUpRoute,
  patch,
];
