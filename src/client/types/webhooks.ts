// Generated from the OpenAPI document: the types of Webhooks. Do not edit.

import type { CursorPage, CursorQuery } from "./common.ts";

export type WebhookEndpoint = {
  readonly id: string;
  readonly url: string;
  readonly events: readonly string[];
  /** In full when it is made or rotated, masked afterwards. */
  readonly secret: string;
  /** 1 when enabled. */
  readonly enabled: number;
  readonly disabled_reason: string | null;
  readonly created_at: string;
};

export type CreateWebhookBody = {
  /** HTTPS URL. */
  readonly url: string;
  readonly events: readonly (
    | "invoice.created"
    | "invoice.payment_overdue_reminder_1"
    | "invoice.payment_overdue_reminder_2"
    | "subscription.period_renewed"
    | "subscription.suspend_requested"
    | "subscription.terminate_requested"
    | "addon.applied"
    | "payment.succeeded"
  )[];
};

export type ListWebhooksReply = {
  readonly webhook_endpoints: readonly WebhookEndpoint[];
  readonly has_more: boolean;
};

export type UpdateWebhookBody = {
  readonly events?: readonly (
    | "invoice.created"
    | "invoice.payment_overdue_reminder_1"
    | "invoice.payment_overdue_reminder_2"
    | "subscription.period_renewed"
    | "subscription.suspend_requested"
    | "subscription.terminate_requested"
    | "addon.applied"
    | "payment.succeeded"
  )[];
  /** true or 1, false or 0. */
  readonly enabled?: true | false | 1 | 0;
};

export type ReplayWebhookBody = { readonly since: string };

export type WebhookDelivery = {
  readonly id: string;
  readonly endpoint_id: string;
  readonly message_id: string;
  readonly event: string;
  readonly attempt: number;
  readonly status: "delivered" | "failed";
  readonly http_status: number | null;
  /** timeout, dns, tls, connection, blocked_address or http_<status>. */
  readonly error: string | null;
  /** The error in words. */
  readonly reason: string | null;
  readonly duration_ms: number;
  readonly response_excerpt: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly next_retry_at: string | null;
  readonly created_at: string;
};

export type ListWebhookDeliveriesQuery = CursorQuery & {
  readonly endpoint_id?: string | undefined;
  readonly status?: "delivered" | "failed" | undefined;
  readonly event?: string | undefined;
};

export type ListWebhookDeliveriesReply = CursorPage & {
  readonly webhook_deliveries: readonly WebhookDelivery[];
};

export type WebhookMessage = {
  readonly id: string;
  readonly event: string;
  /** The JSON text that is signed and sent. */
  readonly body: string;
  readonly created_at: string;
};

export type ListWebhookMessagesQuery = CursorQuery;

export type ListWebhookMessagesReply = CursorPage & {
  readonly webhook_messages: readonly WebhookMessage[];
};
