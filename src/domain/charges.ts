// Which fields of a charge go together. Turns what a caller wrote into one set of terms, or says
// which field is wrong.

import { refuseField } from "../errors.ts";
import type { Charge, ChargeInput } from "../schema/plans.ts";
import type { UsageModel } from "./charge-models.ts";
import {
  type ChargePrice,
  flatFeePrice,
  ownProperties,
  quantityModePath,
  usagePrice,
} from "./charge-properties.ts";

/** A charge with one name for each field. References are not yet looked up. */
export type ChargeDraft = {
  readonly name: string | null;
  readonly charge_model: Charge["charge_model"];
  readonly invoice_timing: Charge["invoice_timing"];
  readonly metric: { readonly id: string } | { readonly code: string } | null;
  /** The price of a unit; null but for a standard charge. */
  readonly rate: string | null;
  readonly price: ChargePrice;
  readonly catalog_item_code: string | null;
  readonly amount_override_cents: number | null;
  readonly quantity_from: string | null;
  readonly tax_codes: readonly string[] | null;
  readonly properties: Record<string, unknown>;
};

/** `at` is where the charge stands in the request, such as `charges[0].`. */
export function draftCharge(input: ChargeInput, at: string): ChargeDraft {
  const model = input.charge_model ?? input.type;
  if (model === undefined) {
    throw refuseField(`${at}charge_model`, "required", `${at}charge_model is required.`);
  }
  return model === "flat_fee" ? flatFee(input, at) : usageCharge(model, input, at);
}

function usageCharge(model: UsageModel, input: ChargeInput, at: string): ChargeDraft {
  // Usage is only known once the period is over.
  if ((input.invoice_timing ?? "arrears") !== "arrears") {
    throw refuseField(
      `${at}invoice_timing`,
      "unsupported",
      `${at}invoice_timing of a ${model} charge must be arrears.`,
    );
  }
  refusePresent(input, at, ["catalog_item_code", "catalog_ref", "amount_override_cents"], model);
  const price = usagePrice(model, input, at);
  const code = input.billable_metric_code ?? input.metric_ref;
  const id = input.billable_metric_id;
  if (!id && !code) {
    throw refuseField(
      `${at}billable_metric_id`,
      "required",
      `${at}billable_metric_id is required for a ${model} charge.`,
    );
  }
  return {
    name: input.name ?? null,
    charge_model: model,
    invoice_timing: "arrears",
    metric: id ? { id: id.toLowerCase() } : { code: code ?? "" },
    rate: model === "standard" ? (price.amount ?? null) : null,
    price,
    catalog_item_code: null,
    amount_override_cents: null,
    quantity_from: null,
    tax_codes: input.tax_codes ?? null,
    properties: { ...ownProperties(input.properties), ...price },
  };
}

function flatFee(input: ChargeInput, at: string): ChargeDraft {
  refusePresent(
    input,
    at,
    ["billable_metric_id", "billable_metric_code", "metric_ref", "rate"],
    "flat_fee",
  );
  const code = input.catalog_item_code ?? input.catalog_ref ?? null;
  const override = input.amount_override_cents ?? null;
  if (code === null && override === null) {
    throw refuseField(
      `${at}catalog_item_code`,
      "required",
      `${at}catalog_item_code or amount_override_cents is required: a flat fee needs a price.`,
    );
  }
  const price = flatFeePrice(input, at);
  const invoice_timing = input.invoice_timing ?? "arrears";
  const quantity_from = input.quantity_from ?? null;
  const { quantity_mode } = price;
  if (quantity_mode !== undefined && invoice_timing !== "arrears") {
    const path = quantityModePath(input, at);
    const message = `${path} is for fees in arrears: others are billed before the period is over.`;
    throw refuseField(path, "unsupported", message);
  }
  if (quantity_mode === "max" && quantity_from === null) {
    const path = quantityModePath(input, at);
    throw refuseField(path, "unsupported", `${path}: max needs a quantity_from.`);
  }
  return {
    name: input.name ?? null,
    charge_model: "flat_fee",
    invoice_timing,
    metric: null,
    rate: null,
    price,
    catalog_item_code: code,
    amount_override_cents: override,
    quantity_from,
    tax_codes: input.tax_codes ?? null,
    properties: { ...input.properties, ...price },
  };
}

function refusePresent(
  input: ChargeInput,
  at: string,
  fields: readonly (keyof ChargeInput)[],
  model: string,
): void {
  for (const field of fields) {
    const value = input[field];
    if (value === undefined || value === null) continue;
    throw refuseField(
      `${at}${field}`,
      "unsupported",
      `${at}${field} does not belong on a ${model} charge.`,
    );
  }
}
