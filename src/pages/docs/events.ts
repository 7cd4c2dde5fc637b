// The webhooks of the reference: how a delivery looks and is checked, and each event with its data.

import { ATTEMPT_MAX_MS, FIRST_RETRY_MS, RETRY_HOURS } from "../../domain/webhooks.ts";
import {
  type OpenApiDocument,
  type Parameter,
  resolved,
  type SchemaObject,
  type WebhookOperation,
} from "../../schema/openapi.ts";
import { type Html, html, prose } from "../html.ts";
import { fieldsOf, fieldTable } from "./fields.ts";
import { type Examples, figure, highlighted, sampleOf } from "./samples.ts";

export const EVENTS_TITLE = "Webhook events";

const CHECK = `import { verifyWebhook } from "dues-client";

// body: the request's body as it came, as text or bytes, before any parsing
const message = await verifyWebhook(body, request.headers, process.env.WEBHOOK_SECRET);
if (message.event === "invoice.created") collect(message.data.invoice);
// It throws where the signature is wrong or older than five minutes: answer 400 then.`;

export function eventAnchor(event: string): string {
  return `event-${event}`;
}

export function eventsSection(document: OpenApiDocument, examples: Examples): Html {
  const events = Object.entries(document["x-webhooks"]);
  return html`<section><h2 id="events"><a href="#events">${EVENTS_TITLE}</a></h2>
<p>Each is a POST of <code>{event, created_at, data}</code> to the <a href="#createWebhook">endpoints</a> that subscribed to it. Answer with any 2xx within ${ATTEMPT_MAX_MS / 1_000} seconds; everything else is tried again, first after about ${FIRST_RETRY_MS / 60_000} minutes and for about ${RETRY_HOURS} hours in all. A message can come twice, with the same <code>webhook-id</code>, and after later ones: keep the ids that you have dealt with.</p>
<table class="w"><thead><tr><th scope="col">Header</th><th scope="col">Holds</th></tr></thead><tbody>${headersOf(document).map(headerRow)}</tbody></table>
<p>The secret is in the answer to <a href="#createWebhook">registering</a> the endpoint. Either signature is enough; the second one also signs the time. Libraries of <em>Standard Webhooks</em> check it in many languages; the client does it for TypeScript:</p>
${figure("Check a delivery", html`${CHECK}`)}
${events.map(([event, { post }]) => eventDetails(event, post, document, examples))}</section>
`;
}

function headersOf({ components, ...document }: OpenApiDocument): Parameter[] {
  const [first] = Object.values(document["x-webhooks"]);
  return (first?.post.parameters ?? []).flatMap(
    ({ $ref }) => components.parameters[$ref.split("/").at(-1) ?? ""] ?? [],
  );
}

function headerRow({ name, description = "" }: Parameter): Html {
  return html`<tr><td><code>${name}</code></td><td>${prose(description)}</td></tr>`;
}

/** An event with its data. The anchor is inside: following a link to it opens the details. */
function eventDetails(
  event: string,
  post: WebhookOperation,
  document: OpenApiDocument,
  examples: Examples,
): Html {
  const { schemas } = document.components;
  const { schema } = post.requestBody.content["application/json"];
  const { description = "", properties = {} } = resolved(schema, schemas);
  const data: SchemaObject = properties.data ?? {};
  return html`<details class="rec"><summary><code>${event}</code></summary><div id="${eventAnchor(event)}"><p>${prose(description)}</p>
${fieldTable("In data", fieldsOf(data, schemas, "linked"), "linked")}
${figure("Body", highlighted(sampleOf(schema, examples)))}</div></details>
`;
}
