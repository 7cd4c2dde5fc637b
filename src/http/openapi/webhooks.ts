// The webhooks of the OpenAPI document: for each event the request that receivers are sent.

import { ATTEMPT_MAX_MS, RETRY_HOURS } from "../../domain/webhooks.ts";
import type { Parameter, Reference, WebhookOperation } from "../../schema/openapi.ts";
import { envelopeOf, TEST_PAYLOAD, WEBHOOK_PAYLOADS } from "../../schema/webhook-payloads.ts";
import { TEST_EVENT, WEBHOOK_EVENTS, type WebhookEvent } from "../../schema/webhooks.ts";
import type { Schemas } from "./schemas.ts";

/** The headers of every delivery: workers/deliver-webhooks.ts sends them. */
export const WEBHOOK_PARAMETERS = {
  ServiceEvent: header(
    "X-Service-Event",
    "The event, as in the body.",
    { type: "string" },
    "invoice.created",
  ),
  ServiceSignature: header(
    "X-Service-Signature",
    "Lowercase hex HMAC-SHA256 of the raw body, keyed with the endpoint's whole `whsec_…` secret. While former secrets sign it is made with the oldest of them.",
    { type: "string", pattern: "^[0-9a-f]{64}$" },
    "5f1b0d9c2c0f6a55b8c4b86c0a2d5a0cf9a7b0b9f0f2f7d2a94d6cf2a6d7c1e3",
  ),
  WebhookId: header(
    "webhook-id",
    "The id of the message, the same at every attempt: keep it to ignore what came before.",
    { type: "string", format: "uuid" },
    "0197a2b4-7c1e-7d3a-9f52-3b8e6a1c4d90",
  ),
  WebhookTimestamp: header(
    "webhook-timestamp",
    "When this attempt was signed, in seconds since 1970. Refuse what is older than five minutes.",
    { type: "string", pattern: "^\\d+$" },
    "1769932800",
  ),
  WebhookSignature: header(
    "webhook-signature",
    "Standard Webhooks: `v1,` and the base64 HMAC-SHA256 of `<webhook-id>.<webhook-timestamp>.<body>`, keyed with the base64-decoded part of the secret after `whsec_`. One for each secret that signs, with spaces between, while one is rotated.",
    { type: "string" },
    "v1,K5oZfzN95Z9UVu1EsfQmfVNQhnkZ2pj9o9NDN/H/pI4=",
  ),
} satisfies Record<string, Parameter>;

const EVERY_EVENT = `Answer with any 2xx within ${ATTEMPT_MAX_MS / 1_000} seconds. A message can come more than once, with the same \`webhook-id\`, and after later ones.`;

export function webhooks(schemas: Schemas): Record<string, { readonly post: WebhookOperation }> {
  const events = [...WEBHOOK_EVENTS, TEST_EVENT] as const;
  return Object.fromEntries(events.map((event) => [event, { post: delivery(event, schemas) }]));
}

function delivery(event: WebhookEvent | typeof TEST_EVENT, schemas: Schemas): WebhookOperation {
  const { when } = event === TEST_EVENT ? TEST_PAYLOAD : WEBHOOK_PAYLOADS[event];
  const schema = schemas.convert(envelopeOf(event));
  return {
    operationId: event.replace(/[._](\w)/g, (_, letter: string) => letter.toUpperCase()),
    tags: ["Webhooks"],
    summary: event,
    description: `${when} ${EVERY_EVENT}`,
    security: [],
    parameters: Object.keys(WEBHOOK_PARAMETERS).map(
      (name): Reference => ({ $ref: `#/components/parameters/${name}` }),
    ),
    requestBody: { required: true, content: { "application/json": { schema } } },
    responses: {
      "2XX": { description: "Delivered." },
      "4XX": {
        description: `Failed, as is every other answer: tried again for about ${RETRY_HOURS} hours.`,
      },
    },
  };
}

function header(
  name: string,
  description: string,
  schema: Parameter["schema"],
  example: string,
): Parameter {
  return {
    name,
    in: "header",
    required: true,
    description,
    schema: { ...schema, examples: [example] },
  };
}
