// Values made from a schema: one that fits it, and ones that do not. Routes that nobody has written
// a test for yet are tried with these.

type Schema = {
  readonly type?: string | readonly string[];
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly pattern?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly minimum?: number;
  readonly minItems?: number;
  readonly items?: Schema;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly anyOf?: readonly Schema[];
  readonly "x-at-least-one"?: boolean;
};

export const UNKNOWN_ID = "8f14e45f-ceea-467f-a34e-7d1f1c1b0c11";

const BY_FORMAT: Readonly<Record<string, string>> = {
  uuid: UNKNOWN_ID,
  currency: "USD",
  timestamp: "2026-01-20T12:00:00.000Z",
  "date-time": "2026-01-20T12:00:00.000Z",
  date: "2026-01-20",
  uri: "https://hooks.example.com/dues",
};
const WORDS = ["sample", "1", "a@b.test", "subscription_property.seats", BY_FORMAT.uri ?? ""];

/** The smallest value that fits: required fields alone. */
export function sample(given: unknown): unknown {
  const schema = given as Schema;
  if (schema.const !== undefined) return schema.const;
  if (schema.enum !== undefined) return schema.enum[0];
  if (schema.anyOf !== undefined) return sample(schema.anyOf[0]);
  switch (typesOf(schema)[0]) {
    case "string":
      return text(schema);
    case "integer":
    case "number":
      return schema.minimum ?? 1;
    case "boolean":
      return true;
    case "array":
      return Array.from({ length: schema.minItems ?? 0 }, () => sample(schema.items ?? {}));
    case "object":
      return object(schema);
    default:
      return {};
  }
}

function text(schema: Schema): string {
  if (schema.format !== undefined) return BY_FORMAT[schema.format] ?? "sample";
  const pattern = new RegExp(schema.pattern ?? "", "u");
  const word = WORDS.find((one) => pattern.test(one)) ?? "sample";
  return word.padEnd(schema.minLength ?? 0, "x");
}

function object(schema: Schema): Record<string, unknown> {
  const properties = schema.properties ?? {};
  const first = schema["x-at-least-one"] ? Object.keys(properties).slice(0, 1) : [];
  const wanted = [...(schema.required ?? []), ...first];
  return Object.fromEntries(wanted.map((key) => [key, sample(properties[key] ?? {})]));
}

function typesOf(schema: Schema): readonly string[] {
  if (schema.type === undefined) return [];
  return typeof schema.type === "string" ? [schema.type] : schema.type;
}

const WRONG: Readonly<Record<string, unknown>> = {
  string: 12345,
  integer: "1",
  number: "1",
  boolean: "yes",
  array: "one",
  object: [],
};

/** Bodies that miss the schema in one field each, with the field that is at fault. */
export function misfits(given: unknown): { field: string; body: Record<string, unknown> }[] {
  const schema = given as Schema;
  const good = sample(schema) as Record<string, unknown>;
  const wrong = Object.entries(schema.properties ?? {}).flatMap(([field, property]) => {
    const type = typesOf(property)[0];
    return type === undefined ? [] : [{ field, body: { ...good, [field]: WRONG[type] } }];
  });
  const missing = (schema.required ?? []).map((field) => {
    const { [field]: _, ...body } = good;
    return { field, body };
  });
  return [...wrong, ...missing];
}
