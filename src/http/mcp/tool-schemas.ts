// The schemas of tools, made from those of the routes they call.

import type { TSchema } from "typebox";
import { type PlainSchema, standardSchema } from "../../schema/standard-schema.ts";

/** What a tool's caller would write as numbers and booleans is text in a query. */
const TYPED: Readonly<Record<string, PlainSchema>> = {
  limit: { type: "integer", minimum: 1, maximum: 1000 },
  offset: { type: "integer", minimum: 0 },
  all: { type: "boolean" },
  count: { type: "boolean" },
  archived: { type: "boolean" },
};

/** The filters and paging of a list route as arguments. */
export function argumentsOf(query: TSchema | undefined, leftOut: readonly string[]): PlainSchema {
  const { properties = {} } = standardSchema(query ?? {}) as { properties?: PlainSchema };
  const kept = Object.entries(properties).filter(([name]) => !leftOut.includes(name));
  return {
    type: "object",
    properties: Object.fromEntries(
      kept.map(([name, shape]) => {
        const { description } = shape as PlainSchema;
        const typed = TYPED[name];
        return [name, typed === undefined ? shape : { ...typed, ...describing(description) }];
      }),
    ),
  };
}

function describing(description: unknown): PlainSchema {
  return description === undefined ? {} : { description };
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
