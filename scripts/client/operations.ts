// What the client has to know of each operation, read from the OpenAPI document.

import type { AnswerKind } from "../../src/client/call.ts";
import type { Route } from "../../src/http/route.ts";
import { LOOKUP, type Lookup } from "../../src/schema/common.ts";
import {
  nameOf,
  type OpenApiDocument,
  type Operation,
  type Parameter,
  type Reference,
  type SchemaObject,
} from "../../src/schema/openapi.ts";
import { type Declared, typeOf } from "./types.ts";

const JSON_TYPE = "application/json";

export type ClientOperation = {
  readonly name: string;
  readonly tag: string;
  readonly text: string;
  readonly method: string;
  readonly path: string;
  /** The parameters as they stand in the path. */
  readonly path_names: readonly string[];
  /** The types of what it takes and gives. */
  readonly body: string | undefined;
  readonly query: string | undefined;
  readonly reply: string;
  /** The list answers with one record when this key is given. */
  readonly lookup: { readonly key: string; readonly reply: string } | undefined;
  /** Set for a list: where its rows stand in the reply, and their type. */
  readonly rows: { readonly key: string; readonly type: string } | undefined;
  readonly body_required: boolean;
  readonly answer: AnswerKind;
  /** Whether X-Project-Id is sent. */
  readonly project: boolean;
  /** Whether an Idempotency-Key is sent. */
  readonly keyed: boolean;
  /** Which of these types no other operation has. */
  readonly declared: readonly Declared[];
};

/** `document` is made of these routes. */
export function operationsOf(
  document: OpenApiDocument,
  routes: readonly Route[],
): ClientOperation[] {
  const lookups = new Map(routes.map(({ id, reply }) => [id, lookupIn(reply[1])]));
  return Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]) =>
      clientOperation(path, method.toUpperCase(), operation, lookups.get(operation.operationId)),
    ),
  );
}

function lookupIn(reply: object | null): Lookup | undefined {
  return (reply as { readonly [LOOKUP]?: Lookup } | null)?.[LOOKUP];
}

function clientOperation(
  path: string,
  method: string,
  operation: Operation,
  by: Lookup | undefined,
): ClientOperation {
  const { operationId: name, requestBody, summary, description } = operation;
  const prefix = name.charAt(0).toUpperCase() + name.slice(1);
  const declared: Declared[] = [];
  const typed = (type: string, schema: SchemaObject, in_query = false): string => {
    const known = nameOf(schema);
    if (known !== undefined) return known;
    declared.push({ name: type, schema, in_query });
    return type;
  };
  const body = requestBody?.content[JSON_TYPE].schema;
  const query = querySchema(operation);
  const lookup = by && lookupBodies(operation, by);
  const reply = lookup?.list ?? replySchema(operation);
  const replyType = () => {
    if (reply === undefined) return documentType(operation);
    // A reply of one field needs no name: it is written where it is used.
    if (Object.keys(reply.properties ?? {}).length === 1) return typeOf(reply);
    return typed(`${prefix}Reply`, reply);
  };
  return {
    name,
    tag: operation.tags[0],
    text: [summary, description].flatMap((each) => (each ? [sentence(each)] : [])).join(" "),
    method,
    path,
    path_names: parameters(operation, "path").map((each) => each.name),
    body: body && typed(`${prefix}Body`, body),
    query: query && typed(`${prefix}Query`, query, true),
    reply: replyType(),
    lookup: lookup && { key: lookup.key, reply: typeOf(lookup.one) },
    rows: rowsIn(reply),
    answer: answerOf(operation),
    body_required: requestBody?.required === true,
    project: hasHeader(operation, "ProjectId") || hasHeader(operation, "OptionalProjectId"),
    keyed: hasHeader(operation, "IdempotencyKey"),
    declared,
  };
}

/** Every list says whether there is more, and has its rows beside that. */
function rowsIn(reply: SchemaObject | undefined) {
  const { properties = {} } = reply ?? {};
  if (properties.has_more === undefined) return undefined;
  const [rows] = Object.entries(properties).filter(([, field]) => field.type === "array");
  if (rows === undefined) return undefined;
  const [key, { items = {} }] = rows;
  return { key, type: typeOf(items) };
}

function sentence(text: string): string {
  return text.endsWith(".") ? text : `${text}.`;
}

function replySchema(operation: Operation): SchemaObject | undefined {
  return contentOf(operation)[JSON_TYPE]?.schema;
}

/** A reply that is not JSON: text as a string, other documents as bytes. */
function documentType(operation: Operation): string {
  const [type] = Object.keys(contentOf(operation));
  if (type === undefined) return "void";
  return type.startsWith("text/") ? "string" : "Uint8Array";
}

function answerOf(operation: Operation): AnswerKind {
  const answers = Object.entries(operation.responses).filter(([status]) => status.startsWith("2"));
  const hasNone = answers.some(([, each]) => !("$ref" in each) && each.content === undefined);
  const types = Object.keys(contentOf(operation));
  if (types.length === 0) return "none";
  if (!types.includes(JSON_TYPE)) return "document";
  return hasNone ? "json or none" : "json";
}

function contentOf(operation: Operation): Readonly<Record<string, { schema: SchemaObject }>> {
  const [first] = Object.entries(operation.responses).filter(([status]) => status.startsWith("2"));
  const response = first?.[1];
  return response === undefined || "$ref" in response ? {} : (response.content ?? {});
}

function querySchema(operation: Operation): SchemaObject | undefined {
  const inQuery = parameters(operation, "query");
  if (inQuery.length === 0) return undefined;
  const properties = inQuery.map(({ name, description, schema }) => [
    name,
    { ...schema, ...(description === undefined ? {} : { description }) },
  ]);
  const required = inQuery.filter((each) => each.required).map((each) => each.name);
  return { type: "object", properties: Object.fromEntries(properties), required };
}

/** The document has a choice of the list and the one record; the client has a type of each. */
function lookupBodies(operation: Operation, { key }: Lookup) {
  const [list = {}, one = {}] = replySchema(operation)?.oneOf ?? [];
  return { key, list, one };
}

function parameters(operation: Operation, place: Parameter["in"]): Parameter[] {
  return (operation.parameters ?? []).flatMap((each) =>
    "in" in each && each.in === place ? [each] : [],
  );
}

function hasHeader(operation: Operation, name: string): boolean {
  const refs = (operation.parameters ?? []).flatMap((each: Parameter | Reference) =>
    "$ref" in each ? [each.$ref] : [],
  );
  return refs.includes(`#/components/parameters/${name}`);
}
