// The values that fields of records can have, where the command line offers them too. No schemas
// here: a command that only knows these values need not load what makes schemas.

/** Statuses that a caller can ask for; a subscription to start later is `pending` until then. */
export const ASKED_STATUSES = ["active", "suspended", "terminated", "canceled"] as const;
export const SUBSCRIPTION_STATUSES = ["pending", ...ASKED_STATUSES] as const;

/** Periods of the calendar, or from an anchor date on. */
export const BILLING_TIMES = ["calendar", "anniversary"] as const;
export const CHANGE_TIMES = ["now", "period_end"] as const;
export const TRIAL_DAYS_MAX = 730;

/** Which acts that fall due at one instant make one invoice. */
export const INVOICE_GROUPINGS = ["separate", "subscription", "customer"] as const;
export type InvoiceGrouping = (typeof INVOICE_GROUPINGS)[number];

export const INVOICE_STATUSES = [
  "outstanding",
  "overdue",
  "succeeded",
  "uncollectible",
  "voided",
] as const;
export const PAYMENT_STATUSES = ["pending", "partially_paid", "succeeded"] as const;

export const GRANT_STATUSES = [
  "pending",
  "active",
  "used_up",
  "expired",
  "revoked",
  "voided",
] as const;

/** How long a replaced secret of a webhook still signs, unless somebody says otherwise. */
export const GRACE_HOURS = 24;
