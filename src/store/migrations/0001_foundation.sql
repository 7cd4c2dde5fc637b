-- Tenants, tokens, customers, everything that can be sold, and the log of what happened.
-- Every table of a project has project_id first in its primary, unique and foreign keys: a row
-- cannot point into another tenant, and the schema distributes by project_id as it stands.

create table installation (
  only_row boolean primary key default true check (only_row),
  -- HMAC of a fixed text with the secret key: a process with another key is refused at start.
  secret_check bytea not null,
  created_at timestamptz not null
);

create table organizations (
  id uuid primary key,
  slug text not null unique,
  name text not null,
  created_at timestamptz not null
);

create table workspaces (
  organization_id uuid not null references organizations,
  id uuid not null,
  slug text not null,
  name text not null,
  created_at timestamptz not null,
  primary key (organization_id, id),
  constraint workspaces_slug_key unique (organization_id, slug)
);

create table projects (
  id uuid primary key,
  organization_id uuid not null,
  workspace_id uuid not null,
  slug text not null,
  name text not null,
  mode text not null check (mode in ('live', 'sandbox')),
  -- The project's own time. Null: the real one.
  frozen_at timestamptz check (frozen_at is null or mode = 'sandbox'),
  default_currency text not null default 'USD' check (default_currency ~ '^[A-Z]{3}$'),
  net_payment_days integer not null default 14 check (net_payment_days between 0 and 365),
  late_usage_periods integer not null default 2 check (late_usage_periods between 0 and 24),
  created_at timestamptz not null,
  foreign key (organization_id, workspace_id) references workspaces (organization_id, id),
  constraint projects_slug_key unique (organization_id, workspace_id, slug)
);

create table tokens (
  organization_id uuid not null references organizations,
  id uuid not null,
  name text not null,
  key_prefix text not null,
  hash bytea not null constraint tokens_hash_key unique check (octet_length(hash) = 32),
  scopes text[] not null,
  created_at timestamptz not null,
  last_used_at timestamptz,
  expires_at timestamptz,
  revoked_at timestamptz,
  primary key (organization_id, id)
);

create table idempotency_keys (
  -- The project, or the organization for calls that belong to none.
  scope_id uuid not null,
  key text not null,
  request_hash bytea not null,
  status integer not null,
  body text not null,
  created_at timestamptz not null,
  primary key (scope_id, key)
);
create index idempotency_keys_age on idempotency_keys (created_at);

create table customers (
  project_id uuid not null references projects,
  id uuid not null,
  -- Customer ids are random, so the order of creation needs a column of its own.
  seq bigint generated always as identity,
  short_id text not null check (short_id ~ '^cust_[0-9a-z]{4}$'),
  -- False only once four characters no longer suffice for a project of over a million customers.
  short_id_unique boolean not null default true,
  external_id text not null check (external_id <> ''),
  name text not null,
  email text not null,
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (project_id, id),
  constraint customers_external_id_key unique (project_id, external_id),
  constraint customers_seq_key unique (project_id, seq)
);
create unique index customers_short_id_key on customers (project_id, short_id)
  where short_id_unique;
-- The portal knows the customer's id only.
create index customers_by_id on customers (id);

create table metrics (
  project_id uuid not null references projects,
  id uuid not null,
  code text not null,
  name text not null,
  aggregation_type text not null
    check (aggregation_type in ('sum', 'count', 'count_unique', 'max', 'latest')),
  field_name text
    check (field_name is not null or aggregation_type in ('count', 'latest')),
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (project_id, id),
  constraint metrics_code_key unique (project_id, code)
);

create table catalog_items (
  project_id uuid not null references projects,
  id uuid not null,
  code text not null check (code ~ '^[a-z0-9._-]{1,64}$'),
  name text not null check (length(name) <= 128),
  amount_cents bigint not null check (amount_cents between 0 and 1000000000000),
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  metadata jsonb not null default '{}',
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (project_id, id),
  constraint catalog_items_code_key unique (project_id, code)
);

create table catalog_prices (
  project_id uuid not null,
  catalog_item_id uuid not null,
  version integer not null check (version > 0),
  amount_cents bigint not null,
  currency text not null,
  effective_at timestamptz not null,
  primary key (project_id, catalog_item_id, version),
  foreign key (project_id, catalog_item_id) references catalog_items (project_id, id)
);

create table plans (
  project_id uuid not null references projects,
  id uuid not null,
  code text not null,
  name text not null,
  description text,
  category text,
  interval text not null
    check (interval in ('weekly', 'monthly', 'quarterly', 'semiannual', 'yearly')),
  amount_cents bigint not null check (amount_cents between 0 and 1000000000000),
  amount_currency text not null check (amount_currency ~ '^[A-Z]{3}$'),
  labels text[] not null default '{}',
  -- The newest of plan_versions: what a period that starts now is priced by.
  version integer not null check (version > 0),
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (project_id, id)
);
create unique index plans_live_code_key on plans (project_id, code) where archived_at is null;
create index plans_by_code on plans (project_id, code, id);

create table charges (
  project_id uuid not null,
  id uuid not null,
  plan_id uuid not null,
  position integer not null,
  charge_model text not null check (charge_model in ('standard', 'flat_fee')),
  invoice_timing text not null check (invoice_timing in ('arrears', 'immediate', 'advance')),
  metric_id uuid,
  rate numeric(27, 12) check (rate >= 0),
  catalog_item_id uuid,
  amount_override_cents bigint check (amount_override_cents between 0 and 1000000000000),
  quantity_from text,
  properties jsonb not null default '{}',
  created_at timestamptz not null,
  -- Set when a plan change leaves the charge out: closed periods still name it.
  removed_at timestamptz,
  primary key (project_id, id),
  foreign key (project_id, plan_id) references plans (project_id, id),
  foreign key (project_id, metric_id) references metrics (project_id, id),
  foreign key (project_id, catalog_item_id) references catalog_items (project_id, id),
  constraint charges_standard_check check (
    charge_model <> 'standard'
    or (metric_id is not null and rate is not null and invoice_timing = 'arrears'
        and catalog_item_id is null and amount_override_cents is null)),
  constraint charges_flat_fee_check check (
    charge_model <> 'flat_fee'
    or (metric_id is null and rate is null
        and (catalog_item_id is not null or amount_override_cents is not null)))
);
create index charges_by_plan on charges (project_id, plan_id, position);
create index charges_by_catalog_item on charges (project_id, catalog_item_id)
  where catalog_item_id is not null;
create index charges_by_metric on charges (project_id, metric_id) where metric_id is not null;

-- A plan's complete price list, never changed once written. A period is priced by exactly one.
create table plan_versions (
  project_id uuid not null,
  plan_id uuid not null,
  version integer not null check (version > 0),
  amount_cents bigint not null,
  -- The charges with every price resolved: domain/pricing.ts PricedCharge[].
  charges jsonb not null,
  effective_at timestamptz not null,
  primary key (project_id, plan_id, version),
  foreign key (project_id, plan_id) references plans (project_id, id)
);

create table add_ons (
  project_id uuid not null references projects,
  id uuid not null,
  code text not null,
  name text not null,
  description text,
  catalog_item_id uuid,
  amount_cents bigint check (amount_cents between 0 and 1000000000000),
  currency text check (currency ~ '^[A-Z]{3}$'),
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (project_id, id),
  constraint add_ons_code_key unique (project_id, code),
  foreign key (project_id, catalog_item_id) references catalog_items (project_id, id),
  constraint add_ons_one_price_check check (
    (catalog_item_id is null) = (amount_cents is not null)
    and (amount_cents is null) = (currency is null))
);
create index add_ons_by_catalog_item on add_ons (project_id, catalog_item_id)
  where catalog_item_id is not null;

create table billing_events (
  project_id uuid not null references projects,
  -- The writing transaction: rows below the oldest one still open are settled for ever, so a
  -- reader who follows (xid, id) misses nothing however long a transaction takes to commit.
  xid xid8 not null default pg_current_xact_id(),
  id uuid not null,
  resource_type text not null,
  resource_id uuid not null,
  event_type text not null,
  actor_token_id uuid,
  payload jsonb not null,
  created_at timestamptz not null,
  primary key (project_id, xid, id)
);
create index billing_events_by_resource on billing_events (project_id, resource_id, xid, id);
