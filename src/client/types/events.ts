// Generated from the OpenAPI document: the types of Usage events. Do not edit.

import type { CursorPage, CursorQuery } from "./common.ts";

export type UsageEventInput = {
  readonly transaction_id: string;
  /** UUID, or ext:<external_id>. */
  readonly subscription_id: string;
  readonly code: string;
  readonly value?: string;
  readonly timestamp?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
};

export type SendEventReply = {
  readonly accepted: boolean;
  readonly duplicate: boolean;
  readonly warning?: "before_start" | "after_termination" | "late_unbilled" | "payload_mismatch";
};

export type UsageEvent = {
  readonly transaction_id: string;
  readonly subscription_id: string;
  readonly code: string;
  readonly value: string | null;
  readonly timestamp: string;
  readonly properties: Readonly<Record<string, unknown>>;
  readonly received_at: string;
  readonly state: "billable" | "unbillable";
  readonly reason: "before_start" | "after_termination" | "late_unbilled" | null;
};

export type ListEventsQuery = CursorQuery & {
  /** UUID, or ext:<external_id>. */
  readonly subscription_id?: string | undefined;
  readonly code?: string | undefined;
  readonly state?: "billable" | "unbillable" | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
};

export type ListEventsReply = CursorPage & { readonly events: readonly UsageEvent[] };

export type SendEventBatchBody = { readonly events: readonly unknown[] };

export type SendEventBatchReply = {
  /** How many were stored by this call. */
  readonly accepted: number;
  readonly duplicates: number;
  readonly refused: number;
  readonly results: readonly {
    readonly index: number;
    readonly accepted: boolean;
    readonly duplicate: boolean;
    readonly warning?: string;
    readonly error?: {
      readonly code: string;
      readonly message: string;
      readonly retryable: boolean;
    };
  }[];
};
