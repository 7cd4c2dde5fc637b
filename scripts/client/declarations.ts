// Which types the client declares, in the order in which src/client/types.ts has them.

import type { TProperties } from "typebox";
import { CursorQuery, WholeQuery } from "../../src/schema/common.ts";
import type { OpenApiDocument, SchemaObject } from "../../src/schema/openapi.ts";
import type { Named } from "./forms.ts";
import { methodOf } from "./methods.ts";
import type { ClientOperation } from "./operations.ts";
import {
  type Declared,
  declaration,
  doc,
  namedIn,
  namesIn,
  typeOf,
  valueDeclarations,
} from "./types.ts";

export type Section = {
  readonly title: string;
  /** Texts by the names that they declare. */
  readonly declarations: Map<string, string>;
};

type Shared = {
  readonly name: string;
  readonly description: string;
  /** Names of the fields; a description, where there is one, tells two fields of one name apart. */
  readonly fields: Readonly<Record<string, string | undefined>>;
};

const PAGE = { has_more: undefined, total_count: undefined, total_at_least: undefined };

/** Fields that many queries and replies have. */
const SHARED: readonly Shared[] = [
  {
    name: "CursorQuery",
    description: "What every list takes.",
    fields: described(CursorQuery),
  },
  {
    name: "WholeQuery",
    description: "What lists take that are answered as a whole unless a limit is given.",
    fields: described(WholeQuery),
  },
  { name: "Page", description: "What every list says beside its rows.", fields: PAGE },
  {
    name: "CursorPage",
    description: "A page that says where the next one begins.",
    fields: { ...PAGE, cursor: undefined },
  },
];

function described(properties: TProperties): Shared["fields"] {
  const entries = Object.entries(properties as Record<string, SchemaObject>);
  return Object.fromEntries(entries.map(([name, { description }]) => [name, description]));
}

/**
 * One section per tag, after the types that many use; a record is in the first that needs it. In
 * full no type is written by another one: what the short forms are held to.
 */
export function declarationsOf(
  document: OpenApiDocument,
  operations: readonly ClientOperation[],
  in_full = false,
): Section[] {
  return new Declarations(document, in_full).sections(operations);
}

class Declarations {
  readonly #document: OpenApiDocument;
  readonly #events: readonly string[];
  readonly #placed = new Set<string>();
  /** What was declared so far: a type is written by those above it alone. */
  readonly #known: Named[] = [];
  readonly #in_full: boolean;

  constructor(document: OpenApiDocument, in_full: boolean) {
    this.#document = document;
    this.#in_full = in_full;
    this.#events = eventTypes(document);
  }

  sections(operations: readonly ClientOperation[]): Section[] {
    const common: Section = { title: "Common", declarations: new Map(valueDeclarations()) };
    for (const each of sharedTypes(operations)) {
      this.#declare(common, each);
      this.#know(each);
    }
    common.declarations.set("ErrorCode", errorCodes(this.#document));
    const sections = new Map<string, Section>();
    for (const operation of operations) {
      const { tag, declared } = operation;
      const section = sections.get(tag) ?? { title: tag, declarations: new Map() };
      sections.set(tag, section);
      const texts = [methodOf(operation), ...declared.map((each) => declaration(each, []))];
      this.#placeRecords(section, namesIn(texts.join("\n")));
      for (const each of declared) this.#declare(section, each);
      // A query is not written by that of another list, which may come to take something else.
      for (const each of declared) if (each.in_query !== true) this.#know(each);
    }
    const webhooks: Section = { title: "Webhook events", declarations: new Map() };
    webhooks.declarations.set("WebhookEvent", eventUnion(this.#events));
    webhooks.declarations.set("WebhookBody", this.#webhookBody());
    this.#placeRecords(webhooks, this.#events);
    this.#placeRecords(common, Object.keys(this.#document.components.schemas));
    return [common, ...sections.values(), webhooks];
  }

  /** What a record refers to stands below it. */
  #placeRecords(section: Section, names: readonly string[]): void {
    for (const name of names) {
      const schema = this.#document.components.schemas[name];
      if (schema === undefined || this.#placed.has(name)) continue;
      this.#placed.add(name);
      this.#declare(section, { name, schema });
      this.#know({ name, schema });
      this.#placeRecords(section, namesIn(declaration({ name, schema }, [])));
    }
  }

  #know(declared: Declared): void {
    if (!this.#in_full) this.#known.push(...namedIn(declared));
  }

  #declare({ declarations }: Section, declared: Declared): void {
    const isEvent = this.#events.includes(declared.name) && !this.#in_full;
    const write = isEvent ? eventDeclaration : declaration;
    declarations.set(declared.name, write(declared, this.#known));
  }

  /** The three fields of every event, from the first of them. */
  #webhookBody(): string {
    const [first = ""] = this.#events;
    const { properties = {} } = this.#document.components.schemas[first] ?? {};
    const types = { event: "Event", created_at: "string", data: "Data" };
    const lines = Object.entries(types).map(([name, type]) => {
      return `${doc(properties[name]?.description)}readonly ${name}: ${type};`;
    });
    return `/** The body of a webhook. */
export type WebhookBody<Event extends string, Data> = {\n${lines.join("\n")}\n};`;
  }
}

function eventDeclaration({ name, schema }: Declared, known: readonly Named[]): string {
  const { event = {}, data = {} } = schema.properties ?? {};
  const types = [typeOf(event), typeOf(data, { known, subject: "Data" })];
  return `${doc(schema.description)}export type ${name} = WebhookBody<${types.join(", ")}>;`;
}

function errorCodes(document: OpenApiDocument): string {
  const codes = Object.keys(document["x-error-codes"]).map((code) => JSON.stringify(code));
  return `/** What a refusal can be; the message says it in words. */
export type ErrorCode = ${codes.join(" | ")};`;
}

function eventTypes(document: OpenApiDocument): string[] {
  return Object.values(document["x-webhooks"]).map(({ post }) =>
    typeOf(post.requestBody.content["application/json"].schema),
  );
}

function eventUnion(events: readonly string[]): string {
  return `/** What an endpoint is sent: \`event\` tells which it is. */
export type WebhookEvent = ${events.join(" | ")};`;
}

/** Takes the fields of each set from the first query or reply that has all of them. */
function sharedTypes(operations: readonly ClientOperation[]): Declared[] {
  const all = operations.flatMap((each) => each.declared);
  return SHARED.flatMap(({ name, description, fields }) => {
    const first = all.find(({ schema }) => hasAll(schema, fields));
    if (first === undefined) return [];
    const { properties = {} } = first.schema;
    const picked = Object.entries(properties).filter(([field]) => Object.hasOwn(fields, field));
    const schema = { ...first.schema, description, properties: Object.fromEntries(picked) };
    return [{ ...first, name, schema }];
  });
}

function hasAll({ properties = {} }: SchemaObject, fields: Shared["fields"]): boolean {
  return Object.entries(fields).every(([name, description]) => {
    const found = properties[name];
    return found !== undefined && [undefined, found.description].includes(description);
  });
}
