// Writes each list of the API as a property of the client with an `all` that pages by itself.

import { camel } from "./methods.ts";
import type { ClientOperation } from "./operations.ts";
import { doc } from "./types.ts";

export function isList(operation: ClientOperation): boolean {
  return operation.rows !== undefined;
}

/** `listCreditNotes` is `credit_notes.all()`: its path's parameters, filters, options. */
export function listOf(operation: ClientOperation): string {
  const { name, path_names, query, lookup, rows } = operation;
  if (rows === undefined) throw new Error(`${name} is not a list.`);
  const of = path_names.map(camel);
  const filters = lookup === undefined ? query : `Omit<${query}, "${lookup.key}">`;
  const args = [
    ...of.map((each) => `${each}: string`),
    `filters?: Filters<${filters}>`,
    "options?: CallOptions",
  ].join(", ");
  const given = [...of, "{ limit: PAGE, ...filters, ...paging }", "options"].join(", ");
  const read = `(paging) => this.${name}(${given})`;
  return `${doc(`All rows of ${name}, page by page.`)}readonly ${propertyName(name)} = {
  all: (${args}): AsyncIterableIterator<${rows.type}> => pages("${rows.key}", ${read}),
};`;
}

function propertyName(operation: string): string {
  const plural = operation.replace(/^list/, "");
  return plural.replace(/(?<!^)[A-Z]/g, (letter) => `_${letter}`).toLowerCase();
}
