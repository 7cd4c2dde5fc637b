// Fees as the order of amounts sees them: plain ones, but for what a test is about.

import type { AmountFee } from "../../src/domain/amounts.ts";

export function amountFee(
  told: Pick<AmountFee, "amount_cents" | "use"> & Partial<AmountFee>,
): AmountFee {
  return {
    fee_type: "charge",
    plan_code: null,
    metric_code: null,
    subscription_id: null,
    corrected_period_end: null,
    gives_back_base: false,
    line: new Map(),
    taxes: [],
    ...told,
  };
}
