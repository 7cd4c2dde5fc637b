// How values of a service.yaml are written: numbers that would be kept as others, text that cannot
// be stored, and objects of one's own that no request could carry.

import {
  BODY_BYTES_MAX,
  depthOf,
  isExactNumber,
  isPlainText,
  JSON_DEPTH_MAX,
} from "../../../domain/json-values.ts";
import { fieldName } from "../../../schema/fault-messages.ts";
import type { FilePlan } from "../../../schema/service-file.ts";
import { chargeInput } from "../charge-terms.ts";
import type { Tell } from "./charges.ts";
import type { Parsed, Path } from "./yaml.ts";

const WHOLE = /(_cents|days_after_due|trial_days|free_events)$/;
/** Whole in the sections about money only: elsewhere they may be names of one's own. */
const WHOLE_OF_MONEY = /^(times|max_redemptions|net_payment_days|late_usage_periods)$/;
const UNITS = /^(up_to|free_units|package_size)$/;

/** Metadata of an item, and properties of a charge: anything, kept as it is. */
function isFree(path: Path): boolean {
  return path[2] === "metadata" || path[4] === "properties";
}

export function checkWriting(source: Parsed, value: unknown, path: Path, tell: Tell): void {
  if (typeof value === "string" && !isPlainText(value)) {
    tell(path, `${fieldName(path)} holds U+0000 or half a character.`);
  }
  if (typeof value === "number") checkNumber(source.sourceOf(path) ?? "", value, path, tell);
  if (typeof value !== "object" || value === null) return;
  for (const [key, inner] of Object.entries(value)) {
    const at = [...path, Array.isArray(value) ? Number(key) : key];
    if (!isPlainText(key)) tell(at, "The key holds U+0000 or half a character.", undefined, "key");
    checkWriting(source, inner, at, tell);
  }
}

function checkNumber(written: string, value: number, path: Path, tell: Tell): void {
  const message = `${fieldName(path)} is written as ${written}.`;
  if (!isKept(written, value)) {
    tell(path, message, "A number cannot keep that exactly: write it with quotes.");
    return;
  }
  if (isFree(path)) return;
  const name = String(path.at(-1));
  const isMoney = path[0] === "coupons" || path[0] === "settings";
  const isWhole = WHOLE.test(name) || (isMoney && WHOLE_OF_MONEY.test(name));
  if (isWhole && !/^[-+]?\d+$/.test(written)) {
    tell(path, message, "Write a plain whole number.");
  }
  // A number of more than 15 digits may have lost some when it was read.
  const isPlain = /^[-+]?\d+(\.\d+)?$/.test(written) && written.replace(/\D/g, "").length <= 15;
  if (UNITS.test(name) && path[0] === "plans" && !isPlain) {
    tell(path, message, `Write a plain decimal, with quotes if it is long: ${name}: "1000"`);
  }
}

/** Whether the number is read as what is written, and sent as what the API reads so too. */
function isKept(written: string, value: number): boolean {
  const isDecimal = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i.test(written);
  const isRead = !isDecimal || isExactNumber(written.replace(/^\+/, ""));
  return isRead && isExactNumber(JSON.stringify(value));
}

/** The API reads bodies of so many levels; an item's metadata is the second, and so on. */
const METADATA_DEPTH_MAX = JSON_DEPTH_MAX - 1;
const PROPERTIES_DEPTH_MAX = JSON_DEPTH_MAX - 3;

export function checkMetadataDepth(metadata: unknown, at: Path, tell: Tell): void {
  checkDepth(metadata, METADATA_DEPTH_MAX, at, tell);
}

function checkDepth(value: unknown, most: number, at: Path, tell: Tell): void {
  if (depthOf(value) > most) tell(at, `${fieldName(at)} nests more than ${most} levels deep.`);
}

/** A plan is sent with all of its charges. */
export function checkPlanSize(plan: FilePlan, at: Path, tell: Tell): void {
  const charges = plan.charges ?? [];
  for (const [i, { properties }] of charges.entries()) {
    checkDepth(properties, PROPERTIES_DEPTH_MAX, [...at, "charges", i, "properties"], tell);
  }
  const body = { ...plan, charges: charges.map(chargeInput) };
  if (Buffer.byteLength(JSON.stringify(body)) <= BODY_BYTES_MAX) return;
  tell(at, `The plan is larger than ${BODY_BYTES_MAX} bytes, with its charges as JSON.`);
}
