// Webhook endpoints, the events they can subscribe to, and the attempts to deliver messages.

import Type, { type Static } from "typebox";
import {
  AT_LEAST_ONE,
  Flag,
  FreeObject,
  Nullable,
  OneOf,
  Timestamp,
  TimestampInput,
  Uuid,
} from "./common.ts";

export const WEBHOOK_EVENTS = [
  "invoice.created",
  "invoice.payment_overdue_reminder_1",
  "invoice.payment_overdue_reminder_2",
  "subscription.started",
  "subscription.trial_ended",
  "subscription.plan_changed",
  "subscription.period_renewed",
  "subscription.terminated",
  "subscription.suspend_requested",
  "subscription.terminate_requested",
  "addon.applied",
  "payment.succeeded",
  "invoice.payment_due",
  "credit_note.created",
  "payment.refunded",
  "wallet.balance_low",
  "subscription.billing_failed",
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];

/** The event that the test call sends, to one endpoint. */
export const TEST_EVENT = "webhook.test";
export const ENDPOINTS_MAX = 50;

const Events = Type.Array(OneOf(WEBHOOK_EVENTS), { minItems: 1, maxItems: 20, uniqueItems: true });

export const WEBHOOK_JOB_KINDS = ["resume", "replay"] as const;

export const WebhookJob = Type.Object(
  {
    kind: OneOf(WEBHOOK_JOB_KINDS),
    since: Nullable(Timestamp),
    done: Type.Integer(),
    total: Nullable(Type.Integer()),
    created_at: Timestamp,
  },
  { title: "WebhookJob" },
);

export const WebhookEndpoint = Type.Object(
  {
    id: Uuid,
    url: Type.String(),
    events: Type.Array(Type.String()),
    secret: Type.String({
      description: "In full when it is made or rotated, masked afterwards.",
    }),
    enabled: Type.Integer({ description: "1 when enabled." }),
    disabled_reason: Nullable(Type.String()),
    jobs: Type.Array(WebhookJob),
    created_at: Timestamp,
  },
  { title: "WebhookEndpoint" },
);
export type WebhookEndpoint = Static<typeof WebhookEndpoint>;

export const WebhookCreate = Type.Object({
  url: Type.String({ minLength: 1, maxLength: 2_048, description: "HTTPS URL." }),
  events: Events,
  if_absent: Type.Optional(Type.Boolean()),
});
export type WebhookCreate = Static<typeof WebhookCreate>;

/** The URLs that the service takes: a file is judged by it before anything of it is applied. */
export const UrlPolicy = Type.Object(
  {
    allow_private: Type.Boolean(),
    allow_loopback: Type.Boolean(),
    own_host: Type.Optional(Type.String()),
  },
  { title: "UrlPolicy" },
);

export const WebhookPatch = Type.Object(
  {
    events: Type.Optional(Events),
    enabled: Type.Optional(Flag),
  },
  AT_LEAST_ONE,
);
export type WebhookPatch = Static<typeof WebhookPatch>;

export const WebhookReplay = Type.Object({ since: TimestampInput });

export const DELIVERY_STATUSES = ["delivered", "failed"] as const;

export const WebhookDelivery = Type.Object(
  {
    id: Uuid,
    endpoint_id: Uuid,
    message_id: Uuid,
    event: Type.String(),
    attempt: Type.Integer(),
    status: OneOf(DELIVERY_STATUSES),
    http_status: Nullable(Type.Integer()),
    error: Nullable(
      Type.String({
        description: "timeout, dns, tls, connection, blocked_address, signing or http_<status>.",
      }),
    ),
    reason: Nullable(Type.String({ description: "The error in words." })),
    duration_ms: Type.Integer(),
    response_excerpt: Nullable(Type.String()),
    payload: FreeObject,
    next_retry_at: Nullable(Timestamp),
    created_at: Timestamp,
  },
  { title: "WebhookDelivery" },
);
export type WebhookDelivery = Static<typeof WebhookDelivery>;

export const WebhookMessage = Type.Object(
  {
    id: Uuid,
    event: Type.String(),
    body: Type.String({ description: "The JSON text that is signed and sent." }),
    created_at: Timestamp,
  },
  { title: "WebhookMessage" },
);
export type WebhookMessage = Static<typeof WebhookMessage>;

export const Queued = Type.Object({ queued: Type.Integer() });

export const RotateSecret = Type.Object({
  grace_hours: Type.Optional(Type.Integer({ minimum: 0, maximum: 72 })),
});
export type RotateSecret = Static<typeof RotateSecret>;
