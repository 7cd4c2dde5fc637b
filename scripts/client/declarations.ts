// Which types the client declares, in the order in which src/client/types.ts has them.

import { CursorQuery, PageQuery } from "../../src/schema/common.ts";
import type { OpenApiDocument, Operation, SchemaObject } from "../../src/schema/openapi.ts";
import { TEST_EVENT, WEBHOOK_EVENTS } from "../../src/schema/webhooks.ts";
import { methodOf } from "./methods.ts";
import type { ClientOperation } from "./operations.ts";
import { type Declared, declaration, namesIn, typeOf, valueDeclarations } from "./types.ts";

export type Section = {
  readonly title: string;
  /** Texts by the names that they declare. */
  readonly declarations: Map<string, string>;
};

/** Fields that many queries and replies have. A set that holds another one comes before it. */
const SHARED_FIELDS = {
  CursorQuery: Object.keys(CursorQuery),
  PageQuery: Object.keys(PageQuery),
  CursorPage: ["cursor", "has_more", "total_count"],
  Page: ["has_more", "total_count"],
};

/** One section per tag, after the types that many use; a record is in the first that needs it. */
export function declarationsOf(
  document: OpenApiDocument,
  operations: readonly ClientOperation[],
): Section[] {
  const { schemas } = document.components;
  const shared = sharedTypes(operations);
  const placed = new Set<string>();
  const placeRecords = (section: Section, names: readonly string[]): void => {
    for (const name of names) {
      const schema = schemas[name];
      if (schema === undefined || placed.has(name)) continue;
      placed.add(name);
      const text = declaration({ name, schema }, basesOf(name, schemas));
      section.declarations.set(name, text);
      placeRecords(section, namesIn(text));
    }
  };
  const sections = new Map<string, Section>();
  for (const operation of operations) {
    const { tag } = operation;
    const section = sections.get(tag) ?? { title: tag, declarations: new Map() };
    sections.set(tag, section);
    const own = new Map(operation.declared.map((each) => [each.name, declaration(each, shared)]));
    placeRecords(section, namesIn([methodOf(operation), ...own.values()].join("\n")));
    for (const [name, text] of own) section.declarations.set(name, text);
  }
  const events: Section = { title: "Webhook events", declarations: eventDeclarations(document) };
  placeRecords(events, namesIn([...events.declarations.values()].join("\n")));
  const common = commonSection(shared);
  common.declarations.set("ErrorCode", errorCodes(document));
  placeRecords(common, Object.keys(schemas));
  return [common, ...sections.values(), events];
}

function errorCodes(document: OpenApiDocument): string {
  const codes = Object.keys(document["x-error-codes"]).map((code) => JSON.stringify(code));
  return `/** What a refusal can be; the message says it in words. */
export type ErrorCode = ${codes.join(" | ")};`;
}

type Sent = { readonly post: Pick<Operation, "requestBody"> };

/** What endpoints are sent, told apart by `event`, as far as the document says what each holds. */
function eventDeclarations(document: OpenApiDocument): Map<string, string> {
  const { webhooks } = document as { readonly webhooks?: Readonly<Record<string, Sent>> };
  const events = [...WEBHOOK_EVENTS, TEST_EVENT].map((event) => {
    const schema = webhooks?.[event]?.post.requestBody?.content["application/json"].schema;
    const data = "Readonly<Record<string, unknown>>";
    return schema === undefined
      ? `{ readonly event: "${event}"; readonly created_at: string; readonly data: ${data} }`
      : typeOf(schema);
  });
  const text = `/** What an endpoint is sent: \`event\` tells which it is. */
export type WebhookEvent = ${events.join(" | ")};`;
  return new Map([["WebhookEvent", text]]);
}

function commonSection(shared: readonly Declared[]): Section {
  const declarations = new Map(valueDeclarations());
  for (const each of shared.toReversed()) declarations.set(each.name, declaration(each, shared));
  return { title: "Common", declarations };
}

/** Takes the fields of each set from the first query or reply that has all of them. */
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

/** What a record may extend: `InvoiceWithFees` starts with `Invoice` and can have all of it. */
function basesOf(name: string, schemas: Readonly<Record<string, SchemaObject>>): Declared[] {
  return Object.entries(schemas)
    .filter(([other]) => name.startsWith(other))
    .map(([other, schema]) => ({ name: other, schema }));
}
