// Usage events: what customers used, each counted once.

import Type, { type Static } from "typebox";
import {
  FreeObject,
  Nullable,
  OneOf,
  Reference,
  Text,
  Timestamp,
  TimestampInput,
  Uuid,
} from "./common.ts";

export const EVENTS_BATCH_MAX = 10_000;
export const UNBILLABLE = ["before_start", "after_termination", "late_unbilled"] as const;
export type Unbillable = (typeof UNBILLABLE)[number];
/** Reasons known when an event is stored, and the one that its period may become later. */
export const UNBILLABLE_REASONS = [...UNBILLABLE, "canceled"] as const;
export const WARNINGS = [...UNBILLABLE, "payload_mismatch"] as const;

export const UsageEventInput = Type.Object(
  {
    transaction_id: Reference,
    subscription_id: Type.String({
      minLength: 1,
      maxLength: 260,
      description: "UUID, or ext:<external_id>.",
    }),
    code: Text,
    value: Type.Optional(Type.String({ maxLength: 255 })),
    timestamp: Type.Optional(TimestampInput),
    properties: Type.Optional(FreeObject),
  },
  { title: "UsageEventInput" },
);
export type UsageEventInput = Static<typeof UsageEventInput>;

export const EventAccepted = Type.Object({
  accepted: Type.Boolean(),
  duplicate: Type.Boolean(),
  warning: Type.Optional(OneOf(WARNINGS)),
});
export type EventAccepted = Static<typeof EventAccepted>;

/** A batch. Its events are checked one by one elsewhere, so that a bad one fails no others. */
export const EventBatch = Type.Object({
  events: Type.Array(Type.Unknown(), { minItems: 1, maxItems: EVENTS_BATCH_MAX }),
});

export const EventBatchResult = Type.Object({
  accepted: Type.Integer({ description: "How many were stored by this call." }),
  duplicates: Type.Integer(),
  refused: Type.Integer(),
  results: Type.Array(
    Type.Object({
      index: Type.Integer(),
      accepted: Type.Boolean(),
      duplicate: Type.Boolean(),
      warning: Type.Optional(OneOf(WARNINGS)),
      error: Type.Optional(
        Type.Object({
          code: Type.String(),
          message: Type.String(),
          retryable: Type.Boolean(),
        }),
      ),
    }),
  ),
});

export const UsageEvent = Type.Object(
  {
    transaction_id: Type.String(),
    subscription_id: Uuid,
    subscription_external_id: Type.String(),
    code: Type.String(),
    value: Nullable(Type.String()),
    timestamp: Timestamp,
    properties: FreeObject,
    received_at: Timestamp,
    state: OneOf(["billable", "unbillable"]),
    reason: Nullable(OneOf(UNBILLABLE_REASONS)),
  },
  { title: "UsageEvent" },
);
export type UsageEvent = Static<typeof UsageEvent>;
