// Converts our schemas to those of the OpenAPI document: schemas with a title become components
// that are referenced.

import type { TSchema } from "typebox";
import { SCHEMA_REF, type SchemaObject } from "../../schema/openapi.ts";
import { type PlainSchema, standardSchema } from "../../schema/standard-schema.ts";

/** Converts schemas and collects those with a title as components. */
export class Schemas {
  readonly #named = new Map<string, SchemaObject>();

  convert(schema: TSchema): SchemaObject {
    return this.#convert(schema as PlainSchema);
  }

  /** In alphabetical order, so that the order of routes does not change the document. */
  get components(): Record<string, SchemaObject> {
    const entries = [...this.#named].sort(([a], [b]) => (a < b ? -1 : 1));
    return Object.fromEntries(entries);
  }

  #convert(schema: PlainSchema): SchemaObject {
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

  #plain(schema: PlainSchema): SchemaObject {
    return standardSchema(schema, { ownKeyword, inner: (each) => this.#convert(each) });
  }
}

/** Shown as it is where the standard has no keyword for it. */
function ownKeyword(keyword: string, value: unknown): PlainSchema {
  if (keyword === "x-must") return {};
  return keyword === "x-at-least-one" ? { minProperties: 1 } : { [keyword]: value };
}
