// What is wrong with a value that does not fit its schema: the end of a sentence per keyword. Who
// puts some keywords in other words hands in messages for those.

import { COUNTRY_MEANT } from "./countries.ts";

/** An error of Ajv as far as it is read. Ajv must run with `verbose` for the last three. */
export type SchemaFault = {
  readonly keyword: string;
  readonly params: Readonly<Record<string, unknown>>;
  readonly message?: string | undefined;
  readonly schema?: unknown;
  readonly parentSchema?: object | undefined;
  readonly data?: unknown;
};

export type FaultMessages = Readonly<Record<string, (fault: SchemaFault) => string>>;

/** The end of a sentence that begins with the name of the field: "must be at least 1". */
export function faultMessage(fault: SchemaFault, own: FaultMessages = {}): string {
  const message = own[fault.keyword] ?? MESSAGES[fault.keyword];
  return message?.(fault) ?? fault.message ?? "is not valid";
}

/** The steps of a JSON pointer: `/a~1b/0` → `a/b`, `0` */
export function pointerSteps(pointer: string): string[] {
  return pointer
    .split("/")
    .slice(1)
    .map((step) => step.replaceAll("~1", "/").replaceAll("~0", "~"));
}

type Steps = readonly (string | number)[];

/** `charges`, 0, `properties`, `amount` → `charges[0].properties.amount` */
export function fieldName(steps: Steps, isIndex = isNumber): string {
  return steps.reduce<string>((name, step) => {
    if (isIndex(step)) return `${name}[${step}]`;
    return name === "" ? String(step) : `${name}.${step}`;
  }, "");
}

function isNumber(step: string | number): boolean {
  return typeof step === "number";
}

const MESSAGES: FaultMessages = {
  required: () => "is required",
  type: ({ params }) => `must be ${typeNames(params.type)}`,
  enum: ({ params }) => `must be one of ${(params.allowedValues as unknown[]).join(", ")}`,
  minLength: ({ params }) =>
    params.limit === 1 ? "must not be empty" : `must have at least ${params.limit} characters`,
  maxLength: ({ params }) => `must have at most ${params.limit} characters`,
  minimum: ({ params }) => `must be at least ${params.limit}`,
  maximum: ({ params }) => `must be at most ${params.limit}`,
  minItems: ({ params }) => `must have at least ${params.limit} entries`,
  maxItems: ({ params }) => `must have at most ${params.limit} entries`,
  uniqueItems: () => "must not repeat an entry",
  "x-at-least-one": (fault) => `needs at least one of ${knownFields(fault).join(", ")}`,
  "x-max-bytes": ({ schema }) => `must be at most ${schema} bytes of JSON`,
  pattern: patternMessage,
  format: ({ params, data }) => formatMessage(String(params.format), data),
};

/** The fields that the schema of the object at fault names. */
export function knownFields({ parentSchema }: SchemaFault): string[] {
  return Object.keys((parentSchema as { properties?: object } | undefined)?.properties ?? {});
}

function typeNames(type: unknown): string {
  const names = [type].flat().map((each) => {
    if (each === "null") return "null";
    return /^[aeio]/.test(String(each)) ? `an ${each}` : `a ${each}`;
  });
  return names.join(" or ");
}

/** The message for a pattern, which itself says nothing to most readers. */
function patternMessage({ params, parentSchema, data }: SchemaFault): string {
  const { format, "x-must": must } = (parentSchema ?? {}) as { format?: string; "x-must"?: string };
  if (must !== undefined) return `must ${must}`;
  if (format !== undefined) return formatMessage(format, data);
  if (String(params.pattern).includes("\\d{1,15}")) {
    return "must be a plain decimal string such as 12.50, with at most 15 digits before and 12 after the point";
  }
  return "is not of the right form";
}

/** Years of timestamps: one before or after them is most likely a typing mistake. */
export const TIMESTAMP_YEARS = { min: 2000, max: 2200 } as const;

/** What is wrong with the year of a timestamp; undefined where it is taken, or there is none. */
export function yearFault(data: unknown): string | undefined {
  const year = /^(\d{4})-\d{2}-\d{2}T\d{2}:\d{2}/.exec(String(data))?.[1];
  const { min, max } = TIMESTAMP_YEARS;
  if (year === undefined || (Number(year) >= min && Number(year) <= max)) return undefined;
  return Number(year) < min
    ? `is too early: timestamps are taken from ${min}-01-01T00:00:00Z on`
    : `is too late: timestamps are taken until ${max}-12-31T23:59:59.999Z`;
}

function formatMessage(format: string, data: unknown): string {
  switch (format) {
    case "uuid":
      return "must be a UUID";
    case "timestamp":
      return (
        yearFault(data) ??
        "must be a full ISO 8601 timestamp with Z or an offset, such as 2026-01-31T12:00:00.000Z"
      );
    case "date":
      return "must be a date such as 2026-01-31";
    case "currency":
      return "must be a 3-letter ISO-4217 currency code such as USD";
    case "country":
      return `must be a country of ISO 3166-1 such as DE`;
    case "name":
      return "must have a character that can be seen";
    default:
      return `must be a valid ${format}`;
  }
}

/** A sentence that says what was most likely meant. */
export function faultHint({ keyword, params, data }: SchemaFault): string | undefined {
  if (keyword !== "format" || params.format !== "country") return undefined;
  const country = COUNTRY_MEANT[String(data)];
  return country === undefined ? undefined : `Did you mean ${country}?`;
}
