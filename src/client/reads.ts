// Generated from the OpenAPI document: what is read. Do not edit.

import { type CallOptions, Calls, path } from "./call.ts";
import type { AddOn, ListAddOnsQuery, ListAddOnsReply } from "./types/addons.ts";
import type { Analytics } from "./types/analytics.ts";
import type { ListBillingEventsQuery, ListBillingEventsReply } from "./types/billing-events.ts";
import type { CatalogItem, ListCatalogItemsQuery, ListCatalogItemsReply } from "./types/catalog.ts";
import type { Clock } from "./types/clock.ts";
import type {
  Customer,
  ListCustomerCreditsReply,
  ListCustomersQuery,
  ListCustomersReply,
} from "./types/customers.ts";
import type { Dunning } from "./types/dunning.ts";
import type { ListEventsQuery, ListEventsReply, UsageEvent } from "./types/events.ts";
import type { GetReadyzReply } from "./types/healthz.ts";
import type {
  GetInvoiceDocumentPdfQuery,
  GetInvoiceDocumentQuery,
  InvoiceWithFees,
  ListInvoicesQuery,
  ListInvoicesReply,
} from "./types/invoices.ts";
import type { GetCurrentKeyReply, ListKeysReply } from "./types/keys.ts";
import type { McpServerInfo } from "./types/mcp.ts";
import type { ListMetricsQuery, ListMetricsReply, Metric } from "./types/metrics.ts";
import type { ListPaymentsQuery, ListPaymentsReply, Payment } from "./types/payments.ts";
import type { ListPlansQuery, ListPlansReply, Plan } from "./types/plans.ts";
import type { GetPortalQuery, Portal } from "./types/portal.ts";
import type { Settings } from "./types/settings.ts";
import type {
  ListSubscriptionsQuery,
  ListSubscriptionsReply,
  Subscription,
  SubscriptionUsage,
} from "./types/subscriptions.ts";
import type {
  ListWebhookDeliveriesQuery,
  ListWebhookDeliveriesReply,
  ListWebhookMessagesQuery,
  ListWebhookMessagesReply,
  ListWebhooksReply,
  WebhookEndpoint,
} from "./types/webhooks.ts";
import type {
  ListProjectsQuery,
  ListProjectsReply,
  ListWorkspacesReply,
} from "./types/workspaces.ts";

export abstract class Reads extends Calls {
  /** List the organization's tokens. */
  listKeys(options?: CallOptions): Promise<ListKeysReply> {
    return this.call("GET", "/v1/keys", options, { project: false });
  }

  /**
   * The current token and its organization. The organization's id is shown to admin
   * tokens only: whoever knows it can make tokens.
   */
  getCurrentKey(options?: CallOptions): Promise<GetCurrentKeyReply> {
    return this.call("GET", "/v1/keys/me", options, { project: false });
  }

  /** List workspaces. */
  listWorkspaces(options?: CallOptions): Promise<ListWorkspacesReply> {
    return this.call("GET", "/v1/workspaces", options, { project: false });
  }

  /**
   * List projects. With workspace and slug: resolves slugs to the one project they name.
   */
  listProjects(query?: ListProjectsQuery, options?: CallOptions): Promise<ListProjectsReply> {
    return this.call("GET", "/v1/projects", options, { query, project: false });
  }

  /** List customers, or find one by external_id. */
  listCustomers(
    query: ListCustomersQuery & { readonly external_id: string },
    options?: CallOptions,
  ): Promise<{ readonly customer: Customer }>;
  /** List customers, or find one by external_id. */
  listCustomers(
    query?: Omit<ListCustomersQuery, "external_id">,
    options?: CallOptions,
  ): Promise<ListCustomersReply>;
  listCustomers(query?: ListCustomersQuery, options?: CallOptions): Promise<unknown> {
    return this.call("GET", "/v1/customers", options, { query });
  }

  /** Get a customer. */
  getCustomer(id: string, options?: CallOptions): Promise<{ readonly customer: Customer }> {
    return this.call("GET", path`/v1/customers/${id}`, options);
  }

  /**
   * List a customer's credits. From overpayments and corrections, by currency; used up
   * by the next invoices.
   */
  listCustomerCredits(id: string, options?: CallOptions): Promise<ListCustomerCreditsReply> {
    return this.call("GET", path`/v1/customers/${id}/credits`, options);
  }

  /** List metrics, or find one by code. */
  listMetrics(
    query: ListMetricsQuery & { readonly code: string },
    options?: CallOptions,
  ): Promise<{ readonly metric: Metric }>;
  /** List metrics, or find one by code. */
  listMetrics(
    query?: Omit<ListMetricsQuery, "code">,
    options?: CallOptions,
  ): Promise<ListMetricsReply>;
  listMetrics(query?: ListMetricsQuery, options?: CallOptions): Promise<unknown> {
    return this.call("GET", "/v1/metrics", options, { query });
  }

  /** Get a metric. */
  getMetric(id: string, options?: CallOptions): Promise<{ readonly metric: Metric }> {
    return this.call("GET", path`/v1/metrics/${id}`, options);
  }

  /** List catalog items, or find one by code. */
  listCatalogItems(
    query: ListCatalogItemsQuery & { readonly code: string },
    options?: CallOptions,
  ): Promise<{ readonly catalog_item: CatalogItem }>;
  /** List catalog items, or find one by code. */
  listCatalogItems(
    query?: Omit<ListCatalogItemsQuery, "code">,
    options?: CallOptions,
  ): Promise<ListCatalogItemsReply>;
  listCatalogItems(query?: ListCatalogItemsQuery, options?: CallOptions): Promise<unknown> {
    return this.call("GET", "/v1/catalog", options, { query });
  }

  /** Get a catalog item. */
  getCatalogItem(
    id: string,
    options?: CallOptions,
  ): Promise<{ readonly catalog_item: CatalogItem }> {
    return this.call("GET", path`/v1/catalog/${id}`, options);
  }

  /** List plans, or find one by code. */
  listPlans(
    query: ListPlansQuery & { readonly code: string },
    options?: CallOptions,
  ): Promise<{ readonly plan: Plan }>;
  /** List plans, or find one by code. */
  listPlans(query?: Omit<ListPlansQuery, "code">, options?: CallOptions): Promise<ListPlansReply>;
  listPlans(query?: ListPlansQuery, options?: CallOptions): Promise<unknown> {
    return this.call("GET", "/v1/plans", options, { query });
  }

  /** Get a plan with its charges. */
  getPlan(id: string, options?: CallOptions): Promise<{ readonly plan: Plan }> {
    return this.call("GET", path`/v1/plans/${id}`, options);
  }

  /** List add-ons, or find one by code. */
  listAddOns(
    query: ListAddOnsQuery & { readonly code: string },
    options?: CallOptions,
  ): Promise<{ readonly add_on: AddOn }>;
  /** List add-ons, or find one by code. */
  listAddOns(
    query?: Omit<ListAddOnsQuery, "code">,
    options?: CallOptions,
  ): Promise<ListAddOnsReply>;
  listAddOns(query?: ListAddOnsQuery, options?: CallOptions): Promise<unknown> {
    return this.call("GET", "/v1/addons", options, { query });
  }

  /** Get an add-on. */
  getAddOn(id: string, options?: CallOptions): Promise<{ readonly add_on: AddOn }> {
    return this.call("GET", path`/v1/addons/${id}`, options);
  }

  /** List subscriptions. */
  listSubscriptions(
    query?: ListSubscriptionsQuery,
    options?: CallOptions,
  ): Promise<ListSubscriptionsReply> {
    return this.call("GET", "/v1/subscriptions", options, { query });
  }

  /** Get a subscription. */
  getSubscription(
    id: string,
    options?: CallOptions,
  ): Promise<{ readonly subscription: Subscription }> {
    return this.call("GET", path`/v1/subscriptions/${id}`, options);
  }

  /**
   * Usage and amounts of the open period so far. From the very numbers that will be
   * billed.
   */
  getSubscriptionUsage(
    id: string,
    options?: CallOptions,
  ): Promise<{ readonly usage: SubscriptionUsage }> {
    return this.call("GET", path`/v1/subscriptions/${id}/usage`, options);
  }

  /**
   * List usage events. Of one subscription, newest first; or with state=unbillable all
   * that are stored and never billed, with the reason.
   */
  listEvents(query?: ListEventsQuery, options?: CallOptions): Promise<ListEventsReply> {
    return this.call("GET", "/v1/events", options, { query });
  }

  /**
   * Get a usage event. By the transaction_id it was sent with: whether it is stored, and
   * how it counts.
   */
  getEvent(transactionId: string, options?: CallOptions): Promise<{ readonly event: UsageEvent }> {
    return this.call("GET", path`/v1/events/${transactionId}`, options);
  }

  /** List invoices. */
  listInvoices(query?: ListInvoicesQuery, options?: CallOptions): Promise<ListInvoicesReply> {
    return this.call("GET", "/v1/invoices", options, { query });
  }

  /** Get an invoice with its fees. */
  getInvoice(id: string, options?: CallOptions): Promise<{ readonly invoice: InvoiceWithFees }> {
    return this.call("GET", path`/v1/invoices/${id}`, options);
  }

  /** List payments. */
  listPayments(query?: ListPaymentsQuery, options?: CallOptions): Promise<ListPaymentsReply> {
    return this.call("GET", "/v1/payments", options, { query });
  }

  /** Get a payment. */
  getPayment(id: string, options?: CallOptions): Promise<{ readonly payment: Payment }> {
    return this.call("GET", path`/v1/payments/${id}`, options);
  }

  /**
   * Subscriptions, MRR, what is due and what came in. Amounts are in the project's
   * default currency; by_currency has the others.
   */
  getAnalytics(options?: CallOptions): Promise<Analytics> {
    return this.call("GET", "/v1/analytics", options);
  }

  /** List webhook endpoints. */
  listWebhooks(options?: CallOptions): Promise<ListWebhooksReply> {
    return this.call("GET", "/v1/webhooks", options);
  }

  /** Get a webhook endpoint. */
  getWebhook(
    id: string,
    options?: CallOptions,
  ): Promise<{ readonly webhook_endpoint: WebhookEndpoint }> {
    return this.call("GET", path`/v1/webhooks/${id}`, options);
  }

  /** The log of attempts, newest first. */
  listWebhookDeliveries(
    query?: ListWebhookDeliveriesQuery,
    options?: CallOptions,
  ): Promise<ListWebhookDeliveriesReply> {
    return this.call("GET", "/v1/webhook-deliveries", options, { query });
  }

  /**
   * Follow the messages themselves, oldest first. What endpoints are told, as it is
   * signed and sent, in the order in which it was committed. The cursor is given on the
   * last page too, to go on from later. A sandbox project keeps every message, a live
   * one those that an endpoint was subscribed to.
   */
  listWebhookMessages(
    query?: ListWebhookMessagesQuery,
    options?: CallOptions,
  ): Promise<ListWebhookMessagesReply> {
    return this.call("GET", "/v1/webhook-messages", options, { query });
  }

  /** The dunning policy. */
  getDunning(options?: CallOptions): Promise<{ readonly dunning: Dunning }> {
    return this.call("GET", "/v1/dunning", options);
  }

  /** What time it is in this project. */
  getClock(options?: CallOptions): Promise<{ readonly clock: Clock }> {
    return this.call("GET", "/v1/clock", options);
  }

  /** Get the project's settings. */
  getSettings(options?: CallOptions): Promise<{ readonly settings: Settings }> {
    return this.call("GET", "/v1/settings", options);
  }

  /**
   * A customer's own view. Needs no token: whoever has the id may read. Kept for 30
   * days; dropped by a change of the customer, a purge, or refresh=1, which is limited
   * and answers 429 beyond. The header X-Portal-Cache says hit or miss.
   */
  getPortal(customerId: string, query?: GetPortalQuery, options?: CallOptions): Promise<Portal> {
    return this.call("GET", path`/v1/portal/${customerId}`, options, { query, project: false });
  }

  /** The invoice as a document. HTML, or PDF with the header accept: application/pdf. */
  getInvoiceDocument(
    id: string,
    query?: GetInvoiceDocumentQuery,
    options?: CallOptions,
  ): Promise<string> {
    return this.call("GET", path`/v1/invoices/${id}/document`, options, { query });
  }

  /** The invoice as PDF. */
  getInvoiceDocumentPdf(
    id: string,
    query?: GetInvoiceDocumentPdfQuery,
    options?: CallOptions,
  ): Promise<Uint8Array> {
    return this.call("GET", path`/v1/invoices/${id}/document.pdf`, options, { query });
  }

  /**
   * Read the log of domain events. Newest first. With order=asc it is a feed to catch up
   * by: rows come in the order in which they were committed, and the cursor is given on
   * the last page too, to go on from later.
   */
  listBillingEvents(
    query?: ListBillingEventsQuery,
    options?: CallOptions,
  ): Promise<ListBillingEventsReply> {
    return this.call("GET", "/v1/billing-events", options, { query });
  }

  /** What the tool endpoint offers. */
  getMcp(options?: CallOptions): Promise<McpServerInfo> {
    return this.call("GET", "/v1/mcp", options);
  }

  /** The process is alive. */
  getHealthz(options?: CallOptions): Promise<{ readonly status: string }> {
    return this.call("GET", "/healthz", options, { project: false });
  }

  /**
   * The service can do its work. 503 while the database is away, its schema is another
   * one, or the process drains.
   */
  getReadyz(options?: CallOptions): Promise<GetReadyzReply> {
    return this.call("GET", "/readyz", options, { project: false });
  }
}
