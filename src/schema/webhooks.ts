// Webhook endpoints, and the events they can be told about.

export const WEBHOOK_EVENTS = [
  "invoice.created",
  "invoice.payment_overdue_reminder_1",
  "invoice.payment_overdue_reminder_2",
  "subscription.period_renewed",
  "subscription.suspend_requested",
  "subscription.terminate_requested",
  "addon.applied",
  "payment.succeeded",
] as const;
export type WebhookEvent = (typeof WEBHOOK_EVENTS)[number];
