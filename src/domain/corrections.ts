// What a correction carries of the line that it corrects: its period, its taxes, and of a base fee
// billed in advance what is left of it.

import { scaled } from "./money.ts";
import type { Corrected, FeeDraft, FeeMoney } from "./pricing.ts";
import { type Exemption, type Tax, termsOf } from "./taxes.ts";

/** The invoice that billed a base fee in advance. */
export type BaseInvoice = {
  readonly number: string;
  /** Taxes of its base fee. */
  readonly taxes: readonly Tax[];
  /** Why its base fee had no tax. */
  readonly exemption: Exemption | null;
  /** What coupons, credit notes and a void have left of its base fee; null: all. */
  readonly left: { readonly left_cents: number; readonly taxable_cents: number } | null;
};

const ALL_LEFT = { left_cents: 1, taxable_cents: 1 };

export function corrected({ money }: FeeDraft, corrects: Corrected): FeeMoney {
  return { tax_codes: money?.tax_codes ?? null, line: money?.line ?? null, corrects };
}

/**
 * The line for days of a base fee billed in advance that are given back, or added. What has been
 * credited of the fee does not come back again. Days added were never billed, so nothing of them
 * has been credited.
 */
export function daysBack(
  correction: FeeDraft,
  base_invoice: BaseInvoice | null,
  period: Pick<Corrected, "period_no" | "part" | "ended_at"> & { readonly dates: object },
): FeeDraft | undefined {
  const left = correction.amount_cents > 0 ? null : (base_invoice?.left ?? null);
  const { left_cents, taxable_cents } = left ?? ALL_LEFT;
  if (left_cents === 0) return undefined;
  const amount_cents = scaled(correction.amount_cents, left_cents, taxable_cents);
  if (amount_cents === 0) return undefined;
  const { dates, ...of } = period;
  const taxes =
    base_invoice === null ? undefined : termsOf(base_invoice.taxes, base_invoice.exemption);
  return {
    ...correction,
    amount_cents,
    money: corrected(correction, { ...of, taxes, gives_back_base: true }),
    properties: {
      ...correction.properties,
      ...dates,
      ...(left !== null && { credited_cents: taxable_cents - left_cents }),
      invoice_number: base_invoice?.number ?? null,
    },
  };
}
