// Where each table lives on a cluster. A new table must be put into one of the lists.

/** A copy on every node: small, read by every call, rarely written. */
export const REFERENCE: readonly string[] = [
  "installation",
  "organizations",
  "projects",
  "schema_migrations",
  "tokens",
  "workspaces",
];

/** Spread over the nodes by this column; the rows of one project stay together. */
export const DISTRIBUTED: Readonly<Record<string, "project_id" | "scope_id">> = {
  add_ons: "project_id",
  analytics_deltas: "project_id",
  analytics_totals: "project_id",
  applied_add_ons: "project_id",
  billing_events: "project_id",
  catalog_items: "project_id",
  catalog_prices: "project_id",
  charges: "project_id",
  closed_periods: "project_id",
  credit_entries: "project_id",
  credits: "project_id",
  customers: "project_id",
  dunning_policies: "project_id",
  dunning_steps: "project_id",
  fees: "project_id",
  former_properties: "project_id",
  // A scope is a project or an organization; one that is a project sits on that project's node.
  idempotency_keys: "scope_id",
  invoice_counters: "project_id",
  invoices: "project_id",
  log_heads: "project_id",
  metrics: "project_id",
  payments: "project_id",
  plan_versions: "project_id",
  plans: "project_id",
  portal_views: "project_id",
  price_overrides: "project_id",
  project_anchors: "project_id",
  subscriptions: "project_id",
  suspensions: "project_id",
  usage_cutoffs: "project_id",
  usage_days: "project_id",
  usage_events: "project_id",
  usage_parts: "project_id",
  usage_uniques: "project_id",
  webhook_attempts: "project_id",
  webhook_endpoints: "project_id",
  webhook_messages: "project_id",
  webhook_queue: "project_id",
};
