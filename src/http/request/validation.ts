// Checks requests against their schemas and refuses them field by field; the messages are those of
// schema/fault-messages.ts.

import { Ajv, type ErrorObject, type ValidateFunction } from "ajv";
import type { Static, TSchema } from "typebox";
import { parseTimestamp } from "../../domain/dates.ts";
import { isPlainText } from "../../domain/json-values.ts";
import { type ErrorDetail, refuse } from "../../errors.ts";
import { faultHint, faultMessage, fieldName, pointerSteps } from "../../schema/fault-messages.ts";
import { FORMATS } from "../../schema/formats.ts";
import { nearest } from "../../schema/nearest.ts";

const DETAILS_MAX = 20;

/**
 * All faults are looked for only in values with fewer parts than this: looking for each fault of a
 * list of 480,000 wrong entries held the thread for 0.65 to 2.5 s, of which 20 were shown.
 */
const PARTS_MAX = 2_000;

/** Each made when it is first needed. */
let firstFault: Ajv | undefined;
let allFaults: Ajv | undefined;

function makeAjv(allErrors: boolean): Ajv {
  // `verbose` has a fault know the schema it comes from: the message is made of it.
  const ajv = new Ajv({
    verbose: true,
    allErrors,
    strict: true,
    strictTypes: false,
    allowUnionTypes: true,
    // Tests hold every schema of a route to JSON Schema's own: a start need not compile that one.
    meta: false,
    validateSchema: false,
  });
  // A uuid is checked by its pattern; the format name is for readers of the reference.
  ajv.addFormat("uuid", true);
  ajv.addFormat("date-time", true);
  ajv.addFormat("uri", true);
  ajv.addFormat("date", isCalendarDate);
  ajv.addFormat("timestamp", (text: string) => parseTimestamp(text) !== undefined);
  for (const [format, isRight] of Object.entries(FORMATS)) ajv.addFormat(format, isRight);
  ajv.addKeyword("x-must");
  ajv.addKeyword("x-shown");
  ajv.addKeyword({
    keyword: "x-max-bytes",
    type: "object",
    schemaType: "number",
    errors: false,
    validate: (max: number, value: unknown) =>
      isSmallJson(value, max) || Buffer.byteLength(JSON.stringify(value)) <= max,
  });
  ajv.addKeyword({
    keyword: "x-at-least-one",
    type: "object",
    errors: false,
    validate: (_: boolean, value: unknown, parent?: { properties?: object }) =>
      Object.keys(parent?.properties ?? {}).some((key) => Object.hasOwn(value as object, key)),
  });
  return ajv;
}

const ESCAPED_BYTES_MAX = 6;
const SCALAR_BYTES_MAX = 32;

/** Whether flat short text is below the limit for certain: most is, and need not be rendered. */
function isSmallJson(value: unknown, max: number): boolean {
  let bytes = 0;
  for (const key in value as object) {
    const member = (value as Record<string, unknown>)[key];
    if (typeof member === "object") return false;
    const chars = key.length + (typeof member === "string" ? member.length : 0);
    bytes += chars * ESCAPED_BYTES_MAX + SCALAR_BYTES_MAX;
  }
  return bytes <= max;
}

function isCalendarDate(text: string): boolean {
  return /^\d{4}-\d{2}-\d{2}$/.test(text) && parseTimestamp(`${text}T00:00:00Z`) !== undefined;
}

export type Check<Checked = unknown> = (value: unknown) => Checked;

/**
 * Makes a schema a function that returns the value, or refuses it with its faults. It is compiled
 * for the first value.
 */
export function checker<Schema extends TSchema>(
  schema: Schema,
  where: "body" | "query",
): Check<Static<Schema>> {
  let isValid: ValidateFunction | undefined;
  let findAll: ValidateFunction | undefined;
  const faultsOf = (value: unknown) => {
    if (!hasFewParts(value)) return isValid?.errors ?? [];
    allFaults ??= makeAjv(true);
    findAll ??= allFaults.compile(schema);
    findAll(value);
    return findAll.errors ?? [];
  };
  return (value) => {
    if (value === undefined && where === "body") {
      throw refuse("validation_error", "A JSON body is required.", {
        details: [{ field: "", code: "required", message: "A JSON body is required." }],
      });
    }
    firstFault ??= makeAjv(false);
    isValid ??= firstFault.compile(schema);
    if (isValid(value)) return value as Static<Schema>;
    const details = faultsOf(value)
      .filter((error) => error.keyword !== "if" && error.keyword !== "anyOf")
      .slice(0, DETAILS_MAX)
      .map(detailOf);
    throw refuse("validation_error", summary(details), { details });
  };
}

const NAME_SHOWN_MAX = 64;

/** Refuses what is not among the known names: a misspelled filter would return everything. */
export function namesChecker(
  kind: "parameter" | "argument",
  known: readonly string[],
  taken: readonly string[] = [],
): (given: Readonly<Record<string, unknown>>) => void {
  const names = new Set([...known, ...taken]);
  return (given) => {
    for (const name in given) {
      if (names.has(name)) continue;
      const near = nearest(name, known);
      const all = known.length === 0 ? "There are none here." : `There are ${known.join(", ")}.`;
      const hint = near === undefined ? all : `Did you mean ${near}?`;
      const message = `There is no ${kind} ${name.slice(0, NAME_SHOWN_MAX)}. ${hint}`;
      throw refuse("validation_error", message, {
        details: [{ field: name.slice(0, NAME_SHOWN_MAX), code: "unknown", message }],
      });
    }
  };
}

/** Whether the value has few parts; looks at no more of them than it counts. */
function hasFewParts(value: unknown): boolean {
  let left = PARTS_MAX;
  const count = (part: unknown): void => {
    left -= 1;
    if (typeof part !== "object" || part === null) return;
    const members = Array.isArray(part) ? part : Object.values(part);
    if (members.length > left) left = 0;
    for (let i = 0; i < members.length && left > 0; i++) count(members[i]);
  };
  count(value);
  return left > 0;
}

/** Text that PostgreSQL cannot store matches no id, so the answer is 404. */
export function checkPathText(params: Readonly<Record<string, string>>): void {
  for (const name in params) {
    if (isPlainText(params[name] ?? "")) continue;
    throw refuse("not_found", "There is nothing at this path.");
  }
}

/** Text of a query that PostgreSQL cannot store is refused: its fields are the caller's to mend. */
export function checkQueryText(query: Record<string, unknown>): void {
  for (const key in query) {
    const value = query[key];
    if (!isPlainText(key) || (typeof value === "string" && !isPlainText(value))) {
      throw refuse("validation_error", "The query may not contain U+0000 or lone surrogates.");
    }
  }
}

function summary(details: readonly ErrorDetail[]): string {
  const [first] = details;
  if (first === undefined) return "The request is not valid.";
  const more = details.length > 1 ? ` (and ${details.length - 1} more)` : "";
  return `${first.message}${more}`;
}

function detailOf(error: ErrorObject): ErrorDetail {
  const params = error.params as Record<string, unknown>;
  const missing = error.keyword === "required" ? [String(params.missingProperty)] : [];
  const field = fieldName([...pointerSteps(error.instancePath), ...missing], isDigits);
  const hint = faultHint(error);
  const message = `${field || "The body"} ${faultMessage(error)}.${hint ? ` ${hint}` : ""}`;
  return { field, code: codeOf(error), message };
}

function isDigits(step: string | number): boolean {
  return /^\d+$/.test(String(step));
}

const FORMAT_CODES: Readonly<Record<string, string>> = { country: "country", name: "blank" };

function codeOf(error: ErrorObject): string {
  if (error.keyword === "x-at-least-one") return "required";
  if (error.keyword === "x-max-bytes") return "too_large";
  if (error.keyword === "format") return FORMAT_CODES[String(error.params.format)] ?? "format";
  return error.keyword;
}
