// What goes together on a metric and on a charge of a service.yaml. What is true of a request too
// is decided by the same rules, and told at its place in the file.

import { checkDimensions, PRICE_PROPERTIES } from "../../../domain/charge-properties.ts";
import { draftCharge } from "../../../domain/charges.ts";
import { checkMeasure } from "../../../domain/metrics.ts";
import { Refusal } from "../../../errors.ts";
import { fieldName } from "../../../schema/fault-messages.ts";
import type { FileCharge, FileMetric } from "../../../schema/service-file.ts";
import type { Path } from "./yaml.ts";

export type Tell = (path: Path, message: string, hint?: string, part?: "key") => void;

const HINTS: Readonly<Record<string, string>> = {
  field_name: "Name the event property to aggregate.",
};

export function checkMetric(metric: FileMetric, at: Path, tell: Tell): void {
  held(metric, at, tell, (place) => checkMeasure(metric, place));
}

const OF_USAGE = ["metric_ref"] as const;
const OF_FLAT_FEES = ["catalog_ref", "amount_override_cents", "quantity_from"] as const;

/** True when the charge is good as far as the file tells. */
export function checkCharge(charge: FileCharge, at: Path, tell: Tell): boolean {
  let isGood = true;
  const fault: Tell = (...about) => {
    isGood = false;
    tell(...about);
  };
  const { type } = charge;
  const isUsage = type !== "flat_fee";
  for (const field of isUsage ? OF_FLAT_FEES : ([...OF_USAGE, "rate"] as const)) {
    if (charge[field] === undefined) continue;
    fault([...at, field], `${field} does not belong on a ${type} charge.`, undefined, "key");
  }
  refuseApiProperties(charge, at, fault);
  if (isUsage) checkUsage(charge, at, fault);
  else if (charge.catalog_ref === undefined && charge.amount_override_cents === undefined) {
    fault(at, "A flat fee needs a price: catalog_ref or amount_override_cents.");
  }
  // The rest is the price, whose properties are read only where all else is right.
  if (isGood) held(charge, at, fault, (place) => draftCharge(charge, place));
  return isGood;
}

function checkUsage(charge: FileCharge, at: Path, tell: Tell): void {
  for (const field of OF_USAGE) {
    if (charge[field] === undefined) tell(at, `${fieldName([...at, field])} is missing.`);
  }
  if ((charge.invoice_timing ?? "arrears") !== "arrears") {
    const hint = "Usage is only known once the period is over: write arrears.";
    tell([...at, "invoice_timing"], `A ${charge.type} charge is billed in arrears.`, hint);
  }
}

/** In the file a price stands on the charge itself, where the API has it under `properties`. */
function refuseApiProperties({ type, properties = {} }: FileCharge, at: Path, tell: Tell): void {
  for (const name of PRICE_PROPERTIES) {
    // `amount` has always been kept among a flat fee's own properties.
    if (!Object.hasOwn(properties, name) || (type === "flat_fee" && name === "amount")) continue;
    // Null says nothing, to the API either.
    if (properties[name] === null) continue;
    const own = name === "amount" ? "rate" : name;
    const hint = `In the file it stands on the charge itself, as ${own}.`;
    tell([...at, "properties", name], `${name} is not known here.`, hint, "key");
  }
}

/** Whether the metric has the dimensions that the charge has prices for. */
export function checkPrices(
  charge: FileCharge,
  dimensions: readonly string[],
  at: Path,
  tell: Tell,
): void {
  held(charge, at, tell, (place) => {
    checkDimensions(draftCharge(charge, place).price, dimensions, charge, place);
  });
}

/** Runs a rule that refuses, and tells its refusal at the field that it names. */
export function held(entry: object, at: Path, tell: Tell, rule: (place: string) => void): void {
  const place = `${fieldName(at)}.`;
  try {
    rule(place);
  } catch (error) {
    const [detail] = error instanceof Refusal ? (error.details ?? []) : [];
    if (detail === undefined) throw error;
    const steps = stepsTo(entry, detail.field.slice(place.length));
    const part = detail.code === "unsupported" || detail.code === "unknown" ? "key" : undefined;
    const message = detail.message ?? `${detail.field} is not valid.`;
    tell([...at, ...steps], message, HINTS[String(steps.at(-1))], part);
  }
}

/** `tiers[1].up_to` as steps into the value. A dimension may have dots in its name. */
function stepsTo(value: unknown, field: string): Path {
  if (field === "") return [];
  const index = /^\[(\d+)\]\.?/.exec(field);
  if (index !== null) {
    const i = Number(index[1]);
    return [i, ...stepsTo((value as readonly unknown[])[i], field.slice(index[0].length))];
  }
  const known = Object.entries(value ?? {})
    .filter(([key]) => `${field}.`.startsWith(`${key}.`) || field.startsWith(`${key}[`))
    .toSorted(([a], [b]) => b.length - a.length)[0];
  if (known === undefined) return [field];
  const [key, inner] = known;
  return [key, ...stepsTo(inner, field.slice(key.length).replace(/^\./, ""))];
}
