// The steps for the project's settings, for taxes and for coupons.

import type { Coupon } from "../client/types.ts";
import { parseTimestamp } from "../domain/dates.ts";
import { decimal, formatDecimal } from "../domain/decimal.ts";
import type { FileCoupon, FileSettings, FileTax } from "../schema/service-file-money.ts";
import {
  type Change,
  changed,
  codeSet,
  created,
  left,
  live,
  type Present,
  type refs,
  revived,
  type Step,
  type TellFault,
} from "./sync-plan-parts.ts";

export function settingsSteps(
  wanted: FileSettings,
  { settings }: Present,
  known: ReturnType<typeof refs>,
  tell: TellFault,
): Step[] {
  const names = Object.keys(wanted);
  if (names.length === 0) return [];
  known.taxes(wanted.tax_codes, ["settings"], tell);
  const { tax_codes, logo_color } = wanted;
  const now = {
    ...wanted,
    ...(tax_codes !== undefined && { tax_codes: codeSet(tax_codes) }),
    ...(logo_color !== undefined && { logo_color: logo_color.toLowerCase() }),
  };
  const before = { ...settings, tax_codes: codeSet(settings.tax_codes) };
  const changes = changed(before, now, names);
  const step = { section: "settings", key: "project", changes, reprices: [] } as const;
  if (changes.length === 0) return [{ ...step, act: "same" }];
  const body = Object.fromEntries(changes.map(({ field, to }) => [field, to]));
  return [{ ...step, act: "change", request: { operation: "setSettings", body } }];
}

export function taxSteps(wanted: readonly FileTax[], present: Present): Step[] {
  const steps = wanted.map((entry): Step => {
    const tax = { ...entry, percent: formatDecimal(decimal(entry.percent)) };
    const step = { section: "taxes", key: tax.code, reprices: [] } as const;
    const request = { operation: "upsertTax", body: tax } as const;
    const found = present.taxes.find(({ code }) => code === tax.code);
    if (found === undefined) return { ...step, act: "create", changes: created(tax), request };
    const changes = [...revived(found), ...changed(found, tax, ["name", "percent", "description"])];
    if (changes.length === 0) return { ...step, act: "same", changes };
    return { ...step, act: "change", changes, request };
  });
  const codes = wanted.map(({ code }) => code);
  const others = live(present.taxes).map(({ code }) => code);
  return [...steps, ...left("taxes", codes, others)];
}

export function couponSteps(
  wanted: readonly FileCoupon[],
  present: Present,
  known: ReturnType<typeof refs>,
  tell: TellFault,
): Step[] {
  const steps = wanted.map((coupon, i): Step => {
    const step = { section: "coupons", key: coupon.code, reprices: [] } as const;
    const found = present.coupons.find(({ code }) => code === coupon.code);
    const now = termsOf(coupon);
    const changes =
      found === undefined
        ? createdCoupon(now)
        : [...revived(found), ...changed(termsOf(found), now, Object.keys(now))];
    if (changes.length === 0) return { ...step, act: "same", changes };
    // A plan may have been archived since: that alone is no fault of a coupon that stays.
    for (const [j, code] of (coupon.plan_codes ?? []).entries()) {
      known.plan(code, ["coupons", i, "plan_codes", j], tell);
    }
    for (const [j, code] of (coupon.metric_codes ?? []).entries()) {
      known.metric(code, ["coupons", i, "metric_codes", j], tell);
    }
    const act = found === undefined ? "create" : "change";
    return { ...step, act, changes, request: { operation: "upsertCoupon", body: coupon } };
  });
  const codes = wanted.map(({ code }) => code);
  const others = live(present.coupons).map(({ code }) => code);
  return [...steps, ...left("coupons", codes, others)];
}

/** Of the file and of the API in one form: what is left out is what the API takes it for. */
function termsOf(coupon: FileCoupon | Coupon) {
  const { name, percent, amount_cents, currency, times, redeem_by, max_redemptions } = coupon;
  return {
    name,
    percent: typeof percent === "string" ? formatDecimal(decimal(percent)) : null,
    amount_cents: amount_cents ?? null,
    currency: currency ?? null,
    times: times === undefined ? 1 : times,
    plan_codes: codeSet(coupon.plan_codes),
    metric_codes: codeSet(coupon.metric_codes),
    redeem_by: parseTimestamp(redeem_by ?? "")?.toISOString() ?? null,
    max_redemptions: max_redemptions ?? null,
  };
}

function createdCoupon(terms: ReturnType<typeof termsOf>): Change[] {
  const { times, ...rest } = terms;
  const uses = times === 1 ? [] : [{ field: "times", from: undefined, to: times }];
  return [...created(rest), ...uses];
}
