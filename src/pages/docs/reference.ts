// The API reference: one page of HTML made from the OpenAPI document, whole without its script and
// without anything from other servers.

import {
  nameOf,
  type OpenApiDocument,
  type Operation,
  type Parameter,
  type Reference,
  type Response,
  type SchemaObject,
} from "../../schema/openapi.ts";
import { between, Html, html, prose } from "../html.ts";
import { ICON_SVG } from "../icon.ts";
import { errorList } from "./error-list.ts";
import { EVENTS_TITLE, eventAnchor, eventsSection } from "./events.ts";
import { type Field, fieldsOf, fieldTable, parameterFields, type Shared } from "./fields.ts";
import { introduction, SECTIONS } from "./introduction.ts";
import {
  curl,
  type Examples,
  examplesOf,
  figure,
  highlighted,
  sampleOf,
  typescript,
} from "./samples.ts";
import { SCRIPT } from "./script.ts";
import { STYLE } from "./style.ts";

type PathOperation = {
  readonly method: string;
  readonly path: string;
  readonly operation: Operation;
  readonly parameters: readonly Parameter[];
};

type Group = {
  readonly tag: string;
  readonly text: string | undefined;
  readonly id: string;
  readonly operations: readonly PathOperation[];
  /** Records that first occur here. */
  readonly records: readonly string[];
  /** Parts of requests that first occur here and in several. */
  readonly inputs: readonly string[];
};

/** Records that have all fields of another, and more. */
const EXTENSIONS: Readonly<Record<string, string>> = { InvoiceWithFees: "Invoice" };

/** The group that webhook events come after. */
const EVENTS_AFTER = "Webhooks";

/** In the page itself, which has no other file. */
const ICON = `data:image/svg+xml,${encodeURIComponent(ICON_SVG)}`;

export function renderDocs(document: OpenApiDocument): string {
  const shared = sharedInputs(document);
  const groups = groupsOf(document, shared);
  const examples = examplesOf(document);
  const sampled = sampledAt(groups.flatMap(({ operations }) => operations));
  const { title } = document.info;
  const links = contents(groups, Object.keys(document["x-webhooks"]));
  const brand = html`<span class="brand">${title} <small>API reference</small></span>`;
  const page = html`<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width,initial-scale=1">
<title>${title} API reference</title>
<link rel="icon" href="${ICON}"><style>${new Html(STYLE)}</style></head>
<body><a class="skip" href="#main">Skip to the content</a>
<aside>${brand}<nav aria-label="Contents">${links}</nav></aside>
<details class="menu"><summary>${brand}</summary><nav aria-label="Contents, in the menu">${links}</nav></details>
<main id="main">${introduction(document)}
${groups.map((group) => [groupSection(group, document, { examples, shared, sampled }), group.tag === EVENTS_AFTER && eventsSection(document, examples)])}
<footer>Made from <a href="/openapi.json">openapi.json</a>, which is made from the routes themselves.</footer>
</main><script>${new Html(SCRIPT)}</script></body></html>
`;
  return page.text;
}

/** What is needed to write an operation down, beside itself. */
type Around = {
  readonly examples: Examples;
  readonly shared: Shared;
  /** The operation whose sample has the record in full. */
  readonly sampled: ReadonlyMap<string, string>;
};

/**
 * Where each record is written out: with the call that reads one, else with the first that answers
 * one, else where it first stands in a list. Other samples name it and link there: invoices alone
 * are answered by nine calls.
 */
function sampledAt(operations: readonly PathOperation[]): Map<string, string> {
  const places = new Map<string, { id: string; rank: number }>();
  for (const { method, operation } of operations) {
    const [, answer] = successes(operation)[0] ?? [];
    const fields = Object.values(answer?.schema?.properties ?? {});
    for (const field of fields) {
      const name = nameOf(field) ?? (field.items && nameOf(field.items));
      const rank = fields.length > 1 ? 2 : method === "GET" ? 0 : 1;
      if (name === undefined || (places.get(name)?.rank ?? 3) <= rank) continue;
      places.set(name, { id: operation.operationId, rank });
    }
  }
  return new Map([...places].map(([name, { id }]) => [name, id]));
}

/** Named schemas that several requests take: written out once, and linked. */
function sharedInputs(document: OpenApiDocument): Shared {
  const counts = new Map<string, number>();
  for (const operation of Object.values(document.paths).flatMap((each) => Object.values(each))) {
    for (const name of inputsOf(operation, document)) {
      counts.set(name, (counts.get(name) ?? 0) + 1);
    }
  }
  return new Set([...counts].flatMap(([name, count]) => (count > 1 ? [name] : [])));
}

function inputsOf(operation: Operation, document: OpenApiDocument): string[] {
  const body = operation.requestBody?.content["application/json"].schema;
  return body === undefined ? [] : namesIn(body, document, new Set());
}

function groupsOf(document: OpenApiDocument, shared: Shared): Group[] {
  const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): PathOperation => {
      const parameters = (operation.parameters ?? []).map((each) => parameterOf(each, document));
      return { method: method.toUpperCase(), path, operation, parameters };
    }),
  );
  const seen = new Set<string>(["ErrorBody"]);
  const taken = new Set<string>();
  const groups = document.tags.map(({ name, description: text }) => {
    const own = operations.filter(({ operation }) => operation.tags.includes(name));
    const records = own.flatMap(({ operation }) => recordsIn(operation, document, seen));
    const inputs = own
      .flatMap(({ operation }) => inputsOf(operation, document))
      .filter((input) => shared.has(input) && !taken.has(input) && taken.add(input));
    return { tag: name, text, id: `tag-${slug(name)}`, operations: own, records, inputs };
  });
  const used = Object.values(document["x-webhooks"]).flatMap(({ post }) =>
    namesIn(post.requestBody.content["application/json"].schema, document, seen),
  );
  // The bodies themselves are shown event by event.
  const records = used.filter((name) => !name.endsWith("Event"));
  return groups.map((group) =>
    group.tag === EVENTS_AFTER ? { ...group, records: [...group.records, ...records] } : group,
  );
}

function parameterOf(parameter: Parameter | Reference, document: OpenApiDocument): Parameter {
  if (!("$ref" in parameter)) return parameter;
  const found = document.components.parameters[parameter.$ref.split("/").at(-1) ?? ""];
  if (found === undefined) throw new Error(`${parameter.$ref} points nowhere.`);
  return found;
}

/** The named schemas in the answers of an operation, outermost first, that were not seen before. */
function recordsIn(operation: Operation, document: OpenApiDocument, seen: Set<string>): string[] {
  return successes(operation).flatMap(([, { schema }]) =>
    schema === undefined ? [] : namesIn(schema, document, seen),
  );
}

/** The named schemas in this one, outermost first, that are not among the `seen`. */
function namesIn(schema: SchemaObject, document: OpenApiDocument, seen: Set<string>): string[] {
  const name = nameOf(schema);
  if (name !== undefined) {
    if (seen.has(name)) return [];
    seen.add(name);
    return [name, ...namesIn(document.components.schemas[name] ?? {}, document, seen)];
  }
  const { items, properties, anyOf, oneOf, allOf } = schema;
  const inner = [items, ...Object.values(properties ?? {}), anyOf, oneOf, allOf].flat();
  return inner.flatMap((each) => (each === undefined ? [] : namesIn(each, document, seen)));
}

function contents(groups: readonly Group[], events: readonly string[]): Html {
  const general = SECTIONS.map(({ id, title }) => html`<li><a href="#${id}">${title}</a></li>`);
  const links = events.map((event) => html`<li><a href="#${eventAnchor(event)}">${event}</a></li>`);
  const eventLinks = html`<h2><a href="#events">${EVENTS_TITLE}</a></h2><ul>${links}</ul>`;
  return html`<h2>General</h2><ul>${general}</ul>${groups.map(
    ({ id, tag, operations }) =>
      html`<h2><a href="#${id}">${tag}</a></h2><ul>${operations.map(
        ({ method, operation }) =>
          html`<li class="${method.toLowerCase()}"><a href="#${operation.operationId}">${operation.summary}</a></li>`,
      )}</ul>${tag === EVENTS_AFTER && eventLinks}`,
  )}`;
}

function badge(method: string): Html {
  return html`<span class="m ${method.toLowerCase()}">${method}</span>`;
}

function groupSection(group: Group, document: OpenApiDocument, around: Around): Html {
  const { id, tag, text, operations, records, inputs } = group;
  return html`<section><h2 id="${id}"><a href="#${id}">${tag}</a></h2>
${text !== undefined && html`<p>${prose(text)}</p>`}
${records.map((name) => recordTable(name, document))}
${inputs.map((name) => inputTable(name, document, around.shared))}
${operations.map((shown) => operationArticle(shown, document, around))}</section>
`;
}

/** The table of a record. The anchor is inside: following a link to it opens the details. */
function recordTable(name: string, document: OpenApiDocument): Html {
  const { schemas } = document.components;
  const fields = fieldsOf(schemas[name] ?? {}, schemas, "linked");
  const base = EXTENSIONS[name];
  const known = Object.keys((base && schemas[base]?.properties) ?? {});
  const own = fields.filter(({ name: field, depth }) => depth > 0 || !known.includes(field));
  const first = base && html`<p>All of <a href="#object-${base}">${base}</a>, and:</p>`;
  return html`<details class="rec"><summary>The ${spaced(name)} record</summary><div id="object-${name}">${recordText(schemas[name])}${first}${fieldTable("", own, "linked")}</div></details>`;
}

function recordText(schema: SchemaObject | undefined): Html | false {
  const { description } = schema ?? {};
  return description !== undefined && html`<p>${prose(description)}</p>`;
}

/** The fields of an object that several requests take. */
function inputTable(name: string, document: OpenApiDocument, shared: Shared): Html {
  const { schemas } = document.components;
  const fields = fieldsOf(schemas[name] ?? {}, schemas, "open", shared);
  return html`<details class="rec"><summary>${name}, in requests</summary><div id="object-${name}">${recordText(schemas[name])}${fieldTable("", fields, "open", shared)}</div></details>`;
}

function operationArticle(shown: PathOperation, document: OpenApiDocument, around: Around): Html {
  const { method, path, operation } = shown;
  const id = operation.operationId;
  return html`<article class="op" id="${id}"><div><h3><a href="#${id}">${operation.summary}</a></h3>
<p class="route">${badge(method)}<code>${path}</code></p>
${operation.description !== undefined && html`<p>${prose(operation.description)}</p>`}${requirements(shown)}
${pathText(shown)}${requestTables(shown, document, around.shared)}${answers(operation, document)}${errorList(operation, document)}</div>
<div class="sample"><div>${samples(shown, document, around)}</div></div></article>
`;
}

function requirements({ operation, parameters }: PathOperation): Html {
  const scope = operation.security[0]?.bearer[0];
  const project = parameters.find(({ name }) => name === "X-Project-Id");
  const idempotent = parameters.some(({ name }) => name === "Idempotency-Key");
  const items = [
    scope === undefined ? html`No token` : html`Scope <code>${scope}</code>`,
    project && html`<code>X-Project-Id</code>${!project.required && " optional"}`,
    idempotent && html`<code>Idempotency-Key</code> optional`,
  ];
  return html`<ul class="needs">${items.map((item) => item && html`<li>${item}</li>`)}</ul>`;
}

/** What stands in the path, which is text and always needed. */
function pathText({ parameters }: PathOperation): Html {
  const own = parameters.filter((parameter) => parameter.in === "path");
  return html`${own.map(
    ({ name, description }) =>
      html`<p class="at"><code>${name}</code> ${description !== undefined && prose(description)}</p>`,
  )}`;
}

function requestTables(
  { operation, parameters }: PathOperation,
  document: OpenApiDocument,
  shared: Shared,
): Html {
  const { schemas } = document.components;
  const query = parameterFields(parameters.filter((parameter) => parameter.in === "query"));
  const body = operation.requestBody?.content["application/json"].schema;
  const name = body && nameOf(body);
  if (name !== undefined && shared.has(name)) {
    return html`<p>Body: <a href="#object-${name}">${name}</a>.</p>`;
  }
  const fields = body === undefined ? [] : fieldsOf(body, schemas, "open", shared);
  const optional = operation.requestBody?.required === false ? " (may be left out)" : "";
  const least = body?.minProperties === 1 ? ", at least one field" : "";
  return html`${queryTable(query)}${fieldTable(`Body${optional}${least}`, fields, "open", shared)}`;
}

/** Parameters that page a list. The introduction says what each does. */
const PAGING = ["limit", "offset", "all", "count", "cursor"];

function queryTable(fields: readonly Field[]): Html {
  const paging = fields.filter(({ name }) => PAGING.includes(name));
  const own = fields.filter((field) => !paging.includes(field));
  return fieldTable("Query", own, "open", new Set(), pagingRow(paging));
}

type Success = { readonly description: string; readonly schema: SchemaObject | undefined };

function successes(operation: Operation): [string, Success][] {
  return Object.entries(operation.responses)
    .filter((each): each is [string, Response] => each[0].startsWith("2") && !("$ref" in each[1]))
    .map(([status, { description, content }]) => {
      return [status, { description, schema: content?.["application/json"]?.schema }];
    });
}

/** Statuses with the same body share a table. */
function answers(operation: Operation, document: OpenApiDocument): Html {
  const tables = new Map<string, { statuses: string[]; schema: SchemaObject | undefined }>();
  for (const [status, { description, schema }] of successes(operation)) {
    const key = JSON.stringify(schema ?? null);
    const same = tables.get(key) ?? { statuses: [], schema };
    same.statuses.push(`${status} ${description}`);
    tables.set(key, same);
  }
  return html`${[...tables.values()].map(({ statuses, schema }) => {
    const caption = `Answers ${statuses.join(", or ")}`;
    if (schema === undefined) return html`<p class="ans"><b>${caption}</b>, without a body</p>`;
    if (schema.oneOf !== undefined) return listOrOne(caption, schema.oneOf, document);
    const text = answerText(schema);
    if (text !== undefined) return html`<p class="ans"><b>${caption}</b> ${text}</p>`;
    return answerTable(caption, fieldsOf(schema, document.components.schemas, "linked"));
  })}`;
}

/** The list, and what its key makes of it. */
function listOrOne(
  caption: string,
  [list = {}, one = {}]: readonly SchemaObject[],
  document: OpenApiDocument,
): Html {
  const table = answerTable(caption, fieldsOf(list, document.components.schemas, "linked"));
  return html`${table}<p class="ans">Or, where a single one was asked for, ${answerText(one)}</p>`;
}

/** An answer that is one record, or has one and nothing else. */
function answerText(schema: SchemaObject): Html | undefined {
  const link = (name: string) => html`<a href="#object-${name}">${name}</a>`;
  const own = nameOf(schema);
  if (own !== undefined) return link(own);
  const [only, ...more] = Object.entries(schema.properties ?? {});
  const name = only && nameOf(only[1]);
  return name === undefined || more.length > 0
    ? undefined
    : html`<code>${only?.[0]}</code> ${link(name)}`;
}

/** What every page says of itself. */
const PAGE_FIELDS = ["cursor", "has_more", "total_count", "total_at_least"];

function answerTable(caption: string, fields: readonly Field[]): Html {
  const isPage = fields.some(({ name, depth }) => name === "has_more" && depth === 0);
  const paging = isPage ? fields.filter(({ name }) => PAGE_FIELDS.includes(name)) : [];
  const own = fields.filter((field) => !paging.includes(field));
  return fieldTable(caption, own, "linked", new Set(), pagingRow(paging));
}

/** One row for what pages a list: the introduction says what these are. */
function pagingRow(fields: readonly Field[]): Html | false {
  const names = fields.map(({ name }, i) => html`${i > 0 && ", "}<code>${name}</code>`);
  const place = html`<a href="#pagination">Pagination</a>`;
  return fields.length > 0 && html`<tr><th>${names}</th><td>As in ${place}.</td></tr>\n`;
}

function samples(shown: PathOperation, document: OpenApiDocument, around: Around): Html {
  const { method, path, operation, parameters } = shown;
  const { examples, sampled } = around;
  const others = [...sampled].filter(([, id]) => id !== operation.operationId);
  const elsewhere = new Set(others.map(([name]) => name));
  const url = `${document.servers[0].variables.base_url.default}${path}`;
  const call = { method, url, operation, parameters };
  const [status, answer] = successes(operation)[0] ?? [];
  const body = answer?.schema;
  return html`${figure("Request, curl", between(curl(call, examples)), "sh")}${figure("Request, TypeScript", between(typescript(call, examples)), "ts")}${
    body !== undefined &&
    figure(
      `${status} ${answer?.description}`,
      highlighted(sampleOf(body, { ...examples, elsewhere }), sampled),
    )
  }`;
}

function slug(text: string): string {
  return text.toLowerCase().replace(/[^a-z0-9]+/g, "-");
}

function spaced(name: string): string {
  return name.replace(/([a-z])([A-Z])/g, "$1 $2").toLowerCase();
}
