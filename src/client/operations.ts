// Generated from the OpenAPI document: a method for every operation. Do not edit.

import type * as T from "./types.ts";

export type CallOptions = {
  /** Makes the call safe to repeat. Every write gets a random one unless told otherwise. */
  readonly idempotency_key?: string;
  /** Another project than the client's. */
  readonly project_id?: string;
  readonly signal?: AbortSignal;
};

/** What an operation sends, and how the door treats it. */
export type Wanted = {
  readonly method: string;
  readonly path: string;
  readonly query?: object | undefined;
  readonly body?: unknown;
  /** Whether X-Project-Id goes along. */
  readonly project: boolean;
  /** Whether the answer is kept under an Idempotency-Key. */
  readonly keyed: boolean;
};

/** Path parameters come first, then the body or the query, then the options of the call. */
export abstract class Operations {
  protected abstract call<Reply>(wanted: Wanted, options?: CallOptions): Promise<Reply>;

  /**
   * Create a token. Needs no authentication: the organization's id is the secret.
   * KEY_CREATION narrows who may.
   */
  createKey(body: T.CreateKeyBody, options?: CallOptions): Promise<T.CreateKeyReply> {
    return this.call(
      { method: "POST", path: "/v1/keys", body, project: false, keyed: false },
      options,
    );
  }

  /** List the organization's tokens. */
  listKeys(options?: CallOptions): Promise<T.ListKeysReply> {
    return this.call({ method: "GET", path: "/v1/keys", project: false, keyed: false }, options);
  }

  /**
   * The current token and its organization. The organization's id is shown to admin
   * tokens only: whoever knows it can make tokens.
   */
  getCurrentKey(options?: CallOptions): Promise<T.GetCurrentKeyReply> {
    return this.call({ method: "GET", path: "/v1/keys/me", project: false, keyed: false }, options);
  }

  /** Revoke a token. */
  revokeKey(id: string, options?: CallOptions): Promise<void> {
    return this.call(
      { method: "DELETE", path: `/v1/keys/${encodeURIComponent(id)}`, project: false, keyed: true },
      options,
    );
  }

  /** List workspaces. */
  listWorkspaces(options?: CallOptions): Promise<T.ListWorkspacesReply> {
    return this.call(
      { method: "GET", path: "/v1/workspaces", project: false, keyed: false },
      options,
    );
  }

  /** Create a workspace. */
  createWorkspace(
    body: T.CreateWorkspaceBody,
    options?: CallOptions,
  ): Promise<{ readonly workspace: T.Workspace }> {
    return this.call(
      { method: "POST", path: "/v1/workspaces", body, project: false, keyed: true },
      options,
    );
  }

  /**
   * List projects. With workspace and slug: resolves slugs to the one project they name.
   */
  listProjects(query?: T.ListProjectsQuery, options?: CallOptions): Promise<T.ListProjectsReply> {
    return this.call(
      { method: "GET", path: "/v1/projects", query, project: false, keyed: false },
      options,
    );
  }

  /** Create a project. */
  createProject(
    body: T.CreateProjectBody,
    options?: CallOptions,
  ): Promise<{ readonly project: T.Project }> {
    return this.call(
      { method: "POST", path: "/v1/projects", body, project: false, keyed: true },
      options,
    );
  }

  /** Create a customer. */
  createCustomer(
    body: T.CreateCustomerBody,
    options?: CallOptions,
  ): Promise<{ readonly customer: T.Customer }> {
    return this.call(
      { method: "POST", path: "/v1/customers", body, project: true, keyed: true },
      options,
    );
  }

  /** List customers, or find one by external_id. */
  listCustomers(
    query: T.ListCustomersQuery & { readonly external_id: string },
    options?: CallOptions,
  ): Promise<{ readonly customer: T.Customer }>;
  listCustomers(
    query?: Omit<T.ListCustomersQuery, "external_id">,
    options?: CallOptions,
  ): Promise<{
    readonly customers: readonly T.Customer[];
    readonly has_more: boolean;
    readonly total_count?: number;
  }>;
  listCustomers(query?: T.ListCustomersQuery, options?: CallOptions): Promise<unknown> {
    return this.call(
      { method: "GET", path: "/v1/customers", query, project: true, keyed: false },
      options,
    );
  }

  /** Get a customer. */
  getCustomer(id: string, options?: CallOptions): Promise<{ readonly customer: T.Customer }> {
    return this.call(
      {
        method: "GET",
        path: `/v1/customers/${encodeURIComponent(id)}`,
        project: true,
        keyed: false,
      },
      options,
    );
  }

  /** Change a customer. Also drops the customer's cached portal view. */
  updateCustomer(
    id: string,
    body: T.UpdateCustomerBody,
    options?: CallOptions,
  ): Promise<{ readonly customer: T.Customer }> {
    return this.call(
      {
        method: "PATCH",
        path: `/v1/customers/${encodeURIComponent(id)}`,
        body,
        project: true,
        keyed: true,
      },
      options,
    );
  }

  /**
   * List a customer's credits. From overpayments and corrections, by currency; used up
   * by the next invoices.
   */
  listCustomerCredits(id: string, options?: CallOptions): Promise<T.ListCustomerCreditsReply> {
    return this.call(
      {
        method: "GET",
        path: `/v1/customers/${encodeURIComponent(id)}/credits`,
        project: true,
        keyed: false,
      },
      options,
    );
  }

  /** Create a billable metric. */
  createMetric(
    body: T.CreateMetricBody,
    options?: CallOptions,
  ): Promise<{ readonly metric: T.Metric }> {
    return this.call(
      { method: "POST", path: "/v1/metrics", body, project: true, keyed: true },
      options,
    );
  }

  /** List metrics, or find one by code. */
  listMetrics(
    query: T.ListMetricsQuery & { readonly code: string },
    options?: CallOptions,
  ): Promise<{ readonly metric: T.Metric }>;
  listMetrics(
    query?: Omit<T.ListMetricsQuery, "code">,
    options?: CallOptions,
  ): Promise<{
    readonly metrics: readonly T.Metric[];
    readonly has_more: boolean;
    readonly total_count?: number;
  }>;
  listMetrics(query?: T.ListMetricsQuery, options?: CallOptions): Promise<unknown> {
    return this.call(
      { method: "GET", path: "/v1/metrics", query, project: true, keyed: false },
      options,
    );
  }

  /** Get a metric. */
  getMetric(id: string, options?: CallOptions): Promise<{ readonly metric: T.Metric }> {
    return this.call(
      { method: "GET", path: `/v1/metrics/${encodeURIComponent(id)}`, project: true, keyed: false },
      options,
    );
  }

  /**
   * Rename a metric. How a metric aggregates never changes: usage was counted by it.
   * Make a new one instead.
   */
  updateMetric(
    id: string,
    body: T.UpdateMetricBody,
    options?: CallOptions,
  ): Promise<{ readonly metric: T.Metric }> {
    return this.call(
      {
        method: "PATCH",
        path: `/v1/metrics/${encodeURIComponent(id)}`,
        body,
        project: true,
        keyed: true,
      },
      options,
    );
  }

  /** Archive a metric. */
  archiveMetric(id: string, options?: CallOptions): Promise<void> {
    return this.call(
      {
        method: "DELETE",
        path: `/v1/metrics/${encodeURIComponent(id)}`,
        project: true,
        keyed: true,
      },
      options,
    );
  }

  /**
   * Create or update the item with this code. 201 created, 200 updated or brought back
   * from the archive. A new price counts from periods that start later.
   */
  upsertCatalogItem(
    body: T.UpsertCatalogItemBody,
    options?: CallOptions,
  ): Promise<{ readonly catalog_item: T.CatalogItem }> {
    return this.call(
      { method: "POST", path: "/v1/catalog", body, project: true, keyed: true },
      options,
    );
  }

  /** List catalog items, or find one by code. */
  listCatalogItems(
    query: T.ListCatalogItemsQuery & { readonly code: string },
    options?: CallOptions,
  ): Promise<{ readonly catalog_item: T.CatalogItem }>;
  listCatalogItems(
    query?: Omit<T.ListCatalogItemsQuery, "code">,
    options?: CallOptions,
  ): Promise<{
    readonly catalog_items: readonly T.CatalogItem[];
    readonly has_more: boolean;
    readonly total_count?: number;
  }>;
  listCatalogItems(query?: T.ListCatalogItemsQuery, options?: CallOptions): Promise<unknown> {
    return this.call(
      { method: "GET", path: "/v1/catalog", query, project: true, keyed: false },
      options,
    );
  }

  /** Get a catalog item. */
  getCatalogItem(
    id: string,
    options?: CallOptions,
  ): Promise<{ readonly catalog_item: T.CatalogItem }> {
    return this.call(
      { method: "GET", path: `/v1/catalog/${encodeURIComponent(id)}`, project: true, keyed: false },
      options,
    );
  }

  /**
   * Archive a catalog item. 422 has_dependencies while live charges or add-ons take
   * their price from it.
   */
  archiveCatalogItem(id: string, options?: CallOptions): Promise<void> {
    return this.call(
      {
        method: "DELETE",
        path: `/v1/catalog/${encodeURIComponent(id)}`,
        project: true,
        keyed: true,
      },
      options,
    );
  }

  /** Create a plan. */
  createPlan(body: T.CreatePlanBody, options?: CallOptions): Promise<{ readonly plan: T.Plan }> {
    return this.call(
      { method: "POST", path: "/v1/plans", body, project: true, keyed: true },
      options,
    );
  }

  /** List plans, or find one by code. */
  listPlans(
    query: T.ListPlansQuery & { readonly code: string },
    options?: CallOptions,
  ): Promise<{ readonly plan: T.Plan }>;
  listPlans(
    query?: Omit<T.ListPlansQuery, "code">,
    options?: CallOptions,
  ): Promise<{
    readonly plans: readonly T.Plan[];
    readonly has_more: boolean;
    readonly total_count?: number;
  }>;
  listPlans(query?: T.ListPlansQuery, options?: CallOptions): Promise<unknown> {
    return this.call(
      { method: "GET", path: "/v1/plans", query, project: true, keyed: false },
      options,
    );
  }

  /** Get a plan with its charges. */
  getPlan(id: string, options?: CallOptions): Promise<{ readonly plan: T.Plan }> {
    return this.call(
      { method: "GET", path: `/v1/plans/${encodeURIComponent(id)}`, project: true, keyed: false },
      options,
    );
  }

  /**
   * Change a plan. `charges` is the whole wanted set; unchanged ones keep their id. A
   * new price counts from periods that start later.
   */
  updatePlan(
    id: string,
    body: T.UpdatePlanBody,
    options?: CallOptions,
  ): Promise<{ readonly plan: T.Plan }> {
    return this.call(
      {
        method: "PATCH",
        path: `/v1/plans/${encodeURIComponent(id)}`,
        body,
        project: true,
        keyed: true,
      },
      options,
    );
  }

  /** Archive a plan. 422 has_active_subscriptions while it has active subscriptions. */
  archivePlan(id: string, options?: CallOptions): Promise<void> {
    return this.call(
      { method: "DELETE", path: `/v1/plans/${encodeURIComponent(id)}`, project: true, keyed: true },
      options,
    );
  }

  /** Add a charge to a plan. Counts from periods that start later. */
  createPlanCharge(
    id: string,
    body: T.ChargeInput,
    options?: CallOptions,
  ): Promise<{ readonly charge: T.Charge }> {
    return this.call(
      {
        method: "POST",
        path: `/v1/plans/${encodeURIComponent(id)}/charges`,
        body,
        project: true,
        keyed: true,
      },
      options,
    );
  }

  /**
   * Create or update the add-on with this code. 201 created, 200 updated. The price is
   * the catalog item's, or its own amount_cents.
   */
  upsertAddOn(
    body: T.UpsertAddOnBody,
    options?: CallOptions,
  ): Promise<{ readonly add_on: T.AddOn }> {
    return this.call(
      { method: "POST", path: "/v1/addons", body, project: true, keyed: true },
      options,
    );
  }

  /** List add-ons, or find one by code. */
  listAddOns(
    query: T.ListAddOnsQuery & { readonly code: string },
    options?: CallOptions,
  ): Promise<{ readonly add_on: T.AddOn }>;
  listAddOns(
    query?: Omit<T.ListAddOnsQuery, "code">,
    options?: CallOptions,
  ): Promise<{
    readonly add_ons: readonly T.AddOn[];
    readonly has_more: boolean;
    readonly total_count?: number;
  }>;
  listAddOns(query?: T.ListAddOnsQuery, options?: CallOptions): Promise<unknown> {
    return this.call(
      { method: "GET", path: "/v1/addons", query, project: true, keyed: false },
      options,
    );
  }

  /** Get an add-on. */
  getAddOn(id: string, options?: CallOptions): Promise<{ readonly add_on: T.AddOn }> {
    return this.call(
      { method: "GET", path: `/v1/addons/${encodeURIComponent(id)}`, project: true, keyed: false },
      options,
    );
  }

  /** Archive an add-on. */
  archiveAddOn(id: string, options?: CallOptions): Promise<void> {
    return this.call(
      {
        method: "DELETE",
        path: `/v1/addons/${encodeURIComponent(id)}`,
        project: true,
        keyed: true,
      },
      options,
    );
  }

  /**
   * Apply an add-on to a customer. Makes an immediate invoice. Send an Idempotency-Key:
   * applying twice is two purchases.
   */
  applyAddOn(
    id: string,
    body: T.ApplyAddOnBody,
    options?: CallOptions,
  ): Promise<{ readonly applied_add_on: T.AppliedAddOn }> {
    return this.call(
      {
        method: "POST",
        path: `/v1/addons/${encodeURIComponent(id)}/apply`,
        body,
        project: true,
        keyed: true,
      },
      options,
    );
  }

  /** Start a subscription. Active from now on. Immediate charges are invoiced at once. */
  createSubscription(
    body: T.CreateSubscriptionBody,
    options?: CallOptions,
  ): Promise<{ readonly subscription: T.Subscription }> {
    return this.call(
      { method: "POST", path: "/v1/subscriptions", body, project: true, keyed: true },
      options,
    );
  }

  /** List subscriptions. */
  listSubscriptions(
    query?: T.ListSubscriptionsQuery,
    options?: CallOptions,
  ): Promise<T.ListSubscriptionsReply> {
    return this.call(
      { method: "GET", path: "/v1/subscriptions", query, project: true, keyed: false },
      options,
    );
  }

  /** Get a subscription. */
  getSubscription(
    id: string,
    options?: CallOptions,
  ): Promise<{ readonly subscription: T.Subscription }> {
    return this.call(
      {
        method: "GET",
        path: `/v1/subscriptions/${encodeURIComponent(id)}`,
        project: true,
        keyed: false,
      },
      options,
    );
  }

  /** Change properties or status. Properties are merged into the existing ones. */
  updateSubscription(
    id: string,
    body: T.UpdateSubscriptionBody,
    options?: CallOptions,
  ): Promise<{ readonly subscription: T.Subscription }> {
    return this.call(
      {
        method: "PATCH",
        path: `/v1/subscriptions/${encodeURIComponent(id)}`,
        body,
        project: true,
        keyed: true,
      },
      options,
    );
  }

  /**
   * Usage and amounts of the open period so far. From the very numbers that will be
   * billed.
   */
  getSubscriptionUsage(
    id: string,
    options?: CallOptions,
  ): Promise<{ readonly usage: T.SubscriptionUsage }> {
    return this.call(
      {
        method: "GET",
        path: `/v1/subscriptions/${encodeURIComponent(id)}/usage`,
        project: true,
        keyed: false,
      },
      options,
    );
  }

  /**
   * Terminate a subscription. Bills the open period up to now, at once. Again: nothing
   * happens.
   */
  terminateSubscription(
    id: string,
    body?: T.TerminateSubscriptionBody,
    options?: CallOptions,
  ): Promise<{ readonly subscription: T.Subscription }> {
    return this.call(
      {
        method: "POST",
        path: `/v1/subscriptions/${encodeURIComponent(id)}/terminate`,
        body,
        project: true,
        keyed: true,
      },
      options,
    );
  }

  /**
   * Suspend a subscription. Usage is still billed; whole suspended days are free of the
   * base fee.
   */
  suspendSubscription(
    id: string,
    options?: CallOptions,
  ): Promise<{ readonly subscription: T.Subscription }> {
    return this.call(
      {
        method: "POST",
        path: `/v1/subscriptions/${encodeURIComponent(id)}/suspend`,
        project: true,
        keyed: true,
      },
      options,
    );
  }

  /**
   * Send a usage event. Answered after the event is stored for ever. A transaction_id
   * that was seen before is accepted and not counted again.
   */
  sendEvent(body: T.UsageEventInput, options?: CallOptions): Promise<T.SendEventReply> {
    return this.call(
      { method: "POST", path: "/v1/events", body, project: true, keyed: false },
      options,
    );
  }

  /**
   * List usage events. Of one subscription, newest first; or with state=unbillable all
   * that are stored and never billed, with the reason.
   */
  listEvents(query?: T.ListEventsQuery, options?: CallOptions): Promise<T.ListEventsReply> {
    return this.call(
      { method: "GET", path: "/v1/events", query, project: true, keyed: false },
      options,
    );
  }

  /**
   * Send up to 10,000 usage events. Answers for each event by its index; good ones are
   * stored whatever the others are.
   */
  sendEventBatch(
    body: T.SendEventBatchBody,
    options?: CallOptions,
  ): Promise<T.SendEventBatchReply> {
    return this.call(
      { method: "POST", path: "/v1/events/batch", body, project: true, keyed: false },
      options,
    );
  }

  /**
   * Get a usage event. By the transaction_id it was sent with: whether it is stored, and
   * how it counts.
   */
  getEvent(
    transactionId: string,
    options?: CallOptions,
  ): Promise<{ readonly event: T.UsageEvent }> {
    return this.call(
      {
        method: "GET",
        path: `/v1/events/${encodeURIComponent(transactionId)}`,
        project: true,
        keyed: false,
      },
      options,
    );
  }

  /** List invoices. */
  listInvoices(query?: T.ListInvoicesQuery, options?: CallOptions): Promise<T.ListInvoicesReply> {
    return this.call(
      { method: "GET", path: "/v1/invoices", query, project: true, keyed: false },
      options,
    );
  }

  /** Get an invoice with its fees. */
  getInvoice(id: string, options?: CallOptions): Promise<{ readonly invoice: T.InvoiceWithFees }> {
    return this.call(
      {
        method: "GET",
        path: `/v1/invoices/${encodeURIComponent(id)}`,
        project: true,
        keyed: false,
      },
      options,
    );
  }

  /**
   * What a subscription would be billed. By the same function that closes the period.
   * Nothing is stored.
   */
  previewInvoice(
    body: T.PreviewInvoiceBody,
    options?: CallOptions,
  ): Promise<{ readonly invoice_preview: T.InvoicePreview }> {
    return this.call(
      { method: "POST", path: "/v1/invoices/preview", body, project: true, keyed: false },
      options,
    );
  }

  /**
   * Void an unpaid invoice. What was paid in part, or by credit, becomes customer
   * credit.
   */
  voidInvoice(id: string, options?: CallOptions): Promise<{ readonly invoice: T.InvoiceWithFees }> {
    return this.call(
      {
        method: "POST",
        path: `/v1/invoices/${encodeURIComponent(id)}/void`,
        project: true,
        keyed: true,
      },
      options,
    );
  }

  /**
   * Record a payment. The same provider and provider_payment_id again, for the same
   * invoice and amount: 200 with the payment that is there.
   */
  recordPayment(
    body: T.RecordPaymentBody,
    options?: CallOptions,
  ): Promise<{ readonly payment: T.Payment }> {
    return this.call(
      { method: "POST", path: "/v1/payments", body, project: true, keyed: true },
      options,
    );
  }

  /** List payments. */
  listPayments(query?: T.ListPaymentsQuery, options?: CallOptions): Promise<T.ListPaymentsReply> {
    return this.call(
      { method: "GET", path: "/v1/payments", query, project: true, keyed: false },
      options,
    );
  }

  /** Get a payment. */
  getPayment(id: string, options?: CallOptions): Promise<{ readonly payment: T.Payment }> {
    return this.call(
      {
        method: "GET",
        path: `/v1/payments/${encodeURIComponent(id)}`,
        project: true,
        keyed: false,
      },
      options,
    );
  }

  /**
   * Subscriptions, MRR, what is due and what came in. Amounts are in the project's
   * default currency; by_currency has the others.
   */
  getAnalytics(options?: CallOptions): Promise<T.Analytics> {
    return this.call(
      { method: "GET", path: "/v1/analytics", project: true, keyed: false },
      options,
    );
  }

  /**
   * Register a webhook endpoint. The only answer that carries the full secret, besides a
   * rotation's.
   */
  createWebhook(
    body: T.CreateWebhookBody,
    options?: CallOptions,
  ): Promise<{ readonly webhook_endpoint: T.WebhookEndpoint }> {
    return this.call(
      { method: "POST", path: "/v1/webhooks", body, project: true, keyed: true },
      options,
    );
  }

  /** List webhook endpoints. */
  listWebhooks(options?: CallOptions): Promise<T.ListWebhooksReply> {
    return this.call({ method: "GET", path: "/v1/webhooks", project: true, keyed: false }, options);
  }

  /** Get a webhook endpoint. */
  getWebhook(
    id: string,
    options?: CallOptions,
  ): Promise<{ readonly webhook_endpoint: T.WebhookEndpoint }> {
    return this.call(
      {
        method: "GET",
        path: `/v1/webhooks/${encodeURIComponent(id)}`,
        project: true,
        keyed: false,
      },
      options,
    );
  }

  /** Change the events of an endpoint, or switch it off and on. */
  updateWebhook(
    id: string,
    body: T.UpdateWebhookBody,
    options?: CallOptions,
  ): Promise<{ readonly webhook_endpoint: T.WebhookEndpoint }> {
    return this.call(
      {
        method: "PATCH",
        path: `/v1/webhooks/${encodeURIComponent(id)}`,
        body,
        project: true,
        keyed: true,
      },
      options,
    );
  }

  /** Remove a webhook endpoint. */
  removeWebhook(id: string, options?: CallOptions): Promise<void> {
    return this.call(
      {
        method: "DELETE",
        path: `/v1/webhooks/${encodeURIComponent(id)}`,
        project: true,
        keyed: true,
      },
      options,
    );
  }

  /** Give an endpoint a new secret. Both secrets sign for 24 hours. */
  rotateWebhookSecret(
    id: string,
    options?: CallOptions,
  ): Promise<{ readonly webhook_endpoint: T.WebhookEndpoint }> {
    return this.call(
      {
        method: "POST",
        path: `/v1/webhooks/${encodeURIComponent(id)}/rotate-secret`,
        project: true,
        keyed: true,
      },
      options,
    );
  }

  /** Send a test message to an endpoint. */
  testWebhook(id: string, options?: CallOptions): Promise<{ readonly queued: number }> {
    return this.call(
      {
        method: "POST",
        path: `/v1/webhooks/${encodeURIComponent(id)}/test`,
        project: true,
        keyed: true,
      },
      options,
    );
  }

  /**
   * Send again everything since an instant. Every message that the endpoint is
   * subscribed to, under its old id.
   */
  replayWebhook(
    id: string,
    body: T.ReplayWebhookBody,
    options?: CallOptions,
  ): Promise<{ readonly queued: number }> {
    return this.call(
      {
        method: "POST",
        path: `/v1/webhooks/${encodeURIComponent(id)}/replay`,
        body,
        project: true,
        keyed: true,
      },
      options,
    );
  }

  /** The log of attempts, newest first. */
  listWebhookDeliveries(
    query?: T.ListWebhookDeliveriesQuery,
    options?: CallOptions,
  ): Promise<T.ListWebhookDeliveriesReply> {
    return this.call(
      { method: "GET", path: "/v1/webhook-deliveries", query, project: true, keyed: false },
      options,
    );
  }

  /** Send a message again. */
  redeliverWebhookDelivery(
    id: string,
    options?: CallOptions,
  ): Promise<{ readonly queued: number }> {
    return this.call(
      {
        method: "POST",
        path: `/v1/webhook-deliveries/${encodeURIComponent(id)}/redeliver`,
        project: true,
        keyed: true,
      },
      options,
    );
  }

  /**
   * Follow the messages themselves, oldest first. What endpoints are told, as it is
   * signed and sent, in the order in which it was committed. The cursor is given on the
   * last page too, to go on from later. A sandbox project keeps every message, a live
   * one those that an endpoint was subscribed to.
   */
  listWebhookMessages(
    query?: T.ListWebhookMessagesQuery,
    options?: CallOptions,
  ): Promise<T.ListWebhookMessagesReply> {
    return this.call(
      { method: "GET", path: "/v1/webhook-messages", query, project: true, keyed: false },
      options,
    );
  }

  /** The dunning policy. */
  getDunning(options?: CallOptions): Promise<{ readonly dunning: T.Dunning }> {
    return this.call({ method: "GET", path: "/v1/dunning", project: true, keyed: false }, options);
  }

  /**
   * Set the dunning policy. Each step is sent once per overdue invoice, at most one a
   * day, when the UTC date is the due date plus its days.
   */
  setDunning(
    body: T.SetDunningBody,
    options?: CallOptions,
  ): Promise<{ readonly dunning: T.Dunning }> {
    return this.call(
      { method: "PUT", path: "/v1/dunning", body, project: true, keyed: true },
      options,
    );
  }

  /** What time it is in this project. */
  getClock(options?: CallOptions): Promise<{ readonly clock: T.Clock }> {
    return this.call({ method: "GET", path: "/v1/clock", project: true, keyed: false }, options);
  }

  /**
   * Freeze the clock of a sandbox project. At any instant while the project has no
   * subscription, afterwards only forward.
   */
  freezeClock(body: T.FreezeClockBody, options?: CallOptions): Promise<T.ClockReport> {
    return this.call(
      { method: "POST", path: "/v1/clock", body, project: true, keyed: false },
      options,
    );
  }

  /**
   * Travel forward in time. Everything that falls due up to and including that instant
   * happens, in the order of time; the answer lists it.
   */
  advanceClock(body: T.AdvanceClockBody, options?: CallOptions): Promise<T.ClockReport> {
    return this.call(
      { method: "POST", path: "/v1/clock/advance", body, project: true, keyed: false },
      options,
    );
  }

  /** Get the project's settings. */
  getSettings(options?: CallOptions): Promise<{ readonly settings: T.Settings }> {
    return this.call({ method: "GET", path: "/v1/settings", project: true, keyed: false }, options);
  }

  /**
   * Change the project's settings. A field that is left out keeps its value. Days to pay
   * and late usage count for invoices made from now on.
   */
  setSettings(
    body: T.SetSettingsBody,
    options?: CallOptions,
  ): Promise<{ readonly settings: T.Settings }> {
    return this.call(
      { method: "PUT", path: "/v1/settings", body, project: true, keyed: true },
      options,
    );
  }

  /**
   * A customer's own view. Needs no token: whoever has the id may read. Kept for 30
   * days; dropped by a change of the customer, a purge, or refresh=1, which is limited
   * and answers 429 beyond. The header X-Portal-Cache says hit or miss.
   */
  getPortal(
    customerId: string,
    query?: T.GetPortalQuery,
    options?: CallOptions,
  ): Promise<T.Portal> {
    return this.call(
      {
        method: "GET",
        path: `/v1/portal/${encodeURIComponent(customerId)}`,
        query,
        project: false,
        keyed: false,
      },
      options,
    );
  }

  /**
   * Purge a customer's cached view. An unknown customer, or one of somebody else, gives
   * the same answer.
   */
  purgePortalCache(customerId: string, options?: CallOptions): Promise<T.PurgePortalCacheReply> {
    return this.call(
      {
        method: "DELETE",
        path: `/v1/portal-cache/${encodeURIComponent(customerId)}`,
        project: true,
        keyed: true,
      },
      options,
    );
  }

  /**
   * Purge all cached views. Of the project in the header, or without it of every project
   * of the organization.
   */
  purgeAllPortalCache(options?: CallOptions): Promise<T.PurgeAllPortalCacheReply> {
    return this.call(
      { method: "DELETE", path: "/v1/portal-cache", project: true, keyed: true },
      options,
    );
  }

  /** The invoice as a document. HTML, or PDF with the header accept: application/pdf. */
  getInvoiceDocument(
    id: string,
    query?: T.GetInvoiceDocumentQuery,
    options?: CallOptions,
  ): Promise<void> {
    return this.call(
      {
        method: "GET",
        path: `/v1/invoices/${encodeURIComponent(id)}/document`,
        query,
        project: true,
        keyed: false,
      },
      options,
    );
  }

  /** The invoice as PDF. */
  getInvoiceDocumentPdf(
    id: string,
    query?: T.GetInvoiceDocumentPdfQuery,
    options?: CallOptions,
  ): Promise<void> {
    return this.call(
      {
        method: "GET",
        path: `/v1/invoices/${encodeURIComponent(id)}/document.pdf`,
        query,
        project: true,
        keyed: false,
      },
      options,
    );
  }

  /**
   * Read the log of domain events. Newest first. With order=asc it is a feed to catch up
   * by: rows come in the order in which they were committed, and the cursor is given on
   * the last page too, to go on from later.
   */
  listBillingEvents(
    query?: T.ListBillingEventsQuery,
    options?: CallOptions,
  ): Promise<T.ListBillingEventsReply> {
    return this.call(
      { method: "GET", path: "/v1/billing-events", query, project: true, keyed: false },
      options,
    );
  }

  /**
   * Call tools (JSON-RPC 2.0, MCP). For plain HTTP and for MCP clients over Streamable
   * HTTP. A tool that fails is a result with isError true and the error object of this
   * API.
   */
  createMcp(body?: T.JsonRpcRequest, options?: CallOptions): Promise<T.JsonRpcReply> {
    return this.call(
      { method: "POST", path: "/v1/mcp", body, project: true, keyed: false },
      options,
    );
  }

  /** What the tool endpoint offers. */
  getMcp(options?: CallOptions): Promise<T.McpServerInfo> {
    return this.call({ method: "GET", path: "/v1/mcp", project: true, keyed: false }, options);
  }

  /** The process is alive. */
  getHealthz(options?: CallOptions): Promise<{ readonly status: string }> {
    return this.call({ method: "GET", path: "/healthz", project: false, keyed: false }, options);
  }

  /**
   * The service can do its work. 503 while the database is away, its schema is another
   * one, or the process drains.
   */
  getReadyz(options?: CallOptions): Promise<T.GetReadyzReply> {
    return this.call({ method: "GET", path: "/readyz", project: false, keyed: false }, options);
  }
}
