// The dunning policy of a project: which reminders and requests follow an unpaid invoice.

import Type, { type Static } from "typebox";
import { OneOf } from "./common.ts";

export const DUNNING_EVENTS = [
  "invoice.payment_overdue_reminder_1",
  "invoice.payment_overdue_reminder_2",
  "subscription.suspend_requested",
  "subscription.terminate_requested",
] as const;
export type DunningEvent = (typeof DUNNING_EVENTS)[number];

export const DunningStep = Type.Object({
  days_after_due: Type.Integer({ minimum: 1, maximum: 3_650 }),
  webhook_event: OneOf(DUNNING_EVENTS),
});
export type DunningStep = Static<typeof DunningStep>;

export const Dunning = Type.Object(
  {
    enabled: Type.Boolean(),
    steps: Type.Array(DunningStep, { maxItems: 20 }),
  },
  { title: "Dunning" },
);
export type Dunning = Static<typeof Dunning>;

export const DunningPut = Type.Object({
  enabled: Type.Optional(Type.Boolean()),
  steps: Type.Optional(Type.Array(DunningStep, { maxItems: 20 })),
});
export type DunningPut = Static<typeof DunningPut>;
