// Coupons, and their application to customers.

import Type, { type Static } from "typebox";
import {
  AMOUNT_CENTS_MAX,
  Cents,
  Currency,
  Name,
  Nullable,
  OneOf,
  Reference,
  Timestamp,
  TimestampInput,
  Uuid,
} from "./common.ts";
import { Percent } from "./taxes.ts";

export const Codes = Type.Unsafe<readonly string[] | null>({
  type: ["array", "null"],
  items: { type: "string", minLength: 1, maxLength: 255 },
  minItems: 1,
  maxItems: 100,
  uniqueItems: true,
});

const terms = {
  percent: Nullable(Type.String()),
  amount_cents: Nullable(Cents),
  currency: Nullable(Currency),
  times: Nullable(Type.Integer()),
  plan_codes: Codes,
  metric_codes: Codes,
};

export const Coupon = Type.Object(
  {
    id: Uuid,
    code: Type.String(),
    name: Type.String(),
    ...terms,
    redeem_by: Nullable(Timestamp),
    max_redemptions: Nullable(Type.Integer()),
    redemptions: Type.Integer(),
    archived_at: Nullable(Timestamp),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "Coupon" },
);
export type Coupon = Static<typeof Coupon>;

const Count = Type.Integer({ minimum: 1, maximum: 1_000_000_000 });

export const CouponUpsert = Type.Object({
  code: Reference,
  name: Name,
  percent: Type.Optional(Nullable(Percent)),
  amount_cents: Type.Optional(Nullable(Type.Integer({ minimum: 1, maximum: AMOUNT_CENTS_MAX }))),
  currency: Type.Optional(Nullable(Currency)),
  times: Type.Optional(Nullable(Count)),
  plan_codes: Type.Optional(Codes),
  metric_codes: Type.Optional(Codes),
  redeem_by: Type.Optional(Nullable(TimestampInput)),
  max_redemptions: Type.Optional(Nullable(Count)),
});
export type CouponUpsert = Static<typeof CouponUpsert>;

export const COUPON_STATUSES = ["running", "used_up", "ended"] as const;

export const AppliedCoupon = Type.Object(
  {
    id: Uuid,
    coupon_id: Uuid,
    code: Type.String(),
    customer_id: Uuid,
    subscription_id: Nullable(Uuid),
    ...terms,
    uses: Type.Integer(),
    used_cents: Cents,
    remaining_cents: Nullable(Cents),
    status: OneOf(COUPON_STATUSES),
    applied_at: Timestamp,
    ended_at: Nullable(Timestamp),
  },
  { title: "AppliedCoupon" },
);
export type AppliedCoupon = Static<typeof AppliedCoupon>;

export const CouponApply = Type.Object({
  customer_id: Type.String({ maxLength: 260 }),
  subscription_id: Type.Optional(Nullable(Type.String({ maxLength: 260 }))),
});
