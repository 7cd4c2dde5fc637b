// Converts our schemas to those of the OpenAPI document: schemas with a title become components
// that are referenced, and every field gets its words and its example.

import type { TSchema } from "typebox";
import { LOOKUP, type Lookup, SHOWN } from "../../schema/common.ts";
import { RECORDS } from "../../schema/meanings/records.ts";
import { describeFields } from "../../schema/meanings.ts";
import { SCHEMA_REF, type SchemaObject } from "../../schema/openapi.ts";
import { type PlainSchema, standardSchema } from "../../schema/standard-schema.ts";

/** Converts schemas and collects those with a title as components. */
export class Schemas {
  readonly #named = new Map<string, SchemaObject>();

  /** Converts a schema. Meanings of fields are looked up under `owners`, the nearest first. */
  convert(schema: TSchema, owners: readonly string[] = []): SchemaObject {
    return describeFields(this.#convert(schema as PlainSchema), owners);
  }

  /** Components in alphabetical order, so that the order of routes does not change the document. */
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
    const meaning = RECORDS[title];
    const body = describeFields(
      { ...this.#plain(schema), ...(meaning !== undefined && { description: meaning }) },
      [title],
    );
    const known = this.#named.get(title);
    if (known === undefined) this.#named.set(title, body);
    else if (JSON.stringify(known) !== JSON.stringify(body)) {
      throw new Error(`Two different schemas have the title ${title}.`);
    }
    return { $ref: `${SCHEMA_REF}${title}` };
  }

  #plain(schema: PlainSchema): SchemaObject {
    const lookup = schema[LOOKUP] as Lookup | undefined;
    const shown = (schema[SHOWN] as PlainSchema | undefined) ?? forGenerators(schema);
    const plain = standardSchema(shown, { ownKeyword, inner: (each) => this.#convert(each) });
    return lookup === undefined ? plain : listOrOne(plain, lookup);
  }
}

/** Leaves out what generators of clients stumble over; the service checks it all the same. */
function forGenerators(schema: PlainSchema): PlainSchema {
  const { uniqueItems, pattern, ...others } = schema;
  return {
    ...others,
    ...(uniqueItems === true && { "x-unique-items": true }),
    ...(pattern !== undefined && schema.format !== "uuid" && { pattern }),
  };
}

/** The two bodies of a list that answers with one record when its key is given. */
function listOrOne({ properties = {} }: SchemaObject, { one }: Lookup): SchemaObject {
  const { [one]: record = {}, ...list } = properties;
  const required = Object.keys(list).filter((name) => !name.startsWith("total_"));
  return {
    oneOf: [
      { type: "object", properties: list, required },
      { type: "object", properties: { [one]: record }, required: [one] },
    ],
  };
}

/** A schema as it is shown, where the standard has no keyword for what it says. */
function ownKeyword(keyword: string, value: unknown): PlainSchema {
  if (keyword === "x-must") return {};
  return keyword === "x-at-least-one" ? { minProperties: 1 } : { [keyword]: value };
}
