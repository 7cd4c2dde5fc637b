// Coupons, and their application to customers.

import Type from "typebox";
import { notFound } from "../../errors.ts";
import {
  applyCoupon,
  archiveCoupon,
  endApplied,
  upsertCoupon,
  withUses,
} from "../../operations/subscriptions/change-coupon.ts";
import { CursorPage, CursorQuery, OneOf, RefFilter, Wrapped } from "../../schema/common.ts";
import {
  AppliedCoupon,
  COUPON_STATUSES,
  Coupon,
  CouponApply,
  CouponUpsert,
} from "../../schema/coupons.ts";
import * as coupons from "../../store/catalog/coupons.ts";
import { matchesCustomer } from "../../store/customers/customers.ts";
import { Cursors } from "../request/paging.ts";
import { point, Reply, type Route, read, write } from "../route.ts";
import { pathId } from "../views.ts";
import { codedRoutes } from "./coded-routes.ts";

const tag = "Coupons";
const One = Wrapped("coupon", Coupon);
const Applied = Wrapped("applied_coupon", AppliedCoupon);

const upsert = write({
  method: "POST",
  path: "/v1/coupons",
  once_by: "code",
  id: "upsertCoupon",
  tag,
  summary: "Create or update the coupon with this code",
  description: "201 created, 200 updated. Changes count for later applications.",
  scope: "write",
  project: "required",
  body: CouponUpsert,
  reply: [201, One],
  also: { 200: One },
  example: { code: "welcome", name: "Welcome", percent: "10", times: 3, plan_codes: ["pro"] },
  async handle({ tx, project, by, body, now }) {
    const { coupon, created } = await upsertCoupon(tx, project, body, by, now);
    return new Reply(created ? 201 : 200, { coupon });
  },
});

const apply = write({
  method: "POST",
  path: "/v1/coupons/:id/apply",
  id: "applyCoupon",
  errors: ["already_exists", "coupon_expired", "coupon_exhausted", "limit_exceeded"],
  tag,
  summary: "Apply a coupon to a customer",
  description: "With the terms of now; with subscription_id only for its invoices.",
  scope: "write",
  project: "required",
  params: { id: "UUID of the coupon." },
  body: CouponApply,
  reply: [201, Applied],
  example: { customer_id: "ext:acme" },
  async handle({ tx, project, by, params, body, now }) {
    const id = pathId(params.id);
    return { applied_coupon: await applyCoupon(tx, project, id, body, by, now) };
  },
});

const listApplied = read({
  method: "GET",
  path: "/v1/applied-coupons",
  id: "listAppliedCoupons",
  tag,
  summary: "List applied coupons",
  description: "Newest first, those that have ended too.",
  scope: "read",
  project: "required",
  query: Type.Object({
    ...CursorQuery,
    customer_id: RefFilter,
    status: Type.Optional(OneOf(COUPON_STATUSES)),
  }),
  reply: [200, CursorPage("applied_coupons", AppliedCoupon)],
  async handle({ context, db, project, query }) {
    const { customer_id, status } = query;
    const about = { customer_id, status };
    const cursors = new Cursors(context.secret_key, project, "applied_coupons", about);
    const filter = {
      ...(customer_id !== undefined && { customer: matchesCustomer(project, customer_id) }),
      status,
    };
    const found = await coupons.listApplied(db, project, filter, cursors.page(query));
    const shown = await withUses(db, project, found.rows);
    return { applied_coupons: shown, ...cursors.foot(found) };
  },
});

const getApplied = point({
  method: "GET",
  path: "/v1/applied-coupons/:id",
  id: "getAppliedCoupon",
  tag,
  summary: "Get an applied coupon",
  description: "With what it has taken so far.",
  scope: "read",
  project: "required",
  params: { id: "UUID of the applied coupon." },
  reply: [200, Applied],
  async handle({ db, project, params }) {
    const found = await coupons.getApplied(db, project, pathId(params.id));
    if (found === undefined) throw notFound("applied coupon");
    const [applied_coupon] = await withUses(db, project, [found]);
    if (applied_coupon === undefined) throw new Error("One row in, one out.");
    return { applied_coupon };
  },
});

const end = write({
  method: "DELETE",
  path: "/v1/applied-coupons/:id",
  id: "endAppliedCoupon",
  tag,
  summary: "End an applied coupon",
  description: "For good: it then only takes part in corrections below 0.",
  scope: "write",
  project: "required",
  params: { id: "UUID of the applied coupon." },
  reply: [204, null],
  async handle({ tx, project, by, params, now }) {
    await endApplied(tx, project, pathId(params.id), by, now);
  },
});

export const couponRoutes: Route[] = [
  upsert,
  ...codedRoutes({
    tag,
    path: "/v1/coupons",
    one: "a coupon",
    many: "coupons",
    key: "coupon",
    keys: "coupons",
    schema: Coupon,
    store: coupons,
    ids: { list: "listCoupons", get: "getCoupon", archive: "archiveCoupon" },
    archive: {
      description: "It can no longer be applied; where it runs it goes on.",
      act: archiveCoupon,
    },
  }),
  apply,
  listApplied,
  getApplied,
  end,
];
