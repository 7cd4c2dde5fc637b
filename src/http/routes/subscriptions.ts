// Subscriptions.

import Type from "typebox";
import { refuse } from "../../errors.ts";
import { moveSubscription, patchSubscription } from "../../operations/change-subscription.ts";
import { readUsage } from "../../operations/read-usage.ts";
import { startSubscription } from "../../operations/start-subscription.ts";
import { CustomerRef, OneOf, Page, PageQuery, Uuid, Wrapped } from "../../schema/common.ts";
import { SUBSCRIPTION_STATUSES } from "../../schema/enums.ts";
import {
  Subscription,
  SubscriptionCreate,
  SubscriptionPatch,
  SubscriptionUsage,
  Terminate,
} from "../../schema/subscriptions.ts";
import { matchesCustomer } from "../../store/customers.ts";
import * as subscriptions from "../../store/subscriptions.ts";
import { pageOf } from "../paging.ts";
import { point, type Route, read, write } from "../route.ts";
import { byCaller, subscriptionView } from "../views.ts";

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
  async handle({ tx, settings, actor, body, now }) {
    const started = await startSubscription(tx, settings, body, byCaller(actor), now);
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
    ...PageQuery,
    customer_id: Type.Optional(CustomerRef),
    plan_id: Type.Optional(Uuid),
    external_id: Type.Optional(Type.String({ maxLength: 255 })),
    status: Type.Optional(OneOf(SUBSCRIPTION_STATUSES)),
    billing_error: Type.Optional(OneOf(["0", "1"], "1: those whose period cannot be billed.")),
  }),
  reply: [200, Page("subscriptions", Subscription)],
  async handle({ db, project, query }) {
    const { customer_id, ...exact } = query;
    const filter = {
      ...exact,
      ...(customer_id !== undefined && { customer: matchesCustomer(project, customer_id) }),
    };
    const found = await subscriptions.list(db, project, filter, pageOf(query));
    const { rows, has_more, total_count } = found;
    return { subscriptions: rows.map(subscriptionView), has_more, total_count };
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
    const found = await subscriptions.get(db, project, params.id ?? "");
    if (found === undefined) throw refuse("not_found", "No subscription has this id.");
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
    return { usage: await db.snapshot((tx) => readUsage(tx, project, params.id ?? "", now)) };
  },
});

const terminate = write({
  method: "POST",
  path: "/v1/subscriptions/:id/terminate",
  once_by: "id",
  id: "terminateSubscription",
  tag,
  summary: "Terminate a subscription",
  description: "Bills the open period up to now, at once. Again: nothing happens.",
  scope: "write",
  project: "required",
  params,
  body: Terminate,
  body_optional: true,
  reply: [200, One],
  async handle({ tx, settings, actor, params, body, now }) {
    const wanted = { status: "terminated" as const, bill: body?.invoice !== "skip" };
    const moved = await moveSubscription(
      tx,
      settings,
      params.id ?? "",
      wanted,
      byCaller(actor),
      now,
    );
    return { subscription: subscriptionView(moved) };
  },
});

const suspend = write({
  method: "POST",
  path: "/v1/subscriptions/:id/suspend",
  once_by: "id",
  id: "suspendSubscription",
  errors: ["already_exists", "not_started", "plan_archived"],
  tag,
  summary: "Suspend a subscription",
  description: "Usage is still billed; whole suspended days are free of the base fee.",
  scope: "write",
  project: "required",
  params,
  reply: [200, One],
  async handle({ tx, settings, actor, params, now }) {
    const wanted = { status: "suspended" as const, bill: true };
    const moved = await moveSubscription(
      tx,
      settings,
      params.id ?? "",
      wanted,
      byCaller(actor),
      now,
    );
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
  async handle({ tx, settings, actor, params, body, now }) {
    const ref = params.id ?? "";
    const patched = await patchSubscription(tx, settings, ref, body, byCaller(actor), now);
    return { subscription: subscriptionView(patched) };
  },
});

export const subscriptionRoutes: Route[] = [create, list, get, usage, terminate, suspend, patch];
