// Example requests and answers for the reference, made from the schemas.

import {
  nameOf,
  type OpenApiDocument,
  type Operation,
  type Parameter,
  resolved,
  type SchemaObject,
} from "../../schema/openapi.ts";
import { between, type Html, html } from "../html.ts";
import { SAMPLE_RECORDS } from "./sample-records.ts";

type NamedSchemas = Readonly<Record<string, SchemaObject>>;

/** What samples are made of: the named schemas, and by record the example of the request for it. */
export type Examples = {
  readonly named: NamedSchemas;
  readonly requests: Readonly<Record<string, Readonly<Record<string, unknown>>>>;
  /** Records that are not written out in this answer, but named: another has them in full. */
  readonly elsewhere?: ReadonlySet<string>;
};

const UUID = "0197a2b4-7c1e-7d3a-9f52-3b8e6a1c4d70";
const DEPTH_MAX = 8;
/** As deep a record stands that an answer is about: in a field, or in a list that is one. */
const ANSWER_DEPTH = 2;
/** Before the name of a record that stands for its sample. */
const NAMED = "→";

/** Sample values by name of field: one customer with one plan. */
const VALUES: Readonly<Record<string, unknown>> = {
  accepted: true,
  amount_currency: "USD",
  amount_paid_cents: 0,
  billable_metric_code: "api_calls",
  billing_time: "anniversary",
  category: "self-serve",
  code: "api_calls",
  credit_applied_cents: 0,
  currency: "USD",
  current_period_end: "2026-01-30T23:59:59.999Z",
  current_period_start: "2026-01-17T14:00:00.000Z",
  dimensions: [],
  due_date: "2026-02-15",
  duplicate: false,
  email: "billing@acme.test",
  event: "invoice.created",
  event_type: "customer.created",
  external_id: "acme",
  field_name: "calls",
  frozen_at: "2026-01-01T00:00:00.000Z",
  has_more: false,
  issuing_date: "2026-02-01",
  key_prefix: "dues_4fJq81Zc",
  labels: ["self-serve"],
  minimum_cents: 0,
  name: "Acme Ltd",
  number: "INV-2026-0001",
  period_start: "2026-01-01",
  properties: '{"seats":3}',
  provider: "stripe",
  provider_payment_id: "pi_3Nk8",
  rate: "0.05",
  resource_type: "customer",
  short_id: "cust_7k2p",
  slug: "default",
  started_at: "2026-01-17T14:00:00.000Z",
  status: "succeeded",
  to: "2026-02-01T00:00:00.000Z",
  token: "dues_4fJq81Zc…",
  transaction_id: "req-000001",
  trial_ends_at: "2026-01-31T00:00:00.000Z",
  units: "30.75",
  value: "30.75",
  workspace: "default",
  workspace_slug: "default",
};

/** Shown with a value, although they may be null. */
const SET_NULLABLES = new Set(["trial_ends_at"]);

/** The example requests of the document, by the record in their answer. */
export function examplesOf(document: OpenApiDocument): Examples {
  const requests: Record<string, Record<string, unknown>> = {};
  for (const operation of Object.values(document.paths).flatMap((each) => Object.values(each))) {
    const example = operation.requestBody?.content["application/json"].example;
    const [answer] = Object.values(operation.responses);
    if (typeof example !== "object" || example === null || !answer || "$ref" in answer) continue;
    const { properties = {} } = answer.content?.["application/json"]?.schema ?? {};
    const [name] = Object.values(properties).flatMap((each) => nameOf(each) ?? []);
    if (name !== undefined) requests[name] = { ...requests[name], ...example };
  }
  for (const [name, values] of Object.entries(SAMPLE_RECORDS)) {
    requests[name] = { ...requests[name], ...values };
  }
  return { named: document.components.schemas, requests };
}

/** Where a sample value is needed; `given` is the value in the example request. */
type Place = { readonly name: string; readonly given?: unknown; readonly depth: number };

/** A value that fits the schema; optional fields only where none is required. */
export function sampleOf(
  schema: SchemaObject,
  examples: Examples,
  place: Place = { name: "", depth: 0 },
): unknown {
  const { name, given } = place;
  const record = nameOf(schema);
  if (record !== undefined && place.depth <= ANSWER_DEPTH && examples.elsewhere?.has(record)) {
    return `${NAMED}${record}`;
  }
  const shape = resolved(schema, examples.named);
  const [first] = shape.anyOf ?? shape.oneOf ?? shape.allOf ?? [];
  if (first !== undefined) return sampleOf(first, examples, place);
  const types = [shape.type ?? "object"].flat();
  if (types.includes(typeOf(given)) && typeof given !== "object") return given;
  if (shape.const !== undefined) return shape.const;
  const sent = objectOf(given);
  const isGiven = sent !== undefined || Array.isArray(given);
  if (types.includes("null") && !SET_NULLABLES.has(name) && !isGiven) return null;
  // Of a subscription: most are.
  if (shape.enum !== undefined)
    return shape.enum.find((each) => each === "active") ?? shape.enum[0];
  if (types[0] === "object") {
    const request = sent ?? examples.requests[nameOf(schema) ?? ""] ?? {};
    return sampleObject(shape, examples, request, place.depth);
  }
  const known = VALUES[name];
  if (known !== undefined && typeOf(known) === types[0]) return known;
  if (types[0] === "array") {
    const { items } = shape;
    const inner = { name, depth: place.depth + 1 };
    if (items === undefined) return [];
    return listOf(given).map((one) => sampleOf(items, examples, { ...inner, given: one }));
  }
  if (types[0] === "integer" || types[0] === "number") {
    return name.endsWith("_cents") ? 2900 : (shape.minimum ?? 1);
  }
  return types[0] === "boolean" ? true : sampleText(shape, name);
}

/** As many entries as the example request has, else one. */
function listOf(given: unknown): unknown[] {
  return Array.isArray(given) ? given : [undefined];
}

function objectOf(given: unknown): Readonly<Record<string, unknown>> | undefined {
  const isObject = typeOf(given) === "object" && given !== null;
  return isObject ? (given as Record<string, unknown>) : undefined;
}

function typeOf(value: unknown): string {
  if (Array.isArray(value)) return "array";
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
  const fields = Object.entries(shape.properties ?? {});
  const required = shape.required ?? [];
  const wanted = fields.filter(([name], i) =>
    required.length > 0 ? required.includes(name) : i === 0 || name === "has_more",
  );
  return Object.fromEntries(
    wanted.map(([name, field]) => {
      return [name, sampleOf(field, examples, { name, given: request[name], depth: depth + 1 })];
    }),
  );
}

function sampleText(shape: SchemaObject, name: string): string {
  if (shape.format === "uuid") return UUID;
  if (shape.format === "date-time") return "2026-01-31T12:00:00.000Z";
  if (shape.format === "date") return "2026-01-31";
  if (shape.format === "uri" || name === "url") return "https://example.test/hooks";
  if (shape.pattern?.includes("\\d{1,15}")) return "12.50";
  if (name === "id" || name.endsWith("_id")) return UUID;
  return name === "" ? "text" : name.replaceAll("_", " ");
}

export type Call = {
  readonly method: string;
  readonly url: string;
  readonly operation: Operation;
  readonly parameters: readonly Parameter[];
};

/** A command line to paste; `$TOKEN`, `$PROJECT` and ids are variables that the reader sets. */
export function curl(call: Call, examples: Examples): string {
  const { method, operation, parameters } = call;
  const path = call.url.replace(/\{(\w+)\}/g, (_, name: string) => `$${shellName(name)}`);
  const query = parameters
    .filter((parameter) => parameter.in === "query" && parameter.required)
    .map(({ name, schema }) => `${name}=${String(sampleOf(schema, examples, { name, depth: 0 }))}`)
    .join("&");
  const url = query === "" ? path : `${path}?${query}`;
  const quoted = /[$&?]/.test(url) ? `"${url}"` : url;
  const lines = [`curl ${method === "GET" ? "" : `-X ${method} `}${quoted}`];
  if (operation.security.length > 0) lines.push('-H "Authorization: Bearer $TOKEN"');
  if (parameters.some(({ name, required }) => name === "X-Project-Id" && required)) {
    lines.push('-H "X-Project-Id: $PROJECT"');
  }
  const body = operation.requestBody?.content["application/json"];
  if (body !== undefined && operation.requestBody?.required) {
    const value = body.example ?? sampleOf(body.schema, examples);
    const text = JSON.stringify(value, null, 2).replaceAll("'", "'\\''");
    lines.push('-H "Content-Type: application/json"', `-d '${text.replaceAll("\n", "\n  ")}'`);
  }
  return lines.join(" \\\n  ");
}

function shellName(name: string): string {
  return name.replace(/([a-z])([A-Z])/g, "$1_$2").toUpperCase();
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
