// Webhook endpoints, and the log of what was sent to them.

import Type from "typebox";
import { addressPolicy } from "../../domain/addresses.ts";
import { parseTimestamp } from "../../domain/dates.ts";
import { refuse } from "../../errors.ts";
import {
  patchWebhook,
  type Registered,
  redeliver,
  registerWebhook,
  removeWebhook,
  replayWebhook,
  rotateWebhookSecret,
  testWebhook,
} from "../../operations/change-webhook.ts";
import { CursorPage, CursorQuery, OneOf, Uuid, Wrapped } from "../../schema/common.ts";
import {
  DELIVERY_STATUSES,
  Queued,
  WebhookCreate,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookMessage,
  WebhookPatch,
  WebhookReplay,
} from "../../schema/webhooks.ts";
import * as deliveries from "../../store/deliveries.ts";
import * as webhooks from "../../store/webhooks.ts";
import { Cursors } from "../paging.ts";
import { point, type Route, read, write } from "../route.ts";
import { byCaller, deliveryView, endpointView, pathId } from "../views.ts";

const tag = "Webhooks";
const params = { id: "UUID of the endpoint." };
const One = Wrapped("webhook_endpoint", WebhookEndpoint);

function withSecret({ endpoint, secret }: Registered) {
  return { webhook_endpoint: { ...endpointView(endpoint), secret } };
}

const create = write({
  method: "POST",
  path: "/v1/webhooks",
  id: "createWebhook",
  errors: ["limit_exceeded"],
  tag,
  summary: "Register a webhook endpoint",
  description: "The only answer that carries the full secret, besides a rotation's.",
  scope: "write",
  project: "required",
  body: WebhookCreate,
  reply: [201, One],
  secret_answer: true,
  example: { url: "https://example.com/dues", events: ["invoice.created", "payment.succeeded"] },
  async handle({ tx, context, project, actor, body, now }) {
    const terms = { policy: addressPolicy(context.config), secret_key: context.secret_key };
    return withSecret(await registerWebhook(tx, project, body, terms, byCaller(actor), now));
  },
});

const list = read({
  method: "GET",
  path: "/v1/webhooks",
  id: "listWebhooks",
  tag,
  summary: "List webhook endpoints",
  description: "All of the project, with masked secrets.",
  scope: "read",
  project: "required",
  reply: [
    200,
    Type.Object({ webhook_endpoints: Type.Array(WebhookEndpoint), has_more: Type.Boolean() }),
  ],
  async handle({ db, project }) {
    const rows = await webhooks.list(db, project);
    return { webhook_endpoints: rows.map(endpointView), has_more: false };
  },
});

const get = point({
  method: "GET",
  path: "/v1/webhooks/:id",
  id: "getWebhook",
  tag,
  summary: "Get a webhook endpoint",
  description: "With a masked secret.",
  scope: "read",
  project: "required",
  params,
  reply: [200, One],
  async handle({ db, project, params }) {
    const endpoint = await webhooks.get(db, project, pathId(params.id));
    if (endpoint === undefined) throw refuse("not_found", "No webhook endpoint has this id.");
    return { webhook_endpoint: endpointView(endpoint) };
  },
});

const patch = write({
  method: "PATCH",
  path: "/v1/webhooks/:id",
  id: "updateWebhook",
  tag,
  summary: "Change the events of an endpoint, or switch it off and on",
  description: "What waits for one that is off is sent when it is switched on again.",
  scope: "write",
  project: "required",
  params,
  body: WebhookPatch,
  reply: [200, One],
  async handle({ tx, project, actor, params, body, now }) {
    const id = pathId(params.id);
    const endpoint = await patchWebhook(tx, project, id, body, byCaller(actor), now);
    return { webhook_endpoint: endpointView(endpoint) };
  },
});

const remove = write({
  method: "DELETE",
  path: "/v1/webhooks/:id",
  id: "removeWebhook",
  tag,
  summary: "Remove a webhook endpoint",
  description: "What waits for it is dropped.",
  scope: "write",
  project: "required",
  params,
  reply: [204, null],
  async handle({ tx, project, actor, params, now }) {
    await removeWebhook(tx, project, pathId(params.id), byCaller(actor), now);
  },
});

const rotate = write({
  method: "POST",
  path: "/v1/webhooks/:id/rotate-secret",
  id: "rotateWebhookSecret",
  tag,
  summary: "Give an endpoint a new secret",
  description: "Both secrets sign for 24 hours.",
  scope: "write",
  project: "required",
  params,
  reply: [200, One],
  secret_answer: true,
  async handle({ tx, context, project, actor, params, now }) {
    const id = pathId(params.id);
    const { secret_key } = context;
    return withSecret(await rotateWebhookSecret(tx, project, id, secret_key, byCaller(actor), now));
  },
});

const test = write({
  method: "POST",
  path: "/v1/webhooks/:id/test",
  id: "testWebhook",
  tag,
  summary: "Send a test message to an endpoint",
  description: "An event `webhook.test`, to this endpoint alone and delivered like any other.",
  scope: "write",
  project: "required",
  params,
  reply: [202, Queued],
  async handle({ tx, project, params, now }) {
    await testWebhook(tx, project, pathId(params.id), now);
    return { queued: 1 };
  },
});

const replay = write({
  method: "POST",
  path: "/v1/webhooks/:id/replay",
  id: "replayWebhook",
  tag,
  summary: "Send again everything since an instant",
  description: "Every message that the endpoint is subscribed to, under its old id.",
  scope: "write",
  project: "required",
  params,
  body: WebhookReplay,
  reply: [202, Queued],
  async handle({ tx, project, params, body }) {
    const since = parseTimestamp(body.since) as Date;
    return { queued: await replayWebhook(tx, project, pathId(params.id), since) };
  },
});

const listDeliveries = read({
  method: "GET",
  path: "/v1/webhook-deliveries",
  id: "listWebhookDeliveries",
  tag,
  summary: "The log of attempts, newest first",
  description: "What was sent, what was answered, and when it is tried again.",
  scope: "read",
  project: "required",
  query: Type.Object({
    ...CursorQuery,
    endpoint_id: Type.Optional(Uuid),
    status: Type.Optional(OneOf(DELIVERY_STATUSES)),
    event: Type.Optional(Type.String({ maxLength: 64 })),
  }),
  reply: [200, CursorPage("webhook_deliveries", WebhookDelivery)],
  async handle({ context, db, project, query }) {
    const { endpoint_id, status, event } = query;
    const filter = {
      ...(endpoint_id && { endpoint_id }),
      ...(status && { status }),
      ...(event !== undefined && { event }),
    };
    const cursors = new Cursors(context.secret_key, project, "webhook-deliveries", filter);
    const found = await deliveries.list(db, project, filter, cursors.page(query));
    return {
      webhook_deliveries: found.rows.map(deliveryView),
      cursor: cursors.write(found.position),
      has_more: found.has_more,
      total_count: found.total_count,
    };
  },
});

const sendAgain = write({
  method: "POST",
  path: "/v1/webhook-deliveries/:id/redeliver",
  id: "redeliverWebhookDelivery",
  tag,
  summary: "Send a message again",
  description:
    "The same body under the same webhook-id, signed anew, to the endpoint of the attempt.",
  scope: "write",
  project: "required",
  params: { id: "UUID of any attempt of the message." },
  reply: [202, Queued],
  async handle({ tx, project, params }) {
    await redeliver(tx, project, pathId(params.id));
    return { queued: 1 };
  },
});

const listMessages = read({
  method: "GET",
  path: "/v1/webhook-messages",
  id: "listWebhookMessages",
  tag,
  summary: "Follow the messages themselves, oldest first",
  description:
    "What endpoints are told, as it is signed and sent, in the order in which it was committed. The cursor is given on the last page too, to go on from later. A sandbox project keeps every message, a live one those that an endpoint was subscribed to.",
  scope: "read",
  project: "required",
  query: Type.Object({ ...CursorQuery }),
  reply: [200, CursorPage("webhook_messages", WebhookMessage)],
  async handle({ context, db, project, query }) {
    const cursors = new Cursors(context.secret_key, project, "webhook-messages", {});
    const found = await webhooks.listMessages(db, project, cursors.page(query));
    return {
      webhook_messages: found.rows,
      cursor: cursors.write(found.last) ?? query.cursor ?? null,
      has_more: found.has_more,
      total_count: found.total_count,
    };
  },
});

export const webhookRoutes: Route[] = [
  create,
  list,
  get,
  patch,
  remove,
  rotate,
  test,
  replay,
  listDeliveries,
  sendAgain,
  listMessages,
];
