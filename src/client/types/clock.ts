// Generated from the OpenAPI document: the types of Clock. Do not edit.

export type Clock = {
  readonly mode: "real" | "frozen";
  readonly now: string;
};

export type ClockReport = {
  readonly clock: Clock;
  readonly periods_closed: number;
  readonly invoices_created: number;
  readonly dunning_steps: number;
  readonly events: readonly {
    readonly event: string;
    readonly at: string;
    readonly resource_id: string;
  }[];
};

export type FreezeClockBody = { readonly frozen_at: string };

export type AdvanceClockBody = { readonly to: string };
