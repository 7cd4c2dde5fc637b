// Generated from the OpenAPI document: what `dues/client/types` offers. Do not edit.

export type {
  AddOn,
  AppliedAddOn,
  ApplyAddOnBody,
  ListAddOnsQuery,
  ListAddOnsReply,
  UpsertAddOnBody,
} from "./types/addons.ts";
export type { Analytics } from "./types/analytics.ts";
export type {
  BillingEvent,
  ListBillingEventsQuery,
  ListBillingEventsReply,
} from "./types/billing-events.ts";
export type {
  CatalogItem,
  ListCatalogItemsQuery,
  ListCatalogItemsReply,
  UpsertCatalogItemBody,
} from "./types/catalog.ts";
export type { AdvanceClockBody, Clock, ClockReport, FreezeClockBody } from "./types/clock.ts";
export type {
  Cents,
  Currency,
  CursorPage,
  CursorQuery,
  Error,
  Page,
  PageQuery,
} from "./types/common.ts";
export type {
  CreateCustomerBody,
  Credit,
  Customer,
  ListCustomerCreditsReply,
  ListCustomersQuery,
  ListCustomersReply,
  UpdateCustomerBody,
} from "./types/customers.ts";
export type { Dunning, SetDunningBody } from "./types/dunning.ts";
export type {
  ListEventsQuery,
  ListEventsReply,
  SendEventBatchBody,
  SendEventBatchReply,
  SendEventReply,
  UsageEvent,
  UsageEventInput,
} from "./types/events.ts";
export type { GetReadyzReply } from "./types/healthz.ts";
export type {
  Fee,
  GetInvoiceDocumentPdfQuery,
  GetInvoiceDocumentQuery,
  Invoice,
  InvoicePreview,
  InvoiceWithFees,
  ListInvoicesQuery,
  ListInvoicesReply,
  PreviewInvoiceBody,
} from "./types/invoices.ts";
export type {
  CreateKeyBody,
  CreateKeyReply,
  GetCurrentKeyReply,
  ListKeysReply,
  Token,
} from "./types/keys.ts";
export type { JsonRpcReply, JsonRpcRequest, McpServerInfo } from "./types/mcp.ts";
export type {
  CreateMetricBody,
  ListMetricsQuery,
  ListMetricsReply,
  Metric,
  UpdateMetricBody,
} from "./types/metrics.ts";
export type {
  ListPaymentsQuery,
  ListPaymentsReply,
  Payment,
  RecordPaymentBody,
} from "./types/payments.ts";
export type {
  Charge,
  ChargeInput,
  CreatePlanBody,
  ListPlansQuery,
  ListPlansReply,
  Plan,
  UpdatePlanBody,
} from "./types/plans.ts";
export type {
  GetPortalQuery,
  Portal,
  PurgeAllPortalCacheReply,
  PurgePortalCacheReply,
} from "./types/portal.ts";
export type { SetSettingsBody, Settings } from "./types/settings.ts";
export type {
  CreateSubscriptionBody,
  ListSubscriptionsQuery,
  ListSubscriptionsReply,
  Subscription,
  SubscriptionUsage,
  TerminateSubscriptionBody,
  UpdateSubscriptionBody,
} from "./types/subscriptions.ts";
export type {
  CreateWebhookBody,
  ListWebhookDeliveriesQuery,
  ListWebhookDeliveriesReply,
  ListWebhookMessagesQuery,
  ListWebhookMessagesReply,
  ListWebhooksReply,
  ReplayWebhookBody,
  UpdateWebhookBody,
  WebhookDelivery,
  WebhookEndpoint,
  WebhookMessage,
} from "./types/webhooks.ts";
export type {
  CreateProjectBody,
  CreateWorkspaceBody,
  ListProjectsQuery,
  ListProjectsReply,
  ListWorkspacesReply,
  Project,
  Workspace,
} from "./types/workspaces.ts";
