// Generated from the OpenAPI document: the types of Dunning. Do not edit.

export type Dunning = {
  readonly enabled: boolean;
  readonly steps: readonly {
    readonly days_after_due: number;
    readonly webhook_event:
      | "invoice.payment_overdue_reminder_1"
      | "invoice.payment_overdue_reminder_2"
      | "subscription.suspend_requested"
      | "subscription.terminate_requested";
  }[];
};

export type SetDunningBody = {
  readonly enabled?: boolean;
  readonly steps?: readonly {
    readonly days_after_due: number;
    readonly webhook_event:
      | "invoice.payment_overdue_reminder_1"
      | "invoice.payment_overdue_reminder_2"
      | "subscription.suspend_requested"
      | "subscription.terminate_requested";
  }[];
};
