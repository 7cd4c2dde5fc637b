// Which fields of a charge go together. Turns what a caller wrote into one set of terms, or says
// which field is wrong.

import { refuseField } from "../errors.ts";
import { DECIMAL_PATTERN } from "../schema/common.ts";
import type { Charge, ChargeInput } from "../schema/plans.ts";

/** A charge with one name for each field. References are not yet looked up. */
export type ChargeDraft = {
  readonly charge_model: Charge["charge_model"];
  readonly invoice_timing: Charge["invoice_timing"];
  readonly metric: { readonly id: string } | { readonly code: string } | null;
  readonly rate: string | null;
  readonly catalog_item_code: string | null;
  readonly amount_override_cents: number | null;
  readonly quantity_from: string | null;
  readonly properties: Record<string, unknown>;
};

const DECIMAL = new RegExp(DECIMAL_PATTERN);

/** `at` is where the charge stands in the request, such as `charges[0].`. */
export function draftCharge(input: ChargeInput, at: string): ChargeDraft {
  const model = input.charge_model ?? input.type;
  if (model === undefined) {
    throw refuseField(`${at}charge_model`, "required", `${at}charge_model is required.`);
  }
  return model === "standard" ? standardCharge(input, at) : flatFee(input, at);
}

function standardCharge(input: ChargeInput, at: string): ChargeDraft {
  // Usage is only known once the period is over.
  if ((input.invoice_timing ?? "arrears") !== "arrears") {
    throw refuseField(
      `${at}invoice_timing`,
      "unsupported",
      `${at}invoice_timing of a standard charge must be arrears.`,
    );
  }
  refusePresent(
    input,
    at,
    ["catalog_item_code", "catalog_ref", "amount_override_cents"],
    "standard",
  );
  const properties = input.properties ?? {};
  const rate = properties.amount ?? input.rate;
  if (rate === undefined || rate === null) {
    throw refuseField(
      `${at}properties.amount`,
      "required",
      `${at}properties.amount is required: the price per unit as a decimal string.`,
    );
  }
  if (typeof rate !== "string" || !DECIMAL.test(rate)) {
    throw refuseField(
      `${at}properties.amount`,
      "pattern",
      `${at}properties.amount must be a decimal string such as "0.05".`,
    );
  }
  const code = input.billable_metric_code ?? input.metric_ref;
  const id = input.billable_metric_id;
  if (!id && !code) {
    throw refuseField(
      `${at}billable_metric_id`,
      "required",
      `${at}billable_metric_id is required for a standard charge.`,
    );
  }
  return {
    charge_model: "standard",
    invoice_timing: "arrears",
    metric: id ? { id: id.toLowerCase() } : { code: code ?? "" },
    rate,
    catalog_item_code: null,
    amount_override_cents: null,
    quantity_from: null,
    properties: { ...properties, amount: rate },
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
  return {
    charge_model: "flat_fee",
    invoice_timing: input.invoice_timing ?? "arrears",
    metric: null,
    rate: null,
    catalog_item_code: code,
    amount_override_cents: override,
    quantity_from: input.quantity_from ?? null,
    properties: input.properties ?? {},
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
