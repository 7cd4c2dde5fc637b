// The writes that callers ask for, each as one call on what `makeWorld` made.

import type { Json } from "../support/app.ts";
import { request, type Write } from "./request.ts";
import { MONEY_WRITES } from "./writes-money.ts";

export type { Write };

const event = (transaction_id: string, more: Json = {}) => ({
  transaction_id,
  subscription_id: "ext:s1",
  code: "calls",
  timestamp: "2025-02-14T00:00:00.000Z",
  properties: { n: "7" },
  ...more,
});

const OF_P1 = { subscription_id: "ext:p1" };

/** A subscription's plan, prices, trial, start and end. */
const PRICING: readonly Write[] = [
  request(
    "create a plan with tiers, a minimum and prices by dimension",
    "POST",
    () => "/v1/plans",
    () => ({
      code: "tiers",
      name: "Tiers",
      interval: "monthly",
      amount_currency: "USD",
      minimum_cents: 100,
      trial_days: 3,
      base_timing: "advance",
      charges: [
        { type: "volume", metric_ref: "calls", tiers: [{ up_to: null, rate: "0.1" }] },
        {
          type: "package",
          metric_ref: "tokens",
          rate: "5",
          package_size: 10,
          prices: [{ match: { model: "large" }, rate: "9", package_size: 10 }],
        },
      ],
    }),
  ),
  request(
    "start a subscription with a base in advance and prices of its own",
    "POST",
    () => "/v1/subscriptions",
    ({ c2, scale }) => ({
      external_id: "new",
      customer_id: c2,
      plan_id: scale,
      properties: { seats: 1 },
      overrides: { amount_cents: 700, minimum_cents: 0 },
    }),
  ),
  request(
    "make a subscription that starts later",
    "POST",
    () => "/v1/subscriptions",
    ({ c2, spare }) => ({
      external_id: "new",
      customer_id: c2,
      plan_id: spare,
      starts_at: "2025-04-01T00:00:00.000Z",
    }),
  ),
  ...Object.entries({
    "change the plan now": { name: "p1", body: { properties: { seats: 5 } }, to: "spare" },
    "change the plan of one with a level": { name: "p2", body: {}, to: "pro" },
    "change the plan at the end of the period": {
      name: "s1",
      body: { change_at: "period_end", overrides: { amount_cents: 5 } },
      to: "spare",
    },
    "change the plan in a trial": { name: "p5", body: {}, to: "spare" },
    "start one that is pending": { name: "p3", body: { status: "active" } },
    "withdraw one that is pending": { name: "p3", body: { status: "canceled" } },
    "end a trial": { name: "p5", body: { trial_days: 0 } },
    "set an end": { name: "s1", body: { ends_at: "2025-02-20T00:00:00.000Z" } },
    "give a subscription prices of its own": {
      name: "s1",
      body: { overrides: { charges: [] }, metadata: { why: "deal" } },
    },
    "remove prices of its own": { name: "p4", body: { overrides: null } },
  } as Record<string, { name: string; body: Json; to?: string }>).map(([name, change]) =>
    request(
      name,
      "PATCH",
      () => `/v1/subscriptions/ext:${change.name}`,
      (ids) => ({
        ...change.body,
        ...(change.to !== undefined && { plan_id: ids[change.to] }),
      }),
    ),
  ),
  request(
    "record events with dimensions and of a level, late ones among them",
    "POST",
    () => "/v1/events/batch",
    () => ({
      events: [
        event("d1", { ...OF_P1, code: "tokens", properties: { n: "4", model: "small" } }),
        event("d2", { ...OF_P1, code: "tokens", properties: { n: "4", model: "large" } }),
        event("d3", { ...OF_P1, code: "disk", properties: { n: "-1" } }),
        event("d4", { ...OF_P1, code: "disk", timestamp: "2025-01-20T00:00:00.000Z" }),
      ],
    }),
    { keyed: false },
  ),
];

const CATALOG_ENDS: readonly Write[] = [
  request("archive a metric", "DELETE", ({ unused_metric }) => `/v1/metrics/${unused_metric}`),
  request("archive a catalog item", "DELETE", ({ unused_item }) => `/v1/catalog/${unused_item}`),
  request("archive an add-on", "DELETE", ({ unused_addon }) => `/v1/addons/${unused_addon}`),
  request("purge a customer's view", "DELETE", ({ c2 }) => `/v1/portal-cache/${c2}`),
  request("purge all views", "DELETE", () => "/v1/portal-cache"),
  request("make a portal link", "POST", ({ c2 }) => `/v1/customers/${c2}/portal-links`),
  request("revoke portal links", "DELETE", ({ c2 }) => `/v1/customers/${c2}/portal-links`),
  request(
    "change the settings",
    "PUT",
    () => "/v1/settings",
    () => ({ name: "Other", net_payment_days: 30 }),
  ),
];

const TELLING: readonly Write[] = [
  request(
    "register a webhook",
    "POST",
    () => "/v1/webhooks",
    () => ({ url: "https://hooks.example.com/new", events: ["payment.succeeded"] }),
  ),
  request(
    "change a webhook",
    "PATCH",
    ({ endpoint }) => `/v1/webhooks/${endpoint}`,
    () => ({ events: ["payment.succeeded"] }),
  ),
  request(
    "rotate a webhook's secret",
    "POST",
    ({ endpoint }) => `/v1/webhooks/${endpoint}/rotate-secret`,
  ),
  request("test a webhook", "POST", ({ endpoint }) => `/v1/webhooks/${endpoint}/test`),
  request(
    "replay messages to a webhook",
    "POST",
    ({ endpoint }) => `/v1/webhooks/${endpoint}/replay`,
    () => ({ since: "2025-01-01T00:00:00.000Z" }),
  ),
  request(
    "send a message again",
    "POST",
    ({ attempt }) => `/v1/webhook-deliveries/${attempt}/redeliver`,
  ),
  request("remove a webhook", "DELETE", ({ endpoint }) => `/v1/webhooks/${endpoint}`),
  request(
    "set the dunning policy",
    "PUT",
    () => "/v1/dunning",
    () => ({
      enabled: true,
      steps: [{ days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" }],
    }),
  ),
];

/** What concerns more than one project, or makes one. */
const TENANCY: readonly Write[] = [
  request(
    "create a token",
    "POST",
    () => "/v1/keys",
    ({ organization }) => ({ name: "new", organization_id: organization, scopes: ["read"] }),
    { repeats: true },
  ),
  request("revoke a token", "DELETE", ({ spare_token }) => `/v1/keys/${spare_token}`),
  request(
    "create a workspace",
    "POST",
    () => "/v1/workspaces",
    () => ({ slug: "new" }),
  ),
  request(
    "create a project",
    "POST",
    () => "/v1/projects",
    () => ({ workspace: "main", slug: "new", mode: "sandbox" }),
  ),
  request("purge the views of every project", "DELETE", () => "/v1/portal-cache", undefined, {
    project: null,
  }),
  request(
    "freeze the clock of an empty project",
    "POST",
    () => "/v1/clock",
    () => ({ frozen_at: "2025-01-01T00:00:00.000Z" }),
    { keyed: false, repeats: true, project: ({ empty }) => empty },
  ),
];

/** A read by its method, and a view is kept of what it answers. */
const VIEWS: readonly Write[] = [
  request("read a customer's view", "GET", ({ c1 }) => `/v1/portal/${c1}`),
];

export const WRITES: readonly Write[] = [
  request(
    "create a customer",
    "POST",
    () => "/v1/customers",
    () => ({ external_id: "new", name: "New", email: "n@example.com", currency: "EUR" }),
  ),
  request(
    "change a customer",
    "PATCH",
    ({ c1 }) => `/v1/customers/${c1}`,
    () => ({ name: "Other" }),
  ),
  request(
    "create a metric",
    "POST",
    () => "/v1/metrics",
    () => ({ code: "gb", name: "GB", aggregation_type: "max", field_name: "n" }),
  ),
  request(
    "change a metric",
    "PATCH",
    ({ calls }) => `/v1/metrics/${calls}`,
    () => ({ name: "Calls made" }),
  ),
  request(
    "change a catalog price that plans use",
    "POST",
    () => "/v1/catalog",
    () => ({ code: "seat", name: "seat", amount_cents: 600, currency: "USD" }),
  ),
  request(
    "create a plan",
    "POST",
    () => "/v1/plans",
    () => ({
      code: "new",
      name: "New",
      interval: "yearly",
      amount_cents: 5_000,
      amount_currency: "USD",
      charges: [{ type: "standard", metric_ref: "calls", rate: "0.1" }],
    }),
  ),
  request(
    "change a plan's price and charges",
    "PATCH",
    ({ pro }) => `/v1/plans/${pro}`,
    () => ({ amount_cents: 1_200, charges: [{ type: "flat_fee", catalog_ref: "setup" }] }),
  ),
  request(
    "add a charge to a plan",
    "POST",
    ({ pro }) => `/v1/plans/${pro}/charges`,
    () => ({ type: "flat_fee", catalog_ref: "setup", invoice_timing: "advance" }),
  ),
  request("archive a plan", "DELETE", ({ spare }) => `/v1/plans/${spare}`),
  request(
    "change an add-on",
    "POST",
    () => "/v1/addons",
    () => ({ code: "boost", name: "Boost", amount_cents: 800, currency: "USD" }),
  ),
  request(
    "apply an add-on",
    "POST",
    ({ boost }) => `/v1/addons/${boost}/apply`,
    ({ c1 }) => ({ customer_id: c1 }),
  ),
  request(
    "start a subscription with an immediate charge",
    "POST",
    () => "/v1/subscriptions",
    ({ c2, onboarding }) => ({ external_id: "new", customer_id: c2, plan_id: onboarding }),
  ),
  request(
    "change a subscription's properties",
    "PATCH",
    () => "/v1/subscriptions/ext:s1",
    () => ({ properties: { seats: 9 } }),
  ),
  request("suspend a subscription", "POST", () => "/v1/subscriptions/ext:s2/suspend"),
  request(
    "resume a subscription",
    "PATCH",
    () => "/v1/subscriptions/ext:s6",
    () => ({ status: "active" }),
  ),
  request("terminate a subscription", "POST", () => "/v1/subscriptions/ext:s2/terminate"),
  request(
    "cancel a subscription",
    "PATCH",
    () => "/v1/subscriptions/ext:s1",
    () => ({ status: "canceled" }),
  ),
  request(
    "reactivate a subscription",
    "PATCH",
    () => "/v1/subscriptions/ext:s7",
    () => ({ status: "active" }),
  ),
  request(
    "record an event",
    "POST",
    () => "/v1/events",
    () => event("single"),
    { keyed: false },
  ),
  request(
    "record a batch of events, late ones and repeats among them",
    "POST",
    () => "/v1/events/batch",
    () => ({
      events: [
        event("b1"),
        event("b1"),
        event("b2", { code: "users", properties: { n: "somebody" } }),
        event("b3", { timestamp: "2025-01-25T00:00:00.000Z", subscription_id: "ext:s3" }),
        event("b4", { timestamp: "2025-01-25T00:00:00.000Z", subscription_id: "ext:s7" }),
        event("s1 calls 2025-02-12T00:00:00.000Z"),
        event("b5", { timestamp: "2024-12-01T00:00:00.000Z" }),
      ],
    }),
    { keyed: false },
  ),
  request(
    "record a payment",
    "POST",
    () => "/v1/payments",
    ({ s4_invoice, s4_due }) => payment(s4_invoice, Number(s4_due)),
  ),
  request(
    "record a payment by its reference alone",
    "POST",
    () => "/v1/payments",
    ({ s4_invoice, s4_due }) => payment(s4_invoice, Number(s4_due) - 1),
    { keyed: false },
  ),
  request(
    "record an overpayment",
    "POST",
    () => "/v1/payments",
    ({ s4_invoice, s4_due }) => ({
      ...payment(s4_invoice, Number(s4_due) + 50),
      allow_overpayment: true,
    }),
  ),
  request(
    "record a payment by a tool",
    "POST",
    () => "/v1/mcp",
    ({ s4_invoice, s4_due }) => ({
      jsonrpc: "2.0",
      id: 1,
      method: "tools/call",
      params: { name: "record_payment", arguments: payment(s4_invoice, Number(s4_due)) },
    }),
  ),
  ...PRICING,
  ...TENANCY,
  ...CATALOG_ENDS,
  ...TELLING,
  ...VIEWS,
  ...MONEY_WRITES,
  request("void an invoice", "POST", ({ s4_invoice }) => `/v1/invoices/${s4_invoice}/void`),
  request(
    "advance the clock over a month",
    "POST",
    () => "/v1/clock/advance",
    () => ({ to: "2025-03-01T00:00:00.000Z" }),
    { keyed: false, atomic: false },
  ),
];

function payment(invoice_id: string | undefined, amount_cents: number): Json {
  const paid = { provider: "bank", provider_payment_id: "p1", paid_at: "2025-02-14T00:00:00.000Z" };
  return { invoice_id, amount_cents, currency: "USD", ...paid };
}
