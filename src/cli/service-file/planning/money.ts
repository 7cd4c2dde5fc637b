// The steps for the project's settings, for taxes and for coupons.

import type { Coupon, Settings } from "../../../client/types.ts";
import { parseTimestamp } from "../../../domain/dates.ts";
import { decimal, formatDecimal } from "../../../domain/decimal.ts";
import { withTaxId } from "../../../domain/tax-ids.ts";
import type { FileCoupon, FileSettings, FileTax } from "../../../schema/service-file-money.ts";
import type { Path } from "../checking/yaml.ts";
import {
  type Change,
  changesBetween,
  changesOfNew,
  changesOfRestored,
  codeSet,
  liveOf,
} from "../comparing.ts";
import type { Present } from "../present-state.ts";
import type { References } from "./references.ts";
import { putStep, type Step, stepsLeftAlone, type TellFault } from "./steps.ts";

export function settingsSteps(
  wanted: FileSettings,
  { settings }: Present,
  references: References,
  tell: TellFault,
): Step[] {
  const names = Object.keys(wanted);
  if (names.length === 0) return [];
  references.taxes(wanted.tax_codes, ["settings"]);
  tellSharedPrefix(wanted, settings, tell);
  const { tax_codes, logo_color } = wanted;
  const now = {
    ...withTaxId(wanted),
    ...(tax_codes !== undefined && { tax_codes: codeSet(tax_codes) }),
    ...(logo_color !== undefined && { logo_color: logo_color.toLowerCase() }),
  };
  const before = { ...settings, tax_codes: codeSet(settings.tax_codes) };
  const changes = changesBetween(before, now, names);
  const body = Object.fromEntries(changes.map(({ field, to }) => [field, to]));
  const request = { operation: "setSettings", body } as const;
  return [putStep("settings", "project", settings, changes, request)];
}

/** The service refuses it too, behind what was applied before. */
function tellSharedPrefix(wanted: FileSettings, present: Settings, tell: TellFault): void {
  const pairs = [
    ["invoice_prefix", "credit notes", present.credit_note_prefix],
    ["credit_note_prefix", "invoices", present.invoice_prefix],
  ] as const;
  for (const [field, others, prefix] of pairs) {
    if (wanted[field] !== prefix) continue;
    const message = `${field} ${prefix} is that of ${others}: two documents would have one number.`;
    tell(["settings", field], message, "Write another one.");
  }
}

const TAX_FIELDS = ["name", "percent", "description"];

export function taxSteps(wanted: readonly FileTax[], present: Present): Step[] {
  const steps = wanted.map((entry): Step => {
    const tax = { ...entry, percent: formatDecimal(decimal(entry.percent)) };
    const found = present.taxes.find(({ code }) => code === tax.code);
    const changes =
      found === undefined
        ? changesOfNew(tax)
        : [...changesOfRestored(found), ...changesBetween(found, tax, TAX_FIELDS)];
    const request = { operation: "upsertTax", body: tax } as const;
    return putStep("taxes", tax.code, found, changes, request);
  });
  return [...steps, ...stepsLeftAlone("taxes", wanted, liveOf(present.taxes))];
}

export function couponSteps(
  wanted: readonly FileCoupon[],
  present: Present,
  references: References,
): Step[] {
  const steps = wanted.map((coupon, i): Step => {
    const found = present.coupons.find(({ code }) => code === coupon.code);
    const terms = termsOf(coupon);
    const changes =
      found === undefined
        ? changesOfNewCoupon(terms)
        : [
            ...changesOfRestored(found),
            ...changesBetween(termsOf(found), terms, Object.keys(terms)),
          ];
    // A plan may have been archived since: that alone is no fault of a coupon that stays.
    if (changes.length > 0) checkReferences(coupon, ["coupons", i], references);
    const request = { operation: "upsertCoupon", body: coupon } as const;
    return putStep("coupons", coupon.code, found, changes, request);
  });
  return [...steps, ...stepsLeftAlone("coupons", wanted, liveOf(present.coupons))];
}

function checkReferences(
  { plan_codes, metric_codes }: FileCoupon,
  at: Path,
  references: References,
): void {
  for (const [i, code] of (plan_codes ?? []).entries()) {
    references.plan(code, [...at, "plan_codes", i]);
  }
  for (const [i, code] of (metric_codes ?? []).entries()) {
    references.metric(code, [...at, "metric_codes", i]);
  }
}

/** One form for coupons of the file and of the API: what is left out has the API's default. */
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

/** `times` is shown also where it is null, which means for ever. */
function changesOfNewCoupon(terms: ReturnType<typeof termsOf>): Change[] {
  const { times, ...rest } = terms;
  const uses = times === 1 ? [] : [{ field: "times", from: undefined, to: times }];
  return [...changesOfNew(rest), ...uses];
}
