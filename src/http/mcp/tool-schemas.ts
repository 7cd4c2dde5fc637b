// The schemas of tools, made from those of the routes they call.

import type { TSchema } from "typebox";

export type PlainSchema = { readonly [keyword: string]: unknown };

/** Standard JSON Schema: without formats and keywords that only our own checker knows. */
export function plainSchema(schema: TSchema | PlainSchema): PlainSchema {
  return plain(schema) as PlainSchema;
}

function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value !== "object" || value === null) return value;
  const entries = Object.entries(value).flatMap(([key, each]) => {
    if (key.startsWith("x-") || key.startsWith("~")) return [];
    if (key === "format" && typeof each === "string") {
      if (each === "currency") return [];
      return [[key, each === "timestamp" ? "date-time" : each]];
    }
    return [[key, plain(each)]];
  });
  return Object.fromEntries(entries);
}

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
  const { properties = {} } = plainSchema(query ?? {}) as { properties?: PlainSchema };
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
