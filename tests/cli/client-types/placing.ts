// Which type stands in which file of src/client/types: one file for each tag of the document.

import { CursorQuery, PageQuery } from "../../../src/schema/common.ts";
import type { OpenApiDocument, SchemaObject } from "../../../src/schema/openapi.ts";
import { methodOf } from "./methods.ts";
import type { ClientOperation } from "./operations.ts";
import { type Declared, declaration, namesIn, valueDeclarations } from "./types.ts";

export type TypesFile = {
  /** Without folder and ending, such as `invoices`. */
  readonly name: string;
  readonly says: string;
  /** By the name of what is declared. */
  readonly declarations: Map<string, string>;
};

/** Fields that many queries and replies have. What holds another comes before it. */
const SHARED_FIELDS = {
  CursorQuery: Object.keys(CursorQuery),
  PageQuery: Object.keys(PageQuery),
  CursorPage: ["cursor", "has_more", "total_count"],
  Page: ["has_more", "total_count"],
};

/**
 * A record stands with the first operation that needs it, and what it is made of stands there or
 * earlier: so no two files need one another.
 */
export function placedTypes(
  document: OpenApiDocument,
  operations: readonly ClientOperation[],
): TypesFile[] {
  const { schemas } = document.components;
  const shared = sharedTypes(operations);
  const placed = new Set<string>();
  const placeRecords = (file: TypesFile, names: readonly string[]): void => {
    for (const name of names) {
      const schema = schemas[name];
      if (schema === undefined || placed.has(name)) continue;
      placed.add(name);
      const text = declaration({ name, schema }, basesOf(name, schemas));
      file.declarations.set(name, text);
      placeRecords(file, namesIn(text));
    }
  };
  const files = new Map<string, TypesFile>();
  for (const operation of operations) {
    const file = files.get(operation.tag) ?? fileOf(operation);
    files.set(operation.tag, file);
    const own = new Map(operation.declared.map((each) => [each.name, declaration(each, shared)]));
    placeRecords(file, namesIn([methodOf(operation), ...own.values()].join("\n")));
    for (const [name, text] of own) file.declarations.set(name, text);
  }
  const common = commonFile(shared);
  placeRecords(common, Object.keys(schemas));
  return [...files.values(), common].sort((a, b) => (a.name < b.name ? -1 : 1));
}

/** Named by its path, as the files of the resource are elsewhere. */
function fileOf({ tag, path }: ClientOperation): TypesFile {
  const [, name = ""] = /^\/(?:v1\/)?([^/]+)/.exec(path) ?? [];
  return { name, says: `the types of ${tag}`, declarations: new Map() };
}

function commonFile(shared: readonly Declared[]): TypesFile {
  const declarations = new Map(valueDeclarations());
  for (const each of shared.toReversed()) declarations.set(each.name, declaration(each, shared));
  return { name: "common", says: "types that many others use", declarations };
}

/** As the first query or reply has them that has them all. */
function sharedTypes(operations: readonly ClientOperation[]): Declared[] {
  const all = operations.flatMap((each) => each.declared);
  return Object.entries(SHARED_FIELDS).flatMap(([name, fields]) => {
    const first = all.find(({ schema }) => fields.every((field) => schema.properties?.[field]));
    if (first === undefined) return [];
    const { properties = {} } = first.schema;
    const picked = Object.entries(properties).filter(([field]) => fields.includes(field));
    const schema = { ...first.schema, properties: Object.fromEntries(picked) };
    return [{ ...first, name, schema }];
  });
}

/** `InvoiceWithFees` may be an `Invoice` and more; names that have nothing in common are not. */
function basesOf(name: string, schemas: Readonly<Record<string, SchemaObject>>): Declared[] {
  return Object.entries(schemas)
    .filter(([other]) => name.startsWith(other))
    .map(([other, schema]) => ({ name: other, schema }));
}
