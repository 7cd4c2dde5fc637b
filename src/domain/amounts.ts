// The one order of amounts on an invoice: fees, less coupons, plus taxes, is the total; less
// credit, credit notes, payments and what was written off, is what is due.

import type { InvoiceStatus, PaymentStatus } from "../schema/invoices.ts";
import { type AppliedCoupon, type DiscountableFee, discountFees, type Part } from "./coupons.ts";
import { checkAmount, sumCents } from "./money.ts";
import { type Tax, type TaxLine, taxLines } from "./taxes.ts";

export type AmountFee = DiscountableFee & { readonly taxes: readonly Tax[] };

export type Amounts = {
  readonly fees: readonly {
    readonly discount_cents: number;
    readonly taxable_cents: number;
    readonly parts: readonly Part[];
  }[];
  readonly coupons: readonly { readonly coupon: AppliedCoupon; readonly amount_cents: number }[];
  readonly taxes: readonly TaxLine[];
  readonly subtotal_cents: number;
  readonly discount_cents: number;
  readonly tax_cents: number;
  /** The sum, never below 0. */
  readonly total_cents: number;
  /** How far the sum is below 0: this becomes credit. */
  readonly credit_cents: number;
};

const UNTOUCHED = { discount_cents: 0, parts: [] };

export function amountsOf(
  fees: readonly AmountFee[],
  coupons: readonly AppliedCoupon[],
  invoice: { readonly currency: string },
): Amounts {
  const discounts = discountFees(fees, coupons, invoice);
  const lines = fees.map((fee, i) => {
    const { discount_cents, parts } = discounts.fees[i] ?? UNTOUCHED;
    const taxable_cents = fee.amount_cents - discount_cents;
    return { discount_cents, taxable_cents, parts, taxes: fee.taxes };
  });
  const taxes = taxLines(lines);
  const subtotal_cents = checkAmount(sumCents(fees.map((fee) => fee.amount_cents)));
  const discount_cents = sumCents(lines.map((line) => line.discount_cents));
  const tax_cents = sumCents(taxes.map((line) => line.tax_cents));
  const sum = checkAmount(sumCents([subtotal_cents, -discount_cents, tax_cents]));
  return {
    fees: lines,
    coupons: discounts.coupons,
    taxes,
    subtotal_cents,
    discount_cents,
    tax_cents,
    total_cents: Math.max(0, sum),
    credit_cents: Math.max(0, -sum),
  };
}

/** Everything that moves what is due after an invoice is issued. */
export type Standing = {
  readonly total_cents: number;
  readonly credit_applied_cents: number;
  readonly offset_cents: number;
  readonly amount_paid_cents: number;
  readonly overpaid_cents: number;
  readonly written_off_cents: number;
};

export function dueOf(invoice: Standing): number {
  const { total_cents, credit_applied_cents, offset_cents } = invoice;
  const { amount_paid_cents, overpaid_cents, written_off_cents } = invoice;
  return (
    total_cents -
    credit_applied_cents -
    offset_cents -
    amount_paid_cents +
    overpaid_cents -
    written_off_cents
  );
}

/**
 * The status of an invoice: `succeeded` or `uncollectible` exactly when nothing is due. Credit is
 * no payment: an invoice with nothing but credit stays `pending` as to payment.
 */
export function statusOf(
  invoice: Standing & { readonly is_overdue: boolean; readonly is_voided: boolean },
): { status: InvoiceStatus; payment_status: PaymentStatus } {
  const unpaid = invoice.amount_paid_cents > 0 ? "partially_paid" : "pending";
  if (invoice.is_voided) return { status: "voided", payment_status: unpaid };
  if (dueOf(invoice) > 0) {
    return { status: invoice.is_overdue ? "overdue" : "outstanding", payment_status: unpaid };
  }
  if (invoice.written_off_cents > 0) return { status: "uncollectible", payment_status: unpaid };
  return { status: "succeeded", payment_status: "succeeded" };
}
