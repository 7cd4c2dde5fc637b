// Webhook endpoints, and the log of what was sent to them.

import Type from "typebox";
import { addressPolicy } from "../../domain/addresses.ts";
import { instant } from "../../domain/reported-at.ts";
import { notFound } from "../../errors.ts";
import {
  patchWebhook,
  type Registered,
  redeliver,
  registerWebhook,
  removeWebhook,
  replayWebhook,
  rotateWebhookSecret,
  testWebhook,
} from "../../operations/webhooks/change.ts";
import { CursorPage, CursorQuery, OneOf, Uuid, WholeQuery, Wrapped } from "../../schema/common.ts";
import { GRACE_HOURS } from "../../schema/enums.ts";
import {
  DELIVERY_STATUSES,
  Queued,
  RotateSecret,
  UrlPolicy,
  WebhookCreate,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookMessage,
  WebhookPatch,
  WebhookReplay,
} from "../../schema/webhooks.ts";
import * as attempts from "../../store/feeds/attempts.ts";
import * as webhookJobs from "../../store/feeds/jobs.ts";
import * as webhooks from "../../store/feeds/webhooks.ts";
import { Cursors } from "../request/paging.ts";
import { point, Reply, type Route, read, write } from "../route.ts";
import { deliveryView, endpointView, pathId } from "../views.ts";

const tag = "Webhooks";
const params = { id: "UUID of the endpoint." };
const One = Wrapped("webhook_endpoint", WebhookEndpoint);

function withSecret({ endpoint, secret }: Registered, jobs: readonly webhookJobs.ShownJob[]) {
  return { webhook_endpoint: { ...endpointView(endpoint, jobs), secret } };
}

const create = write({
  method: "POST",
  path: "/v1/webhooks",
  id: "createWebhook",
  errors: ["limit_exceeded"],
  tag,
  summary: "Register a webhook endpoint",
  description:
    "The only answer that carries the full secret, besides a rotation's. 200 and the endpoint that is there, with its secret masked, where if_absent is set and one has this URL already.",
  scope: "write",
  project: "required",
  body: WebhookCreate,
  reply: [201, One],
  also: { 200: One },
  secret_answer: true,
  example: { url: "https://example.com/dues", events: ["invoice.created", "payment.succeeded"] },
  async handle({ tx, context, project, by, body, now }) {
    const terms = { policy: addressPolicy(context.config), secret_key: context.secret_key };
    const { endpoint, secret } = await registerWebhook(tx, project, body, terms, by, now);
    if (secret !== undefined) return withSecret({ endpoint, secret }, []);
    const jobs = await webhookJobs.list(tx, project);
    return new Reply(200, { webhook_endpoint: endpointView(endpoint, jobs) });
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
  query: Type.Object({ ...WholeQuery }),
  reply: [
    200,
    Type.Object({
      ...CursorPage("webhook_endpoints", WebhookEndpoint).properties,
      url_policy: UrlPolicy,
    }),
  ],
  async handle({ context, db, project, query }) {
    const cursors = new Cursors(context.secret_key, project, "webhook_endpoints", {});
    const found = await webhooks.list(db, project, cursors.whole(query));
    const jobs = await webhookJobs.list(db, project);
    const webhook_endpoints = found.rows.map((row) => endpointView(row, jobs));
    const url_policy = addressPolicy(context.config);
    return { webhook_endpoints, ...cursors.foot(found), url_policy };
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
    if (endpoint === undefined) throw notFound("webhook endpoint");
    return { webhook_endpoint: endpointView(endpoint, await webhookJobs.list(db, project)) };
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
  async handle({ tx, project, by, params, body, now }) {
    const id = pathId(params.id);
    const endpoint = await patchWebhook(tx, project, id, body, by, now);
    return { webhook_endpoint: endpointView(endpoint, await webhookJobs.list(tx, project)) };
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
  async handle({ tx, project, by, params, now }) {
    await removeWebhook(tx, project, pathId(params.id), by, now);
  },
});

const rotate = write({
  method: "POST",
  path: "/v1/webhooks/:id/rotate-secret",
  id: "rotateWebhookSecret",
  errors: ["limit_exceeded"],
  tag,
  summary: "Give an endpoint a new secret",
  description:
    "Former secrets sign as well, each for the grace_hours (24 unless said) that it was given when it was replaced. With grace_hours 0 all of them end at once, as after a leak.",
  scope: "write",
  project: "required",
  params,
  body: RotateSecret,
  body_optional: true,
  reply: [200, One],
  secret_answer: true,
  async handle({ tx, context, project, by, params, body, now }) {
    const id = pathId(params.id);
    const { secret_key } = context;
    const how = { secret_key, grace_hours: body?.grace_hours ?? GRACE_HOURS };
    const rotated = await rotateWebhookSecret(tx, project, id, how, by, now);
    return withSecret(rotated, await webhookJobs.list(tx, project));
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
  description:
    "Every message that the endpoint is subscribed to, under its old id. The first thousand are queued at once, more by a job that the endpoint shows; more than 100,000 are not counted.",
  scope: "write",
  project: "required",
  params,
  body: WebhookReplay,
  reply: [202, Queued],
  async handle({ tx, project, params, body, now }) {
    const since = instant(body.since, "since");
    return { queued: await replayWebhook(tx, project, pathId(params.id), since, now) };
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
    const found = await attempts.list(db, project, filter, cursors.page(query));
    return {
      webhook_deliveries: found.rows.map(deliveryView),
      ...cursors.foot(found),
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
      ...cursors.foot(found),
      cursor: cursors.write(found.last) ?? query.cursor ?? null,
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
