// Our schemas as standard JSON Schema, for readers that do not know our own formats and keywords:
// the OpenAPI document, the tools of MCP, and editors of service.yaml.

export type PlainSchema = { readonly [keyword: string]: unknown };

type Choices = {
  /** What replaces a keyword of ours (`x-…`); nothing by default. */
  readonly ownKeyword?: (keyword: string, value: unknown) => PlainSchema;
  /** Converts a schema inside this one; in the same way by default. */
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
    // `currency` is checked against ISO 4217; its pattern says what a reader can check.
    else if (keyword === "format" && value === "currency") continue;
    else if (keyword === "format" && value === "timestamp") standard.format = "date-time";
    else standard[keyword] = converted(keyword, value, inner);
  }
  return standard;
}

/** Only these keywords hold schemas: a `default` or an `enum` is data and stays as it is. */
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
