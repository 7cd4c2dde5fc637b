// Generated from the OpenAPI document: what makes, changes and removes records. Do not edit.

import { type CallOptions, path } from "./call.ts";
import { Reads } from "./reads.ts";
import type { AddOn, UpsertAddOnBody } from "./types/addons.ts";
import type { CatalogItem, UpsertCatalogItemBody } from "./types/catalog.ts";
import type { CreateCustomerBody, Customer, UpdateCustomerBody } from "./types/customers.ts";
import type { Dunning, SetDunningBody } from "./types/dunning.ts";
import type { CreateKeyBody, CreateKeyReply } from "./types/keys.ts";
import type { JsonRpcReply, JsonRpcRequest } from "./types/mcp.ts";
import type { CreateMetricBody, Metric, UpdateMetricBody } from "./types/metrics.ts";
import type { Charge, ChargeInput, CreatePlanBody, Plan, UpdatePlanBody } from "./types/plans.ts";
import type { SetSettingsBody, Settings } from "./types/settings.ts";
import type {
  CreateSubscriptionBody,
  Subscription,
  UpdateSubscriptionBody,
} from "./types/subscriptions.ts";
import type { CreateWebhookBody, UpdateWebhookBody, WebhookEndpoint } from "./types/webhooks.ts";
import type {
  CreateProjectBody,
  CreateWorkspaceBody,
  Project,
  Workspace,
} from "./types/workspaces.ts";

export abstract class Changes extends Reads {
  /**
   * Create a token. Needs no authentication: the organization's id is the secret.
   * KEY_CREATION narrows who may.
   */
  createKey(body: CreateKeyBody, options?: CallOptions): Promise<CreateKeyReply> {
    return this.call("POST", "/v1/keys", options, { body, project: false, keyed: false });
  }

  /** Revoke a token. */
  revokeKey(id: string, options?: CallOptions): Promise<void> {
    return this.call("DELETE", path`/v1/keys/${id}`, options, { project: false });
  }

  /** Create a workspace. */
  createWorkspace(
    body: CreateWorkspaceBody,
    options?: CallOptions,
  ): Promise<{ readonly workspace: Workspace }> {
    return this.call("POST", "/v1/workspaces", options, { body, project: false });
  }

  /** Create a project. */
  createProject(
    body: CreateProjectBody,
    options?: CallOptions,
  ): Promise<{ readonly project: Project }> {
    return this.call("POST", "/v1/projects", options, { body, project: false });
  }

  /** Create a customer. */
  createCustomer(
    body: CreateCustomerBody,
    options?: CallOptions,
  ): Promise<{ readonly customer: Customer }> {
    return this.call("POST", "/v1/customers", options, { body });
  }

  /** Change a customer. Also drops the customer's cached portal view. */
  updateCustomer(
    id: string,
    body: UpdateCustomerBody,
    options?: CallOptions,
  ): Promise<{ readonly customer: Customer }> {
    return this.call("PATCH", path`/v1/customers/${id}`, options, { body });
  }

  /** Create a billable metric. */
  createMetric(
    body: CreateMetricBody,
    options?: CallOptions,
  ): Promise<{ readonly metric: Metric }> {
    return this.call("POST", "/v1/metrics", options, { body });
  }

  /**
   * Rename a metric. How a metric aggregates never changes: usage was counted by it.
   * Make a new one instead.
   */
  updateMetric(
    id: string,
    body: UpdateMetricBody,
    options?: CallOptions,
  ): Promise<{ readonly metric: Metric }> {
    return this.call("PATCH", path`/v1/metrics/${id}`, options, { body });
  }

  /** Archive a metric. */
  archiveMetric(id: string, options?: CallOptions): Promise<void> {
    return this.call("DELETE", path`/v1/metrics/${id}`, options);
  }

  /**
   * Create or update the item with this code. 201 created, 200 updated or brought back
   * from the archive. A new price counts from periods that start later.
   */
  upsertCatalogItem(
    body: UpsertCatalogItemBody,
    options?: CallOptions,
  ): Promise<{ readonly catalog_item: CatalogItem }> {
    return this.call("POST", "/v1/catalog", options, { body });
  }

  /**
   * Archive a catalog item. 422 has_dependencies while live charges or add-ons take
   * their price from it.
   */
  archiveCatalogItem(id: string, options?: CallOptions): Promise<void> {
    return this.call("DELETE", path`/v1/catalog/${id}`, options);
  }

  /** Create a plan. */
  createPlan(body: CreatePlanBody, options?: CallOptions): Promise<{ readonly plan: Plan }> {
    return this.call("POST", "/v1/plans", options, { body });
  }

  /**
   * Change a plan. `charges` is the whole wanted set; unchanged ones keep their id. A
   * new price counts from periods that start later.
   */
  updatePlan(
    id: string,
    body: UpdatePlanBody,
    options?: CallOptions,
  ): Promise<{ readonly plan: Plan }> {
    return this.call("PATCH", path`/v1/plans/${id}`, options, { body });
  }

  /** Archive a plan. 422 has_active_subscriptions while it has active subscriptions. */
  archivePlan(id: string, options?: CallOptions): Promise<void> {
    return this.call("DELETE", path`/v1/plans/${id}`, options);
  }

  /** Add a charge to a plan. Counts from periods that start later. */
  createPlanCharge(
    id: string,
    body: ChargeInput,
    options?: CallOptions,
  ): Promise<{ readonly charge: Charge }> {
    return this.call("POST", path`/v1/plans/${id}/charges`, options, { body });
  }

  /**
   * Create or update the add-on with this code. 201 created, 200 updated. The price is
   * the catalog item's, or its own amount_cents.
   */
  upsertAddOn(body: UpsertAddOnBody, options?: CallOptions): Promise<{ readonly add_on: AddOn }> {
    return this.call("POST", "/v1/addons", options, { body });
  }

  /** Archive an add-on. */
  archiveAddOn(id: string, options?: CallOptions): Promise<void> {
    return this.call("DELETE", path`/v1/addons/${id}`, options);
  }

  /** Start a subscription. Active from now on. Immediate charges are invoiced at once. */
  createSubscription(
    body: CreateSubscriptionBody,
    options?: CallOptions,
  ): Promise<{ readonly subscription: Subscription }> {
    return this.call("POST", "/v1/subscriptions", options, { body });
  }

  /** Change properties or status. Properties are merged into the existing ones. */
  updateSubscription(
    id: string,
    body: UpdateSubscriptionBody,
    options?: CallOptions,
  ): Promise<{ readonly subscription: Subscription }> {
    return this.call("PATCH", path`/v1/subscriptions/${id}`, options, { body });
  }

  /**
   * Register a webhook endpoint. The only answer that carries the full secret, besides a
   * rotation's.
   */
  createWebhook(
    body: CreateWebhookBody,
    options?: CallOptions,
  ): Promise<{ readonly webhook_endpoint: WebhookEndpoint }> {
    return this.call("POST", "/v1/webhooks", options, { body });
  }

  /** Change the events of an endpoint, or switch it off and on. */
  updateWebhook(
    id: string,
    body: UpdateWebhookBody,
    options?: CallOptions,
  ): Promise<{ readonly webhook_endpoint: WebhookEndpoint }> {
    return this.call("PATCH", path`/v1/webhooks/${id}`, options, { body });
  }

  /** Remove a webhook endpoint. */
  removeWebhook(id: string, options?: CallOptions): Promise<void> {
    return this.call("DELETE", path`/v1/webhooks/${id}`, options);
  }

  /**
   * Set the dunning policy. Each step is sent once per overdue invoice, at most one a
   * day, when the UTC date is the due date plus its days.
   */
  setDunning(body: SetDunningBody, options?: CallOptions): Promise<{ readonly dunning: Dunning }> {
    return this.call("PUT", "/v1/dunning", options, { body });
  }

  /**
   * Change the project's settings. A field that is left out keeps its value. Days to pay
   * and late usage count for invoices made from now on.
   */
  setSettings(
    body: SetSettingsBody,
    options?: CallOptions,
  ): Promise<{ readonly settings: Settings }> {
    return this.call("PUT", "/v1/settings", options, { body });
  }

  /**
   * Call tools (JSON-RPC 2.0, MCP). For plain HTTP and for MCP clients over Streamable
   * HTTP. A tool that fails is a result with isError true and the error object of this
   * API.
   */
  createMcp(body?: JsonRpcRequest, options?: CallOptions): Promise<JsonRpcReply> {
    return this.call("POST", "/v1/mcp", options, { body, keyed: false });
  }
}
