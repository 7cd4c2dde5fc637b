// The schemas of tools, made from those of the routes they call.

import type { TSchema } from "typebox";
import { refuseField } from "../../errors.ts";
import { type PlainSchema, standardSchema } from "../../schema/standard-schema.ts";
import { namesChecker } from "../validation.ts";

/** What a tool's caller would write as numbers and booleans is text in a query. */
const TYPED: Readonly<Record<string, PlainSchema>> = {
  limit: {
    type: "integer",
    minimum: 1,
    maximum: 1000,
    description: "How many at most, 1 to 1000; 10 unless given.",
  },
  offset: { type: "integer", minimum: 0, description: "Skips this many records." },
  all: { type: "boolean", description: "True returns up to 1000 records." },
  count: { type: "boolean", description: "True adds total_count, of all that match." },
  archived: { type: "boolean", description: "True lists archived ones too." },
};

/** Of filters whose routes say no more than their shape. */
const DESCRIPTIONS: Readonly<Record<string, string>> = {
  customer_id: "Only of this customer.",
  plan_id: "Only on this plan, by its UUID.",
  invoice_id: "Only of this invoice, by its UUID.",
  status: "Only in this status.",
  payment_status: "Only in this payment status.",
  external_id: "Only of this name.",
  subscription_id: "Only of this subscription, by its UUID.",
  period_start: "Only whose period starts on this date or later.",
  period_end: "Only whose period ends on this date or earlier.",
};

/** The filters and paging of a list route as arguments. */
export function argumentsOf(query: TSchema | undefined, leftOut: readonly string[]): PlainSchema {
  const { properties = {} } = standardSchema(query ?? {}) as { properties?: PlainSchema };
  const kept = Object.entries(properties).filter(([name]) => !leftOut.includes(name));
  return {
    type: "object",
    additionalProperties: false,
    properties: Object.fromEntries(
      kept.map(([name, shape]) => {
        const typed = TYPED[name] ?? (shape as PlainSchema);
        const text = DESCRIPTIONS[name];
        const isDescribed = typed.description !== undefined;
        return [name, isDescribed || text === undefined ? typed : { ...typed, description: text }];
      }),
    ),
  };
}

/** Names that a tool does not have, and numbers that the route would take for its highest. */
export function checkArguments(
  schema: PlainSchema,
  given: Readonly<Record<string, unknown>>,
): void {
  const properties = (schema.properties ?? {}) as Readonly<Record<string, PlainSchema>>;
  namesChecker("argument", Object.keys(properties))(given);
  const { minimum, maximum } = properties.limit ?? {};
  if (typeof maximum !== "number" || Number(given.limit) <= maximum || !given.limit) return;
  const message = `limit must be a whole number from ${minimum} to ${maximum}.`;
  throw refuseField("limit", "maximum", message);
}

/** Arguments as a query: `true` is 1, numbers are text, and what is neither is refused there. */
export function queryOf(
  given: Readonly<Record<string, unknown>>,
  leftOut: readonly string[],
): Record<string, string> {
  const query: Record<string, string> = {};
  for (const [name, value] of Object.entries(given)) {
    if (value === undefined || value === null || leftOut.includes(name)) continue;
    query[name] = textOf(value);
  }
  return query;
}

function textOf(value: unknown): string {
  if (typeof value === "boolean") return value ? "1" : "0";
  return typeof value === "string" ? value : JSON.stringify(value);
}
