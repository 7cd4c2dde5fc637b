// The first part of the reference, which holds for every call: tokens, projects, pages, errors,
// amounts.

import type { OpenApiDocument } from "../../schema/openapi.ts";
import { type Html, html, prose } from "../html.ts";
import { figure, highlighted } from "./samples.ts";

export const SECTIONS = [
  { id: "start", title: "First call" },
  { id: "authentication", title: "Authentication" },
  { id: "project", title: "Project header" },
  { id: "amounts", title: "Amounts" },
  { id: "times", title: "Times and ids" },
  { id: "pagination", title: "Pagination" },
  { id: "idempotency", title: "Idempotency" },
  { id: "errors", title: "Errors" },
] as const;

type SectionId = (typeof SECTIONS)[number]["id"];

export function introduction(document: OpenApiDocument): Html {
  const base = document.servers[0].variables.base_url.default;
  const bodies: Readonly<Record<SectionId, Html>> = {
    start: firstCall(base),
    authentication: authentication(document),
    project: project(),
    amounts: amounts(),
    times: times(),
    pagination: pagination(),
    idempotency: idempotency(),
    errors: errors(document),
  };
  return html`<section class="intro"><h1>The ${document.info.title} API</h1>
<p class="lead">Customers, plans and usage events in; invoices, webhooks and a complete log out. JSON over HTTP, under <code>${base}/v1</code>.</p>
${SECTIONS.map(({ id, title }) => html`<h2 id="${id}"><a href="#${id}">${title}</a></h2>${bodies[id]}\n`)}</section>`;
}

function firstCall(base: string): Html {
  const command = `export TOKEN=dues_… PROJECT=…\n\ncurl ${base}/v1/keys/me \\\n  -H "Authorization: Bearer $TOKEN"`;
  return html`<p>The service prints a token and a project id when it starts on an empty database. Every example below uses them as <code>$TOKEN</code> and <code>$PROJECT</code>.</p>
<div class="sample">${figure("Who am I?, curl", html`${command}`, "sh")}${figure("Who am I?, TypeScript", html`${client(base)}`, "ts")}</div>
<p>Each call answers with an <code>X-Request-Id</code>. Quote it when something looks wrong: the log has the same one.</p>`;
}

/** Every sample in TypeScript below goes on from here. */
function client(base: string): string {
  return `import { Dues } from "dues-client";

const dues = new Dues({
  base_url: "${base}",
  token: process.env.TOKEN,
  project_id: process.env.PROJECT,
});
const { token, organization } = await dues.getCurrentKey();`;
}

function authentication(document: OpenApiDocument): Html {
  const scopes = Object.entries(document.components.securitySchemes.bearer["x-scopes"]);
  return html`<p>Send a token of your organization with each call: <code>Authorization: Bearer dues_…</code>. A token is shown in full once, when it is made; after that only its first characters are.</p>
<p>A missing, unknown, expired or revoked token answers 401 <code>unauthorized</code>; one that lacks the scope of the call answers 403 <code>forbidden</code>.</p>
<table><thead><tr><th scope="col">Scope</th><th scope="col">Allows</th></tr></thead><tbody>${scopes.map(
    ([scope, text]) => html`<tr><td><code>${scope}</code></td><td>${prose(text)}</td></tr>`,
  )}</tbody></table>`;
}

function project(): Html {
  return html`<p>Records belong to a project. Name it in the header <code>X-Project-Id</code>; where it is needed and missing, the answer is 400 <code>missing_project</code>. A project of another organization is as unknown as one that does not exist: 404.</p>`;
}

function amounts(): Html {
  return html`<p>Money is an integer number of the smallest unit of its currency, in fields that end in <code>_cents</code>: <code>2900</code> is 29.00 USD, 2,900 JPY and 2.900 KWD. Rates and quantities are decimals written as strings, in the main unit: a rate of <code>"0.05"</code> is five cents. Floating-point numbers are never used, and each fee is rounded once, half away from zero.</p>`;
}

function times(): Html {
  return html`<p>Instants are ISO 8601 in UTC with milliseconds, such as <code>2026-01-31T12:00:00.000Z</code>; you may send any offset. Days are <code>YYYY-MM-DD</code>. Ids are UUIDs. Where a path takes <code>ext:&lt;external_id&gt;</code>, your own identifier works in place of ours.</p>`;
}

const PAGING: readonly (readonly [string, string])[] = [
  ["limit", "Page size: 10 by default, at most 1000."],
  ["offset", "Skips this many records."],
  ["all=1", "Up to 1000 records at once."],
  [
    "count=1",
    "Adds `total_count`: exact up to 100,000. Of more it is null, and `total_at_least` is 100000.",
  ],
  ["cursor", "Goes on where the page before ended: safe while records are being added."],
];

function pagination(): Html {
  return html`<p>Lists are newest first and say in <code>has_more</code> whether there is more. Which of these a list takes is shown with it; its answer has <code>cursor</code>, null on the last page, where it takes one, and <code>total_count</code> where you asked.</p>
<table><thead><tr><th scope="col">Query</th><th scope="col">Meaning</th></tr></thead><tbody>${PAGING.map(
    ([name, text]) => html`<tr><td><code>${name}</code></td><td>${prose(text)}</td></tr>`,
  )}</tbody></table>`;
}

function idempotency(): Html {
  return html`<p>Send <code>Idempotency-Key</code> (up to 255 characters of your choice) with a change, and repeating it is safe: the key is stored together with the effect and the answer, and a repeat gets the same answer with <code>Idempotent-Replayed: true</code>. The same key with another request answers 409 <code>idempotency_conflict</code>.</p>`;
}

function errors(document: OpenApiDocument): Html {
  const example = {
    error: {
      code: "validation_error",
      message: "currency must be a 3-letter ISO-4217 currency code such as USD.",
      retryable: false,
      details: [{ field: "currency", code: "pattern", message: "currency must be a 3-letter …" }],
      request_id: "0197a2b4-7c1e-7d3a-9f52-3b8e6a1c4d70",
    },
  };
  const rows = Object.entries(document["x-error-codes"]).map(
    ([code, { status, retryable, description }]) =>
      html`<tr id="error-${code}"><td>${status}</td><td><code>${code}</code>${retryable && html`<br><small>retryable</small>`}</td><td>${prose(description)}</td></tr>`,
  );
  return html`<p>Every error has this body. <code>code</code> is for programs and does not change, <code>message</code> is for people, <code>details</code> names fields, and <code>retryable</code> is true only where repeating the same request is safe. Each call below lists its own codes; the others can come from any.</p>
${figure("422 Unprocessable Entity", highlighted(example))}
<table class="e"><thead><tr><th scope="col">Status</th><th scope="col">Code</th><th scope="col">Meaning</th></tr></thead><tbody>${rows}</tbody></table>`;
}
