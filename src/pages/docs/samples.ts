// Example requests and answers for the reference, made from the examples of the document.

import {
  nameOf,
  type OpenApiDocument,
  type Operation,
  type Parameter,
  type Response,
  resolved,
  type SchemaObject,
} from "../../schema/openapi.ts";
import { between, type Html, html } from "../html.ts";

type NamedSchemas = Readonly<Record<string, SchemaObject>>;

/** What samples are made of: the named schemas, and by record the example of the request for it. */
export type Examples = {
  readonly named: NamedSchemas;
  readonly requests: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Records that are not written out in this answer, but named: another has them in full. */
  readonly elsewhere?: ReadonlySet<string>;
};

const DEPTH_MAX = 8;
/** How deep the record of an answer stands at most: in a field, or in a list that is one. */
const ANSWER_DEPTH = 2;
/** The sign before the name of a record that stands for its sample. */
const NAMED = "→";
const JSON_TYPE = "application/json";

/** The example requests of the document, by the record in their answer. */
export function examplesOf(document: OpenApiDocument): Examples {
  const requests: Record<string, Record<string, unknown>> = {};
  for (const operation of Object.values(document.paths).flatMap((each) => Object.values(each))) {
    const example = operation.requestBody?.content[JSON_TYPE].example;
    const [answer] = Object.values(operation.responses);
    if (typeof example !== "object" || example === null || !answer || "$ref" in answer) continue;
    const { properties = {} } = answer.content?.[JSON_TYPE]?.schema ?? {};
    const [name] = Object.values(properties).flatMap((each) => nameOf(each) ?? []);
    if (name !== undefined) requests[name] = { ...requests[name], ...example };
  }
  return { named: document.components.schemas, requests };
}

/** Where a sample value is needed; `given` is the value in the example request. */
type Place = { readonly given?: unknown; readonly depth: number };

/** A value that fits the schema; optional fields only where none is required. */
export function sampleOf(
  schema: SchemaObject,
  examples: Examples,
  place: Place = { depth: 0 },
): unknown {
  const { given, depth } = place;
  const record = nameOf(schema);
  if (record !== undefined && depth <= ANSWER_DEPTH && examples.elsewhere?.has(record)) {
    return `${NAMED}${record}`;
  }
  const shape = resolved(schema, examples.named);
  const types = [shape.type].flat();
  // A request may name a record by the caller's own id, an answer has ours.
  const isOwnId = shape.format === "uuid" && String(given).startsWith("ext:");
  if (typeof given !== "object" && types.includes(typeOf(given)) && !isOwnId) return given;
  if (shape.const !== undefined) return shape.const;
  const isSent = typeof given === "object" && given !== null;
  const [example] = schema.examples ?? shape.examples ?? [];
  if (example !== undefined && !isSent) return example;
  const [first] = shape.anyOf ?? shape.oneOf ?? shape.allOf ?? [];
  if (first !== undefined) return sampleOf(first, examples, place);
  if (shape.items !== undefined && types.includes("array")) {
    const { items } = shape;
    return listOf(given).map((one) => sampleOf(items, examples, { given: one, depth: depth + 1 }));
  }
  if (!types.includes("object")) return example ?? null;
  const request = isSent ? (given as Record<string, unknown>) : examples.requests[record ?? ""];
  return sampleObject(shape, examples, request ?? {}, depth);
}

/** The entries that the example request has, else one of which nothing is known. */
function listOf(given: unknown): unknown[] {
  return Array.isArray(given) ? given : [undefined];
}

function typeOf(value: unknown): string {
  return typeof value === "number" ? "integer" : typeof value;
}

function sampleObject(
  shape: SchemaObject,
  examples: Examples,
  request: Readonly<Record<string, unknown>>,
  depth: number,
): unknown {
  if (depth >= DEPTH_MAX) return {};
  // A free-form object is what the example request sent.
  if (shape.properties === undefined) return request;
  const fields = Object.entries(shape.properties);
  const required = shape.required ?? [];
  const wanted = fields.filter(([name], i) =>
    required.length > 0 ? required.includes(name) : i === 0 || name === "has_more",
  );
  return Object.fromEntries(
    wanted.map(([name, field]) => {
      return [name, sampleOf(field, examples, { given: request[name], depth: depth + 1 })];
    }),
  );
}

export type Call = {
  readonly method: string;
  readonly url: string;
  readonly operation: Operation;
  readonly parameters: readonly Parameter[];
};

/** What a call sends, unless it may be left out and nothing shows what it could be. */
function bodyOf({ operation }: Call, examples: Examples): unknown {
  const { requestBody } = operation;
  if (requestBody === undefined) return undefined;
  const { example, schema } = requestBody.content[JSON_TYPE];
  return example ?? (requestBody.required ? sampleOf(schema, examples) : undefined);
}

/** A command line to paste; `$TOKEN`, `$PROJECT` and ids are variables that the reader sets. */
export function curl(call: Call, examples: Examples): string {
  const { method, operation, parameters } = call;
  const path = call.url.replace(/\{(\w+)\}/g, (_, name: string) => `$${shellName(name)}`);
  const query = parameters
    .filter((parameter) => parameter.in === "query" && parameter.required)
    .map(({ name, schema }) => `${name}=${String(sampleOf(schema, examples))}`)
    .join("&");
  const url = query === "" ? path : `${path}?${query}`;
  const quoted = /[$&?]/.test(url) ? `"${url}"` : url;
  const lines = [`curl ${method === "GET" ? "" : `-X ${method} `}${quoted}`];
  if (operation.security.length > 0) lines.push('-H "Authorization: Bearer $TOKEN"');
  if (parameters.some(({ name, required }) => name === "X-Project-Id" && required)) {
    lines.push('-H "X-Project-Id: $PROJECT"');
  }
  const body = bodyOf(call, examples);
  if (body !== undefined) {
    const text = JSON.stringify(body, null, 2).replaceAll("'", "'\\''");
    lines.push('-H "Content-Type: application/json"', `-d '${text.replaceAll("\n", "\n  ")}'`);
  }
  return lines.join(" \\\n  ");
}

function shellName(name: string): string {
  return name.replace(/([a-z])([A-Z])/g, "$1_$2").toUpperCase();
}

/** A call by the client: the operation's id is the name of its method. */
export function typescript(call: Call, examples: Examples): string {
  const { operation, parameters } = call;
  const body = bodyOf(call, examples);
  const args = [
    ...parameters.filter((each) => each.in === "path").map(({ name }) => camel(name)),
    ...(body === undefined ? [] : [literal(body)]),
  ];
  return `${target(operation)}await dues.${operation.operationId}(${args.join(", ")});`;
}

/** What the answer is kept as. */
function target({ responses }: Operation): string {
  const [response] = Object.values(responses);
  const content = (response as Response | undefined)?.content;
  if (content === undefined) return "";
  const schema = content[JSON_TYPE]?.schema;
  if (schema === undefined) return "const document = ";
  const body = schema.oneOf?.[0] ?? schema;
  const names = Object.keys(body.properties ?? {}).filter((name) => body.required?.includes(name));
  return names.length === 0 ? "const reply = " : `const { ${names.join(", ")} } = `;
}

function camel(name: string): string {
  return name.replace(/_(\w)/g, (_, letter: string) => letter.toUpperCase());
}

/** JSON with keys as TypeScript has them. */
function literal(value: unknown): string {
  return JSON.stringify(value, null, 2).replace(/^(\s*)"([A-Za-z_]\w*)":/gm, "$1$2:");
}

/**
 * JSON with keys in <b> and texts in <i>, which the style sheet colours. `links` are the places
 * where the records that are only named here are written out.
 */
export function highlighted(value: unknown, links: ReadonlyMap<string, string> = new Map()): Html {
  const pieces = JSON.stringify(value, null, 2).split(/("(?:[^"\\]|\\.)*"(?=:)|"(?:[^"\\]|\\.)*")/);
  return html`${pieces.map((piece, i) => {
    if (i % 2 === 0) return between(piece);
    const named = piece.slice(1 + NAMED.length, -1);
    const place = piece.startsWith(`"${NAMED}`) ? links.get(named) : undefined;
    if (place !== undefined) return html`<a href="#${place}">${named}</a>`;
    const text = between(piece);
    return pieces[i + 1]?.startsWith(":") ? html`<b>${text}</b>` : html`<i>${text}</i>`;
  })}`;
}

/** Code in a frame, which can be scrolled by keyboard; the script adds a button to copy it. */
export function figure(caption: string, body: Html, kind?: "sh" | "ts"): Html {
  const mark = kind !== undefined && html` class="${kind}"`;
  return html`<figure${mark}><figcaption>${caption}</figcaption><pre tabindex="0"><code>${body}</code></pre></figure>`;
}
