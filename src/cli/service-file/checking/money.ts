// What goes together on a coupon and in the settings of a service.yaml, by the rules of requests.

import { checkCouponTerms } from "../../../domain/coupon-terms.ts";
import { checkPaymentUrl } from "../../../domain/payment-url.ts";
import type { FileCoupon, FileSettings } from "../../../schema/service-file-money.ts";
import { held, type Tell } from "./charges.ts";
import type { Path } from "./yaml.ts";

export function checkCoupon(coupon: FileCoupon, at: Path, tell: Tell): void {
  held(coupon, at, tell, (place) => checkCouponTerms(coupon, place));
}

export function checkSettings(settings: FileSettings, at: Path, tell: Tell): void {
  held(settings, at, tell, (place) => checkPaymentUrl(settings.payment_url, place));
  const { invoice_prefix, credit_note_prefix } = settings;
  if (invoice_prefix !== undefined && invoice_prefix === credit_note_prefix) {
    const message =
      "Invoices and credit notes cannot share a prefix: numbers would be given twice.";
    tell([...at, "credit_note_prefix"], message);
  }
}
