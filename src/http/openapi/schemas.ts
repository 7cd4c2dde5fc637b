// Converts our schemas to those of the OpenAPI document: schemas with a title become components
// that are referenced, and our own keywords become standard ones where there is one.

import type { TSchema } from "typebox";
import { SCHEMA_REF, type SchemaObject } from "../../schema/openapi.ts";

type Plain = { readonly [key: string]: unknown };

/** Converts schemas and collects those with a title as components. */
export class Schemas {
  readonly #named = new Map<string, SchemaObject>();

  convert(schema: TSchema): SchemaObject {
    return this.#convert(schema as Plain);
  }

  /** In alphabetical order, so that the order of routes does not change the document. */
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
    return { $ref: `${SCHEMA_REF}${title}` };
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
        // Our own format for ISO 4217 codes; the pattern beside it is what a client can check.
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
