// Which terms of a coupon go together: the same for a request and for an entry of service.yaml.

import { refuseField } from "../errors.ts";
import { decimal, isZero } from "./decimal.ts";

type Terms = {
  readonly percent?: string | null;
  readonly amount_cents?: number | null;
  readonly currency?: string | null;
};

/** Refuses all but a percentage or an amount in a currency. `at` is where the terms stand. */
export function checkCouponTerms(terms: Terms, at = ""): void {
  const { percent = null, amount_cents = null, currency = null } = terms;
  if ((percent === null) === (amount_cents === null)) {
    const message = "A coupon needs exactly one of percent and amount_cents.";
    throw refuseField(`${at}percent`, percent === null ? "required" : "exclusive", message);
  }
  if (percent !== null && isZero(decimal(percent))) {
    throw refuseField(`${at}percent`, "minimum", "percent must be above 0.");
  }
  if (amount_cents !== null && currency === null) {
    throw refuseField(`${at}currency`, "required", "currency is required beside amount_cents.");
  }
  if (percent !== null && currency !== null) {
    throw refuseField(`${at}currency`, "unsupported", "currency goes with amount_cents.");
  }
}
