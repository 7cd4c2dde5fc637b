// A sandbox project's clock.

import Type, { type Static } from "typebox";
import { OneOf, Timestamp, TimestampInput, Uuid } from "./common.ts";

export const Clock = Type.Object(
  { mode: OneOf(["real", "frozen"]), now: Timestamp },
  { title: "Clock" },
);
export type Clock = Static<typeof Clock>;

export const ClockFreeze = Type.Object({ frozen_at: TimestampInput });
export const ClockAdvance = Type.Object({ to: TimestampInput });

export const ClockReport = Type.Object(
  {
    clock: Clock,
    periods_closed: Type.Integer(),
    invoices_created: Type.Integer(),
    dunning_steps: Type.Integer(),
    billing_failed_count: Type.Integer({
      description:
        "Subscriptions that cannot be billed as it stands: GET /v1/subscriptions?billing_error=1.",
    }),
    events: Type.Array(Type.Object({ event: Type.String(), at: Timestamp, resource_id: Uuid })),
  },
  { title: "ClockReport" },
);
export type ClockReport = Static<typeof ClockReport>;
