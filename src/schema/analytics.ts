// The analytics of a project.

import Type, { type Static } from "typebox";
import { Cents, Currency } from "./common.ts";

/** Money of one currency beside invoices and payments. */
const money = {
  net_revenue_30d_cents: Type.Unsafe<number>({
    ...Cents,
    description:
      "Invoiced in the last 30 days, after coupons and without tax, less credit notes of then; without voided invoices and top-ups.",
  }),
  tax_30d_cents: Type.Unsafe<number>({ ...Cents, description: "The tax on that." }),
  refunds_30d_cents: Cents,
  wallet_balance_cents: Type.Unsafe<number>({
    ...Cents,
    description: "What customers have as credit and prepaid money now.",
  }),
};

export const Analytics = Type.Object(
  {
    active_subscriptions: Type.Integer(),
    billing_failed_count: Type.Integer({
      description:
        "Subscriptions whose period is over and cannot be billed: GET /v1/subscriptions?billing_error=1.",
    }),
    mrr_cents: Cents,
    outstanding_invoice_count: Type.Integer(),
    outstanding_total_cents: Cents,
    revenue_30d_cents: Cents,
    payments_30d_count: Type.Integer(),
    ...money,
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
        ...money,
      }),
    ),
  },
  { title: "Analytics" },
);
export type Analytics = Static<typeof Analytics>;
