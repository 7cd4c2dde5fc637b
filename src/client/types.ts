// Generated from the OpenAPI document: what the API takes and gives. Do not edit.

export type AddOn = {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  readonly description: string | null;
  readonly catalog_item_code: string | null;
  /** Integer number of the smallest currency unit. */
  readonly amount_cents: number;
  /** ISO-4217 code. */
  readonly currency: string;
  readonly invoice_timing: "immediate";
  readonly archived_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
};

export type Analytics = {
  readonly active_subscriptions: number;
  /** Integer number of the smallest currency unit. */
  readonly mrr_cents: number;
  readonly outstanding_invoice_count: number;
  /** Integer number of the smallest currency unit. */
  readonly outstanding_total_cents: number;
  /** Integer number of the smallest currency unit. */
  readonly revenue_30d_cents: number;
  readonly payments_30d_count: number;
  readonly top_plans: readonly {
    readonly plan_code: string;
    readonly plan_name: string;
    readonly active_count: number;
  }[];
  /** ISO-4217 code. */
  readonly currency: string;
  readonly by_currency: readonly {
    /** ISO-4217 code. */
    readonly currency: string;
    /** Integer number of the smallest currency unit. */
    readonly mrr_cents: number;
    readonly outstanding_invoice_count: number;
    /** Integer number of the smallest currency unit. */
    readonly outstanding_total_cents: number;
    /** Integer number of the smallest currency unit. */
    readonly revenue_30d_cents: number;
    readonly payments_30d_count: number;
  }[];
};

export type AppliedAddOn = {
  readonly id: string;
  readonly customer_id: string;
  readonly add_on_id: string;
  readonly invoice_id: string;
  /** Integer number of the smallest currency unit. */
  readonly amount_cents: number;
  /** ISO-4217 code. */
  readonly currency: string;
  readonly applied_at: string;
};

export type BillingEvent = {
  readonly id: string;
  readonly resource_type: string;
  readonly resource_id: string;
  readonly event_type: string;
  readonly actor_token_id: string | null;
  readonly payload: Readonly<Record<string, unknown>>;
  readonly created_at: string;
};

export type CatalogItem = {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  /** Integer number of the smallest currency unit. */
  readonly amount_cents: number;
  /** ISO-4217 code. */
  readonly currency: string;
  readonly metadata: Readonly<Record<string, unknown>>;
  readonly archived_at: string | null;
  readonly created_at: string;
  readonly updated_at: string;
};

export type Charge = {
  readonly id: string;
  readonly plan_id: string;
  readonly charge_model: "standard" | "flat_fee";
  readonly billable_metric_id: string | null;
  readonly billable_metric_code: string | null;
  readonly catalog_item_code: string | null;
  /** Integer number of the smallest currency unit. */
  readonly amount_override_cents: number | null;
  readonly quantity_from: string | null;
  readonly invoice_timing: "arrears" | "immediate" | "advance";
  readonly properties: Readonly<Record<string, unknown>>;
  readonly created_at: string;
};

export type ChargeInput = {
  readonly charge_model?: "standard" | "flat_fee";
  readonly type?: "standard" | "flat_fee";
  readonly billable_metric_id?: string | null;
  readonly billable_metric_code?: string | null;
  readonly metric_ref?: string | null;
  readonly catalog_item_code?: string | null;
  readonly catalog_ref?: string | null;
  readonly rate?: string | null;
  /** Integer number of the smallest currency unit. */
  readonly amount_override_cents?: number | null;
  /** subscription_property.<property_name> */
  readonly quantity_from?: string | null;
  readonly invoice_timing?: "arrears" | "immediate" | "advance";
  readonly properties?: Readonly<Record<string, unknown>>;
};

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

export type Credit = {
  /** ISO-4217 code. */
  readonly currency: string;
  /** Integer number of the smallest currency unit. */
  readonly balance_cents: number;
};

export type Customer = {
  readonly id: string;
  readonly short_id: string;
  readonly external_id: string;
  readonly name: string;
  readonly email: string;
  /** ISO-4217 code. */
  readonly currency: string;
  readonly created_at: string;
  readonly updated_at: string;
};

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

export type Error = {
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly retryable: boolean;
    readonly details?: readonly {
      readonly field: string;
      readonly code: string;
      readonly message?: string;
      readonly existing_id?: string;
    }[];
    readonly request_id?: string;
  };
};

export type Fee = {
  readonly id: string;
  readonly fee_type: "subscription" | "charge" | "adjustment" | "add_on";
  readonly charge_id: string | null;
  readonly billable_metric_code: string | null;
  readonly units: string;
  /** Integer number of the smallest currency unit. */
  readonly amount_cents: number;
  /** ISO-4217 code. */
  readonly amount_currency: string;
  readonly properties: Readonly<Record<string, unknown>>;
};

export type Invoice = {
  readonly id: string;
  readonly number: string;
  readonly status: "outstanding" | "overdue" | "succeeded" | "voided";
  readonly payment_status: "pending" | "partially_paid" | "succeeded";
  readonly invoice_type: "subscription" | "addon";
  readonly customer_id: string;
  readonly subscription_id: string | null;
  /** ISO-4217 code. */
  readonly currency: string;
  /** Integer number of the smallest currency unit. */
  readonly subtotal_cents: number;
  /** Integer number of the smallest currency unit. */
  readonly total_cents: number;
  /** Integer number of the smallest currency unit. */
  readonly credit_applied_cents: number;
  /** Integer number of the smallest currency unit. */
  readonly amount_paid_cents: number;
  /** Integer number of the smallest currency unit. */
  readonly amount_due_cents: number;
  readonly issuing_date: string;
  readonly due_date: string;
  readonly period_start: string;
  readonly period_end: string;
  readonly voided_at: string | null;
  readonly created_at: string;
};

export type InvoicePreview = {
  readonly subscription_id: string;
  /** ISO-4217 code. */
  readonly currency: string;
  /** Integer number of the smallest currency unit. */
  readonly subtotal_cents: number;
  /** Integer number of the smallest currency unit. */
  readonly total_cents: number;
  /** Integer number of the smallest currency unit. */
  readonly credit_applied_cents: number;
  /** Integer number of the smallest currency unit. */
  readonly amount_due_cents: number;
  readonly issuing_date: string;
  readonly due_date: string;
  readonly period_start: string;
  readonly period_end: string;
  readonly fees: readonly {
    readonly fee_type: "subscription" | "charge" | "adjustment" | "add_on";
    readonly charge_id: string | null;
    readonly billable_metric_code: string | null;
    readonly units: string;
    /** Integer number of the smallest currency unit. */
    readonly amount_cents: number;
    /** ISO-4217 code. */
    readonly amount_currency: string;
    readonly properties: Readonly<Record<string, unknown>>;
  }[];
};

export type InvoiceWithFees = {
  readonly id: string;
  readonly number: string;
  readonly status: "outstanding" | "overdue" | "succeeded" | "voided";
  readonly payment_status: "pending" | "partially_paid" | "succeeded";
  readonly invoice_type: "subscription" | "addon";
  readonly customer_id: string;
  readonly subscription_id: string | null;
  /** ISO-4217 code. */
  readonly currency: string;
  /** Integer number of the smallest currency unit. */
  readonly subtotal_cents: number;
  /** Integer number of the smallest currency unit. */
  readonly total_cents: number;
  /** Integer number of the smallest currency unit. */
  readonly credit_applied_cents: number;
  /** Integer number of the smallest currency unit. */
  readonly amount_paid_cents: number;
  /** Integer number of the smallest currency unit. */
  readonly amount_due_cents: number;
  readonly issuing_date: string;
  readonly due_date: string;
  readonly period_start: string;
  readonly period_end: string;
  readonly voided_at: string | null;
  readonly created_at: string;
  readonly fees: readonly Fee[];
};

export type JsonRpcReply = unknown;

export type JsonRpcRequest = unknown;

export type McpServerInfo = {
  readonly name: string;
  readonly title: string;
  readonly version: string;
  readonly description: string;
  readonly protocol: string;
  readonly protocol_versions: readonly string[];
  readonly transport: string;
  readonly endpoint: string;
  readonly methods: readonly string[];
  readonly tools: readonly {
    readonly name: string;
    readonly description: string;
    readonly scope: string | null;
  }[];
};

export type Metric = {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  readonly aggregation_type: "sum" | "count" | "count_unique" | "max" | "latest";
  readonly field_name: string | null;
  readonly created_at: string;
  readonly updated_at: string;
  readonly archived_at: string | null;
};

export type Payment = {
  readonly id: string;
  readonly invoice_id: string;
  /** Integer number of the smallest currency unit. */
  readonly amount_cents: number;
  /** ISO-4217 code. */
  readonly currency: string;
  readonly provider: string;
  readonly provider_payment_id: string;
  readonly reference: string | null;
  readonly status: string;
  readonly paid_at: string;
  readonly created_at: string;
};

export type Plan = {
  readonly id: string;
  readonly code: string;
  readonly name: string;
  readonly description: string | null;
  readonly category: string | null;
  readonly interval: "weekly" | "monthly" | "quarterly" | "semiannual" | "yearly";
  /** Integer number of the smallest currency unit. */
  readonly amount_cents: number;
  /** ISO-4217 code. */
  readonly amount_currency: string;
  readonly labels: readonly string[];
  readonly archived_at: string | null;
  readonly created_at: string;
  readonly charges: readonly Charge[];
};

export type Portal = {
  readonly customer: {
    readonly id: string;
    readonly short_id: string;
    readonly name: string;
    /** Masked: the first letter and the domain. */
    readonly email: string;
    /** ISO-4217 code. */
    readonly currency: string;
  };
  readonly subscriptions: readonly {
    readonly id: string;
    readonly external_id: string;
    readonly status: "active" | "suspended" | "terminated" | "canceled";
    readonly plan: {
      readonly code: string;
      readonly name: string;
      readonly interval: "weekly" | "monthly" | "quarterly" | "semiannual" | "yearly";
      /** Integer number of the smallest currency unit. */
      readonly amount_cents: number;
      /** ISO-4217 code. */
      readonly amount_currency: string;
    };
    readonly current_period_start: string;
    readonly current_period_end: string;
    readonly usage: readonly {
      readonly code: string;
      readonly name: string;
      readonly units: string;
      /** Integer number of the smallest currency unit. */
      readonly amount_cents: number;
    }[];
  }[];
  readonly invoices: readonly {
    readonly id: string;
    readonly number: string;
    readonly status: "outstanding" | "overdue" | "succeeded" | "voided";
    readonly payment_status: "pending" | "partially_paid" | "succeeded";
    readonly invoice_type: "subscription" | "addon";
    /** ISO-4217 code. */
    readonly currency: string;
    /** Integer number of the smallest currency unit. */
    readonly total_cents: number;
    /** Integer number of the smallest currency unit. */
    readonly credit_applied_cents: number;
    /** Integer number of the smallest currency unit. */
    readonly amount_paid_cents: number;
    /** Integer number of the smallest currency unit. */
    readonly amount_due_cents: number;
    readonly issuing_date: string;
    readonly due_date: string;
    readonly period_start: string;
    readonly period_end: string;
  }[];
  readonly payments: readonly {
    readonly id: string;
    readonly invoice_number: string;
    /** Integer number of the smallest currency unit. */
    readonly amount_cents: number;
    /** ISO-4217 code. */
    readonly currency: string;
    readonly provider: string;
    readonly status: string;
    readonly paid_at: string;
  }[];
  readonly totals: {
    /** Integer number of the smallest currency unit. */
    readonly outstanding_cents: number;
    /** Integer number of the smallest currency unit. */
    readonly overdue_cents: number;
    /** ISO-4217 code. */
    readonly currency: string;
  };
  readonly generated_at: string;
};

export type Project = {
  readonly id: string;
  readonly workspace_id: string;
  readonly workspace_slug: string;
  readonly slug: string;
  readonly name: string;
  /** A sandbox project has a clock that can be moved. */
  readonly mode: "live" | "sandbox";
  readonly frozen_at: string | null;
  /** ISO-4217 code. */
  readonly default_currency: string;
  readonly created_at: string;
};

export type Settings = {
  readonly name: string;
  /** Lines as on an envelope. */
  readonly address: string;
  readonly tax_id: string;
  /** #rrggbb */
  readonly logo_color: string;
  readonly net_payment_days: number;
  /** ISO-4217 code. */
  readonly default_currency: string;
  /** How many closed periods late usage may still correct; 0 for none. */
  readonly late_usage_periods: number;
};

export type Subscription = {
  readonly id: string;
  readonly external_id: string;
  readonly customer_id: string;
  readonly plan_id: string;
  readonly status: "active" | "suspended" | "terminated" | "canceled";
  readonly billing_time: string;
  /** The properties as a JSON-encoded string. */
  readonly properties: string;
  readonly started_at: string;
  readonly current_period_start: string;
  readonly current_period_end: string;
  readonly terminated_at: string | null;
  readonly created_at: string;
  /** Why the last close of a period failed; null when all is well. */
  readonly billing_error: string | null;
};

export type SubscriptionUsage = {
  readonly subscription_id: string;
  readonly period_start: string;
  readonly period_end: string;
  /** ISO-4217 code. */
  readonly currency: string;
  readonly charges: readonly {
    readonly charge_id: string;
    readonly billable_metric_code: string;
    readonly units: string;
    /** Integer number of the smallest currency unit. */
    readonly amount_cents: number;
    readonly rate: string;
    readonly events: number;
    readonly days: readonly {
      readonly date: string;
      /** What this day alone would count. */
      readonly units: string;
    }[];
  }[];
  /** Integer number of the smallest currency unit. */
  readonly amount_cents: number;
  readonly as_of: string;
};

export type Token = {
  readonly id: string;
  readonly name: string;
  readonly key_prefix: string;
  readonly scopes: readonly ("read" | "write" | "events" | "admin" | "*")[];
  readonly last_used_at: string | null;
  readonly created_at: string;
  readonly expires_at: string | null;
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
  readonly reason: "before_start" | "after_termination" | "late_unbilled" | null | null;
};

export type UsageEventInput = {
  readonly transaction_id: string;
  /** UUID, or ext:<external_id>. */
  readonly subscription_id: string;
  readonly code: string;
  readonly value?: string;
  readonly timestamp?: string;
  readonly properties?: Readonly<Record<string, unknown>>;
};

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

export type WebhookMessage = {
  readonly id: string;
  readonly event: string;
  /** The JSON text that is signed and sent. */
  readonly body: string;
  readonly created_at: string;
};

export type Workspace = {
  readonly id: string;
  readonly slug: string;
  readonly name: string;
  readonly created_at: string;
};

export type CreateKeyBody = {
  readonly name: string;
  readonly organization_id: string;
  readonly scopes?: readonly ("read" | "write" | "events" | "admin" | "*")[];
  readonly expires_at?: string;
};

export type CreateKeyReply = {
  /** The full value: shown once and not kept. */
  readonly token: string;
  readonly id: string;
  readonly key_prefix: string;
  readonly name: string;
  readonly scopes: readonly ("read" | "write" | "events" | "admin" | "*")[];
  readonly expires_at: string | null;
};

export type ListKeysReply = {
  readonly tokens: readonly Token[];
  readonly has_more: boolean;
};

export type GetCurrentKeyReply = {
  readonly token: Token;
  readonly organization: {
    readonly id?: string;
    readonly name: string;
    readonly slug: string;
  };
};

export type ListWorkspacesReply = {
  readonly workspaces: readonly Workspace[];
  readonly has_more: boolean;
};

export type CreateWorkspaceBody = {
  readonly slug: string;
  readonly name?: string;
};

export type ListProjectsQuery = {
  /** Slug or id. */
  readonly workspace?: string | undefined;
  /** Slug or id. */
  readonly slug?: string | undefined;
};

export type ListProjectsReply = {
  readonly projects: readonly Project[];
  readonly has_more: boolean;
};

export type CreateProjectBody = {
  /** Slug or id of the workspace. */
  readonly workspace: string;
  readonly slug: string;
  readonly name?: string;
  readonly mode?: "live" | "sandbox";
  /** ISO-4217 code. */
  readonly default_currency?: string;
};

export type CreateCustomerBody = {
  readonly external_id: string;
  readonly name: string;
  readonly email?: string;
  /** ISO-4217 code. */
  readonly currency?: string;
};

export type ListCustomersQuery = {
  /** Page size, 1 to 1000; 10 by default. */
  readonly limit?: number | undefined;
  /** Skips this many records. */
  readonly offset?: number | undefined;
  /** 1 returns up to 1000 records. */
  readonly all?: "0" | "1" | undefined;
  /** 1 adds total_count. */
  readonly count?: "0" | "1" | undefined;
  /** Answers {customer} instead of a list. */
  readonly external_id?: string | undefined;
};

export type UpdateCustomerBody = {
  readonly name?: string;
  readonly email?: string;
  /** ISO-4217 code. */
  readonly currency?: string;
};

export type ListCustomerCreditsReply = {
  readonly credits: readonly Credit[];
  readonly has_more: boolean;
};

export type CreateMetricBody = {
  readonly code: string;
  readonly name: string;
  readonly aggregation_type: "sum" | "count" | "count_unique" | "max" | "latest";
  readonly field_name?: string | null;
};

export type ListMetricsQuery = {
  /** Answers {metric} instead of a list. */
  readonly code?: string | undefined;
  /** 1 lists archived ones too. */
  readonly archived?: "0" | "1" | undefined;
};

export type UpdateMetricBody = {
  readonly name: string;
};

export type UpsertCatalogItemBody = {
  readonly code: string;
  readonly name: string;
  /** Integer number of the smallest currency unit. */
  readonly amount_cents: number;
  /** ISO-4217 code. */
  readonly currency?: string;
  readonly metadata?: Readonly<Record<string, unknown>>;
};

export type ListCatalogItemsQuery = {
  /** Answers {catalog_item} instead of a list. */
  readonly code?: string | undefined;
  /** 1 lists archived ones too. */
  readonly archived?: "0" | "1" | undefined;
};

export type CreatePlanBody = {
  readonly code: string;
  readonly name: string;
  readonly description?: string | null;
  readonly category?: string | null;
  readonly interval: "weekly" | "monthly" | "quarterly" | "semiannual" | "yearly";
  /** Integer number of the smallest currency unit. */
  readonly amount_cents?: number;
  /** ISO-4217 code. */
  readonly amount_currency: string;
  readonly labels?: readonly string[];
  readonly charges?: readonly ChargeInput[];
};

export type ListPlansQuery = {
  /** Answers {plan}: the live one, else the newest archived one. */
  readonly code?: string | undefined;
  /** 1 lists archived ones too. */
  readonly archived?: "0" | "1" | undefined;
};

export type UpdatePlanBody = {
  readonly labels?: readonly string[];
  readonly category?: string | null;
  readonly name?: string;
  readonly description?: string | null;
  /** Integer number of the smallest currency unit. */
  readonly amount_cents?: number;
  readonly charges?: readonly ChargeInput[];
};

export type UpsertAddOnBody = {
  readonly code: string;
  readonly name: string;
  readonly description?: string | null;
  readonly catalog_item_code?: string | null;
  readonly catalog_ref?: string | null;
  /** Integer number of the smallest currency unit. */
  readonly amount_cents?: number | null;
  /** ISO-4217 code. */
  readonly currency?: string;
  readonly invoice_timing?: "immediate";
};

export type ListAddOnsQuery = {
  /** Answers {add_on} instead of a list. */
  readonly code?: string | undefined;
  /** 1 lists archived ones too. */
  readonly archived?: "0" | "1" | undefined;
};

export type ApplyAddOnBody = {
  readonly customer_id: string;
};

export type CreateSubscriptionBody = {
  readonly external_id?: string;
  readonly customer_id: string;
  readonly plan_id: string;
  readonly properties?: Readonly<Record<string, unknown>>;
};

export type ListSubscriptionsQuery = {
  /** Page size, 1 to 1000; 10 by default. */
  readonly limit?: number | undefined;
  /** Skips this many records. */
  readonly offset?: number | undefined;
  /** 1 returns up to 1000 records. */
  readonly all?: "0" | "1" | undefined;
  /** 1 adds total_count. */
  readonly count?: "0" | "1" | undefined;
  readonly customer_id?: string | undefined;
  readonly plan_id?: string | undefined;
  readonly external_id?: string | undefined;
  readonly status?: "active" | "suspended" | "terminated" | "canceled" | undefined;
};

export type ListSubscriptionsReply = {
  readonly subscriptions: readonly Subscription[];
  readonly has_more: boolean;
  readonly total_count?: number;
};

export type UpdateSubscriptionBody = {
  readonly properties?: Readonly<Record<string, unknown>>;
  readonly status?: "active" | "suspended" | "terminated" | "canceled";
};

export type TerminateSubscriptionBody = {
  /** skip ends it without a final invoice. */
  readonly invoice?: "create" | "skip";
};

export type SendEventReply = {
  readonly accepted: boolean;
  readonly duplicate: boolean;
  readonly warning?: "before_start" | "after_termination" | "late_unbilled" | "payload_mismatch";
};

export type ListEventsQuery = {
  /** Page size, 1 to 1000; 10 by default. */
  readonly limit?: number | undefined;
  /** Skips this many records. */
  readonly offset?: number | undefined;
  /** 1 returns up to 1000 records. */
  readonly all?: "0" | "1" | undefined;
  /** 1 adds total_count. */
  readonly count?: "0" | "1" | undefined;
  /** The cursor of the page before. */
  readonly cursor?: string | undefined;
  /** UUID, or ext:<external_id>. */
  readonly subscription_id?: string | undefined;
  readonly code?: string | undefined;
  readonly state?: "billable" | "unbillable" | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
};

export type ListEventsReply = {
  readonly events: readonly UsageEvent[];
  readonly cursor: string | null;
  readonly has_more: boolean;
  readonly total_count?: number;
};

export type SendEventBatchBody = {
  readonly events: readonly unknown[];
};

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

export type ListInvoicesQuery = {
  /** Page size, 1 to 1000; 10 by default. */
  readonly limit?: number | undefined;
  /** Skips this many records. */
  readonly offset?: number | undefined;
  /** 1 returns up to 1000 records. */
  readonly all?: "0" | "1" | undefined;
  /** 1 adds total_count. */
  readonly count?: "0" | "1" | undefined;
  /** The cursor of the page before. */
  readonly cursor?: string | undefined;
  /** UUID, or ext:<external_id>. */
  readonly customer_id?: string | undefined;
  readonly subscription_id?: string | undefined;
  /** The invoice of this number. */
  readonly number?: string | undefined;
  readonly status?: "outstanding" | "overdue" | "succeeded" | "voided" | undefined;
  readonly payment_status?: "pending" | "partially_paid" | "succeeded" | undefined;
  readonly period_start?: string | undefined;
  readonly period_end?: string | undefined;
};

export type ListInvoicesReply = {
  readonly invoices: readonly Invoice[];
  readonly cursor: string | null;
  readonly has_more: boolean;
  readonly total_count?: number;
};

export type PreviewInvoiceBody = {
  /** UUID, or ext:<external_id>. */
  readonly subscription_id: string;
  /** As if the period ended now (default), or at its end. */
  readonly at?: "now" | "period_end";
};

export type RecordPaymentBody = {
  readonly invoice_id: string;
  readonly amount_cents: number;
  /** ISO-4217 code. */
  readonly currency: string;
  readonly provider: string;
  readonly provider_payment_id: string;
  readonly paid_at?: string;
  readonly reference?: string | null;
  readonly allow_overpayment?: boolean;
};

export type ListPaymentsQuery = {
  /** Page size, 1 to 1000; 10 by default. */
  readonly limit?: number | undefined;
  /** Skips this many records. */
  readonly offset?: number | undefined;
  /** 1 returns up to 1000 records. */
  readonly all?: "0" | "1" | undefined;
  /** 1 adds total_count. */
  readonly count?: "0" | "1" | undefined;
  /** The cursor of the page before. */
  readonly cursor?: string | undefined;
  readonly invoice_id?: string | undefined;
  /** UUID, or ext:<external_id>. */
  readonly customer_id?: string | undefined;
};

export type ListPaymentsReply = {
  readonly payments: readonly Payment[];
  readonly cursor: string | null;
  readonly has_more: boolean;
  readonly total_count?: number;
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

export type ReplayWebhookBody = {
  readonly since: string;
};

export type ListWebhookDeliveriesQuery = {
  /** Page size, 1 to 1000; 10 by default. */
  readonly limit?: number | undefined;
  /** Skips this many records. */
  readonly offset?: number | undefined;
  /** 1 returns up to 1000 records. */
  readonly all?: "0" | "1" | undefined;
  /** 1 adds total_count. */
  readonly count?: "0" | "1" | undefined;
  /** The cursor of the page before. */
  readonly cursor?: string | undefined;
  readonly endpoint_id?: string | undefined;
  readonly status?: "delivered" | "failed" | undefined;
  readonly event?: string | undefined;
};

export type ListWebhookDeliveriesReply = {
  readonly webhook_deliveries: readonly WebhookDelivery[];
  readonly cursor: string | null;
  readonly has_more: boolean;
  readonly total_count?: number;
};

export type ListWebhookMessagesQuery = {
  /** Page size, 1 to 1000; 10 by default. */
  readonly limit?: number | undefined;
  /** Skips this many records. */
  readonly offset?: number | undefined;
  /** 1 returns up to 1000 records. */
  readonly all?: "0" | "1" | undefined;
  /** 1 adds total_count. */
  readonly count?: "0" | "1" | undefined;
  /** The cursor of the page before. */
  readonly cursor?: string | undefined;
};

export type ListWebhookMessagesReply = {
  readonly webhook_messages: readonly WebhookMessage[];
  readonly cursor: string | null;
  readonly has_more: boolean;
  readonly total_count?: number;
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

export type FreezeClockBody = {
  readonly frozen_at: string;
};

export type AdvanceClockBody = {
  readonly to: string;
};

export type SetSettingsBody = {
  readonly name?: string;
  /** Lines as on an envelope. */
  readonly address?: string;
  readonly tax_id?: string;
  /** #rrggbb */
  readonly logo_color?: string;
  readonly net_payment_days?: number;
  /** ISO-4217 code. */
  readonly default_currency?: string;
  /** How many closed periods late usage may still correct; 0 for none. */
  readonly late_usage_periods?: number;
};

export type GetPortalQuery = {
  /** 1 bypasses the kept view and computes a new one. */
  readonly refresh?: "0" | "1" | undefined;
};

export type PurgePortalCacheReply = {
  readonly purged: boolean;
  readonly customer_id: string;
};

export type PurgeAllPortalCacheReply = {
  readonly purged: boolean;
  readonly count: number;
};

export type GetInvoiceDocumentQuery = {
  /** Paper; a4 by default. */
  readonly size?: "a4" | "letter" | undefined;
};

export type GetInvoiceDocumentPdfQuery = {
  /** Paper; a4 by default. */
  readonly size?: "a4" | "letter" | undefined;
};

export type ListBillingEventsQuery = {
  /** Page size, 1 to 1000; 10 by default. */
  readonly limit?: number | undefined;
  /** Skips this many records. */
  readonly offset?: number | undefined;
  /** 1 returns up to 1000 records. */
  readonly all?: "0" | "1" | undefined;
  /** 1 adds total_count. */
  readonly count?: "0" | "1" | undefined;
  /** The cursor of the page before. */
  readonly cursor?: string | undefined;
  readonly resource_type?: string | undefined;
  readonly resource_id?: string | undefined;
  readonly event_type?: string | undefined;
  readonly actor_token_id?: string | undefined;
  readonly since?: string | undefined;
  readonly order?: "asc" | "desc" | undefined;
};

export type ListBillingEventsReply = {
  readonly billing_events: readonly BillingEvent[];
  readonly cursor: string | null;
  readonly has_more: boolean;
  readonly total_count?: number;
};

export type GetReadyzReply = {
  readonly status: string;
  readonly schema_version: number;
  readonly warnings: readonly string[];
};
