// A charge in one form, whether the file says it or the API: so that both can be compared, and each
// be written as the other.

import type { Charge, ChargeInput } from "../../client/types.ts";
import type { Price } from "../../domain/charge-models.ts";
import type { ChargePrice } from "../../domain/charge-properties.ts";
import { draftCharge } from "../../domain/charges.ts";
import type { FileCharge } from "../../schema/service-file.ts";
import { codeSet } from "./comparing.ts";

export type Terms = {
  readonly type: FileCharge["type"];
  readonly name: string | null;
  readonly timing: NonNullable<FileCharge["invoice_timing"]>;
  readonly metric: string | null;
  readonly price: ChargePrice;
  readonly item: string | null;
  readonly override: number | null;
  readonly quantity_from: string | null;
  readonly tax_codes: readonly string[] | null;
  /** Other properties, which have no meaning for the price. */
  readonly properties: Record<string, unknown>;
};

export function termsOf(input: Parameters<typeof draftCharge>[0]): Terms {
  const draft = draftCharge(input, "");
  const { metric, price } = draft;
  const properties = Object.entries(draft.properties).filter(
    ([name]) => !Object.hasOwn(price, name),
  );
  return {
    type: draft.charge_model,
    name: draft.name,
    timing: draft.invoice_timing,
    metric: metric !== null && "code" in metric ? metric.code : null,
    price,
    item: draft.catalog_item_code,
    override: draft.amount_override_cents,
    quantity_from: draft.quantity_from,
    tax_codes: codeSet(draft.tax_codes),
    properties: Object.fromEntries(properties),
  };
}

export function termsOfApi(charge: Charge): Terms {
  const { id: _id, plan_id: _plan, billable_metric_id: _metric, created_at: _at, ...own } = charge;
  return termsOf(own);
}

/** What is sent for a charge of the file: the API takes the price as the file writes it, too. */
export function chargeInput(charge: FileCharge): ChargeInput {
  const { type, metric_ref, catalog_ref, ...rest } = charge;
  return {
    charge_model: type,
    ...(metric_ref !== undefined && { billable_metric_code: metric_ref }),
    ...(catalog_ref !== undefined && { catalog_item_code: catalog_ref }),
    ...rest,
  };
}

/** The entry of the file that declares this charge. */
export function fileCharge(charge: Charge): FileCharge {
  const terms = termsOfApi(charge);
  const { prices, minimum_cents, quantity_mode, ...price } = terms.price;
  const matched = prices?.map(({ match, ...own }) => ({ match, ...filePrice(own) }));
  return {
    type: terms.type,
    ...(terms.name !== null && { name: terms.name }),
    ...(terms.metric !== null && { metric_ref: terms.metric }),
    ...filePrice(price),
    ...(matched !== undefined && { prices: matched }),
    ...(minimum_cents !== undefined && { minimum_cents }),
    ...(terms.item !== null && { catalog_ref: terms.item }),
    ...(terms.override !== null && { amount_override_cents: terms.override }),
    ...(terms.quantity_from !== null && { quantity_from: terms.quantity_from }),
    ...(quantity_mode !== undefined && { quantity_mode }),
    ...(terms.timing !== "arrears" && { invoice_timing: terms.timing }),
    ...(terms.tax_codes !== null && { tax_codes: terms.tax_codes }),
    ...(Object.keys(terms.properties).length > 0 && { properties: terms.properties }),
  };
}

/** The file calls an amount `rate`. */
function filePrice({ amount, tiers, ...rest }: Price) {
  const own = tiers?.map(({ up_to, amount: rate, ...more }) => ({ up_to, rate, ...more }));
  return {
    ...(amount !== undefined && { rate: amount }),
    ...(own !== undefined && { tiers: own }),
    ...rest,
  };
}
