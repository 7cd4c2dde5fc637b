// Makes and changes coupons, and applies them to customers.

import { changedFields } from "../../domain/changed-fields.ts";
import { checkCouponTerms } from "../../domain/coupon-terms.ts";
import { type AppliedCoupon as Applied, isPot } from "../../domain/coupons.ts";
import { instant } from "../../domain/reported-at.ts";
import { notFound, refuse } from "../../errors.ts";
import { newId, type ProjectId } from "../../ids.ts";
import type { AppliedCoupon, Coupon, CouponUpsert } from "../../schema/coupons.ts";
import * as coupons from "../../store/catalog/coupons.ts";
import * as metrics from "../../store/catalog/metrics.ts";
import * as plans from "../../store/catalog/plans.ts";
import * as customers from "../../store/customers/customers.ts";
import type { Queryable, Tx } from "../../store/db/db.ts";
import * as accounts from "../../store/money/accounts.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import { type By, emit, updated } from "../emit.ts";

const RUNNING_MAX = 20;

export async function upsertCoupon(
  tx: Tx,
  project: ProjectId,
  input: CouponUpsert,
  by: By,
  now: Date,
): Promise<{ coupon: Coupon; created: boolean }> {
  checkCouponTerms(input);
  await refuseUnknown(tx, project, input);
  const terms: coupons.CouponTerms = {
    code: input.code,
    name: input.name,
    percent: input.percent ?? null,
    amount_cents: input.amount_cents ?? null,
    currency: input.currency ?? null,
    times: input.times === undefined ? 1 : input.times,
    plan_codes: input.plan_codes ?? null,
    metric_codes: input.metric_codes ?? null,
    redeem_by: instant(input.redeem_by, "redeem_by"),
    max_redemptions: input.max_redemptions ?? null,
  };
  const before = await coupons.lockByCode(tx, project, input.code);
  const { created, ...coupon } = await coupons.upsert(tx, project, terms, now);
  const { id, code } = coupon;
  // A coupon that is neither new nor found before was made a moment ago by somebody else.
  const changed = changedFields<object>(before ?? {}, coupon, [
    ...Object.keys(terms),
    "archived_at",
  ]);
  const facts = created
    ? [{ type: "coupon.created" as const, resource_id: id, payload: { code } }]
    : updated("coupon.updated", id, changed, { code });
  await emit(tx, project, facts, by, now);
  return { coupon, created };
}

async function refuseUnknown(tx: Tx, project: ProjectId, input: CouponUpsert): Promise<void> {
  for (const code of input.plan_codes ?? []) {
    if ((await plans.getByCode(tx, project, code))?.archived_at !== null) {
      throw refuse("not_found", `plan_codes: no live plan has the code ${code}.`);
    }
  }
  for (const code of input.metric_codes ?? []) {
    if ((await metrics.getByCode(tx, project, code))?.archived_at !== null) {
      throw refuse("not_found", `metric_codes: no live metric has the code ${code}.`);
    }
  }
}

export async function archiveCoupon(tx: Tx, project: ProjectId, id: string, by: By, now: Date) {
  const coupon = await coupons.lock(tx, project, id);
  if (coupon === undefined) throw notFound("coupon");
  if (coupon.archived_at !== null) return;
  await coupons.archive(tx, project, id, now);
  const payload = { code: coupon.code };
  await emit(tx, project, [{ type: "coupon.archived", resource_id: id, payload }], by, now);
}

/** Applies the present terms of a coupon; later changes of it count for later applications. */
export async function applyCoupon(
  tx: Tx,
  project: ProjectId,
  coupon_id: string,
  input: { readonly customer_id: string; readonly subscription_id?: string | null },
  by: By,
  now: Date,
): Promise<AppliedCoupon> {
  const coupon = await coupons.lock(tx, project, coupon_id);
  if (coupon === undefined) throw notFound("coupon");
  const customer = await customers.get(tx, project, input.customer_id);
  if (customer === undefined) throw notFound("customer", { field: "customer_id" });
  const subscription_id = await ownSubscription(tx, project, customer.id, input.subscription_id);
  const { redeem_by, archived_at, max_redemptions, redemptions } = coupon;
  if (archived_at !== null || (redeem_by !== null && redeem_by <= now)) {
    throw refuse("coupon_expired", "The coupon can no longer be applied.");
  }
  await accounts.open(tx, project, customer.id);
  const running = (await listShown(tx, project, [customer.id])).filter(
    ({ status }) => status === "running",
  );
  const twin = running.find(
    (one) => one.coupon_id === coupon.id && one.subscription_id === subscription_id,
  );
  if (twin !== undefined) {
    throw refuse("already_exists", "The same coupon is running there.", {
      details: [{ field: "coupon_id", code: "taken", existing_id: twin.id }],
    });
  }
  if (max_redemptions !== null && redemptions >= max_redemptions) {
    throw refuse("coupon_exhausted", "The coupon has been applied as often as it may be.");
  }
  if (running.length >= RUNNING_MAX) {
    throw refuse("limit_exceeded", `A customer may have ${RUNNING_MAX} coupons running.`);
  }
  const { code, name } = coupon;
  const applied: coupons.AppliedRow = {
    id: newId(),
    coupon_id: coupon.id,
    customer_id: customer.id,
    subscription_id,
    code,
    name,
    ...takingOf(coupon),
    applied_at: now,
    ended_at: null,
  };
  await coupons.insertApplied(tx, project, applied);
  await coupons.countRedemption(tx, project, coupon.id);
  const payload = { code, customer_id: customer.id, subscription_id };
  await emit(tx, project, [{ type: "coupon.applied", resource_id: applied.id, payload }], by, now);
  return shownApplied(applied, []);
}

async function ownSubscription(
  tx: Tx,
  project: ProjectId,
  customer_id: string,
  ref: string | null | undefined,
): Promise<string | null> {
  if (ref === null || ref === undefined) return null;
  const found = await subscriptions.get(tx, project, ref);
  if (found === undefined || found.customer_id !== customer_id) {
    throw refuse("not_found", "subscription_id: the customer has no such subscription.");
  }
  return found.id;
}

/** Ends it for good: from then on it only takes part in corrections below 0. */
export async function endApplied(tx: Tx, project: ProjectId, id: string, by: By, now: Date) {
  const found = await coupons.getApplied(tx, project, id);
  if (found === undefined) throw notFound("applied coupon");
  if (found.ended_at !== null) return;
  await accounts.lock(tx, project, [found.customer_id]);
  // Another call may have ended it meanwhile.
  if (!(await coupons.end(tx, project, id, now))) return;
  const { code, customer_id } = found;
  const payload = { code, customer_id };
  await emit(tx, project, [{ type: "coupon.ended", resource_id: id, payload }], by, now);
}

export async function listShown(
  db: Queryable,
  project: ProjectId,
  customer_ids: readonly string[],
): Promise<AppliedCoupon[]> {
  return withUses(db, project, await coupons.listAppliedTo(db, project, customer_ids));
}

export async function withUses(
  db: Queryable,
  project: ProjectId,
  rows: readonly coupons.AppliedRow[],
): Promise<AppliedCoupon[]> {
  if (rows.length === 0) return [];
  const ids = rows.map(({ id }) => id);
  const uses = await coupons.listUses(db, project, ids);
  return rows.map((row) =>
    shownApplied(
      row,
      uses.filter((use) => use.applied_coupon_id === row.id),
    ),
  );
}

type Taking = Pick<
  coupons.AppliedRow,
  "percent" | "amount_cents" | "currency" | "times" | "plan_codes" | "metric_codes"
>;

/** What a coupon takes, how often and of what. */
function takingOf(coupon: Taking): Taking {
  const { percent, amount_cents, currency, times, plan_codes, metric_codes } = coupon;
  return { percent, amount_cents, currency, times, plan_codes, metric_codes };
}

function shownApplied(row: coupons.AppliedRow, uses: readonly coupons.Use[]): AppliedCoupon {
  const used_cents = uses.reduce((sum, { cents }) => sum + cents, 0);
  const made = uses.filter(({ use_cents }) => use_cents > 0).length;
  const pot = isPot(row as Pick<Applied, "percent" | "times">);
  const remaining_cents = pot ? Math.max(0, (row.amount_cents ?? 0) - used_cents) : null;
  const isSpent = pot ? remaining_cents === 0 : row.times !== null && made >= row.times;
  const { id, coupon_id, code, customer_id, subscription_id, applied_at, ended_at } = row;
  return {
    id,
    coupon_id,
    code,
    customer_id,
    subscription_id,
    ...takingOf(row),
    uses: made,
    used_cents,
    remaining_cents,
    applied_at,
    ended_at,
    status: ended_at === null ? (isSpent ? "used_up" : "running") : "ended",
  };
}
