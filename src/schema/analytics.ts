// The analytics of a project.

import Type, { type Static } from "typebox";
import { Cents, Currency } from "./common.ts";

export const Analytics = Type.Object(
  {
    active_subscriptions: Type.Integer(),
    mrr_cents: Cents,
    outstanding_invoice_count: Type.Integer(),
    outstanding_total_cents: Cents,
    revenue_30d_cents: Cents,
    payments_30d_count: Type.Integer(),
    top_plans: Type.Array(
      Type.Object({
        plan_code: Type.String(),
        plan_name: Type.String(),
        active_count: Type.Integer(),
      }),
    ),
    currency: Currency,
    by_currency: Type.Array(
      Type.Object({
        currency: Currency,
        mrr_cents: Cents,
        outstanding_invoice_count: Type.Integer(),
        outstanding_total_cents: Cents,
        revenue_30d_cents: Cents,
        payments_30d_count: Type.Integer(),
      }),
    ),
  },
  { title: "Analytics" },
);
export type Analytics = Static<typeof Analytics>;
