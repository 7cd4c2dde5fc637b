// Generated from the OpenAPI document: the types of Billing events. Do not edit.

import type { CursorPage, CursorQuery } from "./common.ts";

export type BillingEvent = {
  readonly id: string;
  readonly resource_type: string;
  readonly resource_id: string;
  readonly event_type: string;
  readonly actor_token_id: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly created_at: string;
};

export type ListBillingEventsQuery = CursorQuery & {
  readonly resource_type?: string | undefined;
  readonly resource_id?: string | undefined;
  readonly event_type?: string | undefined;
  readonly actor_token_id?: string | undefined;
  readonly since?: string | undefined;
  readonly order?: "asc" | "desc" | undefined;
};

export type ListBillingEventsReply = CursorPage & {
  readonly billing_events: readonly BillingEvent[];
};
