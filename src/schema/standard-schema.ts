// Our schemas as standard JSON Schema, for readers that do not know our own formats and keywords:
// the OpenAPI document, the tools of MCP, and editors of service.yaml.

import { FORMATS } from "./formats.ts";

export type PlainSchema = { readonly [keyword: string]: unknown };

type Choices = {
  /** Replaces a keyword of ours (`x-…`); by default it is left out. */
  readonly ownKeyword?: (keyword: string, value: unknown) => PlainSchema;
  /** Converts a schema inside this one; by default as this one. */
  readonly inner?: (schema: PlainSchema) => PlainSchema;
};

export function standardSchema(schema: object, choices: Choices = {}): PlainSchema {
  const { ownKeyword = () => ({}) } = choices;
  const { inner = (each) => standardSchema(each, { ownKeyword }) } = choices;
  const standard: Record<string, unknown> = {};
  for (const [keyword, value] of Object.entries(schema)) {
    // TypeBox notes its own kinds under names that start with a tilde.
    if (keyword.startsWith("~")) continue;
    if (keyword.startsWith("x-")) Object.assign(standard, ownKeyword(keyword, value));
    // A reader can check the pattern and length, but not what a list or Unicode decides.
    else if (keyword === "format" && Object.hasOwn(FORMATS, String(value))) continue;
    else if (keyword === "format" && value === "timestamp") standard.format = "date-time";
    else standard[keyword] = converted(keyword, value, inner);
  }
  return standard;
}

/** The standard form of a schema as a document of its own, such as editors are given. */
export function schemaDocument(schema: object): PlainSchema {
  return { $schema: "https://json-schema.org/draft/2020-12/schema", ...standardSchema(schema) };
}

/** The value of a keyword. Only these hold schemas: a `default` or an `enum` is data. */
function converted(
  keyword: string,
  value: unknown,
  inner: (schema: PlainSchema) => PlainSchema,
): unknown {
  switch (keyword) {
    case "properties":
    case "patternProperties": {
      const entries = Object.entries(value as Record<string, PlainSchema>);
      return Object.fromEntries(entries.map(([name, each]) => [name, inner(each)]));
    }
    case "items":
    case "not":
    case "additionalProperties":
      return typeof value === "object" ? inner(value as PlainSchema) : value;
    case "anyOf":
    case "oneOf":
    case "allOf":
      return (value as PlainSchema[]).map(inner);
    default:
      return value;
  }
}
