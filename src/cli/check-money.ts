// What goes together on a coupon and in the settings of a service.yaml, by the rules of requests.

import { checkCouponTerms } from "../domain/coupon-terms.ts";
import { checkPaymentUrl } from "../domain/payment-url.ts";
import type { FileCoupon, FileSettings } from "../schema/service-file-money.ts";
import { held, type Tell } from "./check-charges.ts";
import type { Path } from "./read-yaml.ts";

export function checkCoupon(coupon: FileCoupon, at: Path, tell: Tell): void {
  held(coupon, at, tell, (place) => checkCouponTerms(coupon, place));
}

export function checkSettings(settings: FileSettings, at: Path, tell: Tell): void {
  held(settings, at, tell, (place) => checkPaymentUrl(settings.payment_url, place));
}
