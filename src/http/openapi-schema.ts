// Turns our schemas into those of the OpenAPI document: named ones are lifted out and referenced,
// our own keywords become standard ones where there are such.

import type { TSchema } from "typebox";

/** JSON Schema as far as the document uses it. */
export type SchemaObject = {
  readonly $ref?: string;
  readonly title?: string;
  readonly description?: string;
  readonly type?: string | readonly string[];
  readonly contentMediaType?: string;
  readonly format?: string;
  readonly pattern?: string;
  readonly enum?: readonly unknown[];
  readonly const?: unknown;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly minProperties?: number;
  readonly items?: SchemaObject;
  readonly properties?: Readonly<Record<string, SchemaObject>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean | SchemaObject;
  readonly anyOf?: readonly SchemaObject[];
  readonly oneOf?: readonly SchemaObject[];
  readonly allOf?: readonly SchemaObject[];
  readonly "x-max-bytes"?: number;
};

const REF = "#/components/schemas/";

type Plain = { readonly [key: string]: unknown };

/** Collects the named schemas while it converts. */
export class Schemas {
  readonly #named = new Map<string, SchemaObject>();

  convert(schema: TSchema): SchemaObject {
    return this.#convert(schema as Plain);
  }

  /** In alphabetical order, whichever route came first. */
  get components(): Record<string, SchemaObject> {
    const entries = [...this.#named].sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(entries);
  }

  #convert(schema: Plain): SchemaObject {
    const { title, type } = schema;
    if (typeof title !== "string") return this.#plain(schema);
    if (Array.isArray(type)) {
      const [real, ...others] = type.filter((each) => each !== "null");
      if (others.length > 0) return this.#plain(schema);
      return { anyOf: [this.#convert({ ...schema, type: real }), { type: "null" }] };
    }
    const body = this.#plain(schema);
    const known = this.#named.get(title);
    if (known === undefined) this.#named.set(title, body);
    else if (JSON.stringify(known) !== JSON.stringify(body)) {
      throw new Error(`Two different schemas have the title ${title}.`);
    }
    return { $ref: `${REF}${title}` };
  }

  #plain(schema: Plain): SchemaObject {
    const plain: Record<string, unknown> = {};
    for (const [keyword, value] of Object.entries(schema)) {
      Object.assign(plain, this.#keyword(keyword, value));
    }
    return plain;
  }

  #keyword(keyword: string, value: unknown): Plain {
    switch (keyword) {
      case "format":
        // `currency` is checked against ISO 4217; its pattern says what a client can check.
        if (value === "currency") return {};
        return { format: value === "timestamp" ? "date-time" : value };
      case "x-at-least-one":
        return { minProperties: 1 };
      case "properties":
      case "patternProperties": {
        const entries = Object.entries(value as Record<string, Plain>);
        return { [keyword]: Object.fromEntries(entries.map(([k, v]) => [k, this.#convert(v)])) };
      }
      case "items":
      case "not":
        return { [keyword]: this.#convert(value as Plain) };
      case "additionalProperties":
        return { [keyword]: typeof value === "object" ? this.#convert(value as Plain) : value };
      case "anyOf":
      case "oneOf":
      case "allOf":
        return { [keyword]: (value as Plain[]).map((each) => this.#convert(each)) };
      default:
        return keyword.startsWith("~") ? {} : { [keyword]: value };
    }
  }
}

/** The schema itself, or the named one it points at. */
export function resolved(
  schema: SchemaObject,
  named: Readonly<Record<string, SchemaObject>>,
): SchemaObject {
  const name = nameOf(schema);
  return name === undefined ? schema : (named[name] ?? schema);
}

export function nameOf(schema: SchemaObject): string | undefined {
  return schema.$ref?.startsWith(REF) ? schema.$ref.slice(REF.length) : undefined;
}
