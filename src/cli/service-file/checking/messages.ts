// Messages for the faults that the schema finds in a file, where they differ from those of the API,
// and hints at what was meant.

import {
  type FaultMessages,
  faultHint,
  faultMessage,
  type SchemaFault,
  yearFault,
} from "../../../schema/fault-messages.ts";
import { nearest } from "../../../schema/nearest.ts";
import type { Path } from "./yaml.ts";

/** A file's author is told more than a caller of the API: these show what is written. */
const OF_FILES: FaultMessages = {
  type: ({ params, data }) => `must be ${kinds(params.type)}, not ${kindOf(data)}`,
  enum: ({ params, data }) =>
    `must be ${oneOf(params.allowedValues as readonly unknown[])}, not ${shown(data)}`,
  minItems: () => "must not be empty",
  minProperties: () => "must not be empty",
  uniqueItems: () => "must not name one twice",
  format: ({ params, data }) =>
    params.format === "timestamp"
      ? (yearFault(data) ?? `must be a timestamp such as 2027-01-31T12:00:00Z, not ${shown(data)}`)
      : `must be ${FORMAT_KINDS[String(params.format)]}, not ${shown(data)}`,
  pattern: ({ data }) => `is ${shown(data)}, which is not of the right form`,
};

const FORMAT_KINDS: Readonly<Record<string, string>> = {
  currency: "an ISO-4217 currency code",
  country: "a country of ISO 3166-1",
  name: "text that can be seen",
};

export function messageFor(fault: SchemaFault): string {
  return faultMessage(fault, OF_FILES);
}

const CENTS = "Write a whole number of the smallest currency unit: 4900 is 49.00.";
const UNITS = 'Write a plain decimal of 0 or more, such as 1000 or "0.5".';

const HINTS: Readonly<Record<string, string>> = {
  version: 'Write it with quotes: version: "1"',
  rate: 'Write a plain decimal with quotes: rate: "0.10"',
  flat_amount: 'Write a plain decimal with quotes: flat_amount: "5"',
  fixed_amount: 'Write a plain decimal with quotes: fixed_amount: "0.30"',
  percent: 'Write a plain decimal with quotes: percent: "2.9"',
  up_to: UNITS,
  free_units: UNITS,
  package_size: UNITS,
  free_events: "A whole number of events, 0 or more.",
  trial_days: "A whole number of days, at most 730.",
  dimensions: "Names of event properties: letters, digits, dot, dash, underscore; at most 4.",
  amount_cents: CENTS,
  amount_override_cents: CENTS,
  minimum_cents: CENTS,
  currency: "Three capital letters, such as USD.",
  quantity_from: "Write subscription_property.<property_name>, such as subscription_property.seats",
  org: "Lower-case letters, digits and dashes, at most 63.",
  workspace: "Lower-case letters, digits and dashes, at most 63.",
  project: "Lower-case letters, digits and dashes, at most 63.",
  catalog_ref: "Codes of catalog items: lower-case letters, digits, dot, dash, underscore.",
  country: "Two capital letters, such as FR.",
  invoice_prefix: "Capital letters and digits, at most 8, such as INV.",
  credit_note_prefix: "Capital letters and digits, at most 8, such as CN.",
  logo_color: 'Write it with quotes: logo_color: "#0b6e4f"',
  tax_codes: "A list of codes of taxes, at most 5; [] for no tax.",
  times: "A whole number of billing periods, 1 or more; null for ever.",
  days_after_due: "A whole number of days, 1 or more.",
};

export function hintFor(path: Path, fault: SchemaFault): string | undefined {
  const { keyword, params, data } = fault;
  const field = String(path.at(-1) ?? "");
  const meant = faultHint(fault);
  if (meant !== undefined) return meant;
  if (keyword === "enum" && typeof data === "string") {
    const near = nearest(data, (params.allowedValues as unknown[]).map(String));
    if (near !== undefined) return `Did you mean ${near}?`;
  }
  if (field === "code" && path[0] === "catalog" && keyword === "pattern") {
    return HINTS.catalog_ref;
  }
  if (field === "percent" && path[0] !== "plans") {
    return 'Write a decimal from 0 to 100 with quotes, at most four after the point: percent: "5.5"';
  }
  const wantsText = keyword === "type" && String(params.type).includes("string");
  if (wantsText && (typeof data === "number" || typeof data === "boolean")) {
    return HINTS[field] ?? `Write it with quotes: ${field}: "${data}"`;
  }
  return HINTS[field];
}

function shown(value: unknown): string {
  const text = JSON.stringify(value) ?? "nothing";
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function oneOf(values: readonly unknown[]): string {
  const texts = values.map((value) => String(value));
  return texts.length === 1 ? `"${texts[0]}"` : `one of ${texts.join(", ")}`;
}

function kinds(type: unknown): string {
  return [type]
    .flat()
    .map((each) => KINDS[String(each)] ?? String(each))
    .join(" or ");
}

const KINDS: Readonly<Record<string, string>> = {
  string: "text",
  integer: "a whole number",
  number: "a number",
  boolean: "true or false",
  array: "a list",
  object: "a block of keys",
  null: "null",
};

function kindOf(value: unknown): string {
  if (value === null) return "empty";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "object") return "a block of keys";
  if (typeof value === "string") return `the text ${shown(value)}`;
  return `the ${typeof value} ${shown(value)}`;
}
