-- The schema, in reading order: tenants, catalog, customers, subscriptions, usage, invoices, money,
-- feeds and webhooks, portal, analytics. Reasons stand beside what they are about.
--
-- Every table of a project has project_id first in its primary, unique and foreign keys: a row
-- cannot point into another tenant, and the schema distributes by project_id as it stands. One
-- schema serves a plain PostgreSQL and a cluster of several nodes alike: orders are data that no
-- sequence gives, and what the project's node does alone is one call. See docs/SCALING.md.

-- Tenants ---------------------------------------------------------------------------------------

create table installation (
  only_row boolean primary key default true check (only_row),
  -- HMAC of a fixed text with the secret key: a process with another key is refused at start.
  secret_check bytea not null,
  created_at timestamptz not null,
  -- Which database of which PostgreSQL this is: a copy that is somewhere else is held. Null: the
  -- next start notes it.
  home text,
  -- Since when the database is held; null when it is not. One that was restored from a backup is:
  -- its workers do nothing and no invoice number is given out until the operator has looked at it
  -- and says so (dues resume).
  held_since timestamptz
);

create table organizations (
  id uuid primary key,
  slug text not null unique,
  name text not null,
  created_at timestamptz not null,
  -- The id that POST /v1/keys takes; null: the organization's own id. Whoever knows it may make
  -- tokens, so it can be renewed.
  key_creation_id uuid constraint organizations_key_creation_id_key unique
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
  -- The ids of a project's customers begin with it: of a customer whose id alone is known it says
  -- the project.
  customer_prefix text not null check (customer_prefix ~ '^[0-9a-f]{8}$'),

  -- Rules of billing.
  default_currency text not null default 'USD' check (default_currency ~ '^[A-Z]{3}$'),
  net_payment_days integer not null default 14 check (net_payment_days between 0 and 365),
  late_usage_periods integer not null default 2 check (late_usage_periods between 0 and 24),
  -- Null says nothing, an empty list says no tax; so in all tables below.
  tax_codes text[],
  invoice_prefix text not null default 'INV',
  credit_note_prefix text not null default 'CN',
  -- All prefixes that were ever in use. Invoices and credit notes count by themselves, so a prefix
  -- that both have, at once or one after the other, would give two documents one number.
  invoice_prefixes text[] not null default '{INV}',
  credit_note_prefixes text[] not null default '{CN}',

  -- The seller on documents, under the project's own name where `issuer_name` is null.
  issuer_name text,
  issuer_address text not null default '',
  issuer_city text not null default '',
  issuer_postal_code text not null default '',
  issuer_region text not null default '',
  issuer_country text not null default '',
  issuer_tax_id text not null default '',
  -- The version of the seller, counted up by changes of what invoices say of it.
  party_version integer not null default 1,

  -- Other words on documents and in the portal.
  logo_color text not null default '#3347c4' check (logo_color ~ '^#[0-9a-f]{6}$'),
  footer text not null default '',
  support_email text not null default '',
  payment_instructions text not null default '',
  payment_url text not null default '',
  -- signed: the portal is closed to visitors without a signed link.
  portal_access text not null default 'open' check (portal_access in ('open', 'signed')),
  created_at timestamptz not null,

  foreign key (organization_id, workspace_id) references workspaces (organization_id, id),
  constraint projects_slug_key unique (organization_id, workspace_id, slug),
  constraint projects_customer_prefix_key unique (customer_prefix),
  constraint projects_mode_key unique (id, mode),
  constraint projects_prefixes_check check (
    invoice_prefix ~ '^[A-Z0-9]{1,8}$' and credit_note_prefix ~ '^[A-Z0-9]{1,8}$'),
  constraint projects_prefixes_apart_check check (not invoice_prefixes && credit_note_prefixes),
  constraint projects_prefixes_count_check check (
    cardinality(invoice_prefixes) <= 100 and cardinality(credit_note_prefixes) <= 100)
);

-- The clocks of sandboxes, beside the project's other rows: `projects` has a copy on every node of
-- a cluster, where a lock of one of its rows holds up the writes of all projects.
create table project_clocks (
  project_id uuid primary key,
  -- A live project has no clock of its own, and so no row.
  mode text not null default 'sandbox' check (mode = 'sandbox'),
  -- The time of the clock; null: the real time.
  frozen_at timestamptz,
  foreign key (project_id, mode) references projects (id, mode)
);

-- One row per project, never changed. On a cluster it leads a statement that names no other row of
-- the project to the node that has the project.
create table project_anchors (
  project_id uuid primary key references projects
);

create table tokens (
  organization_id uuid not null references organizations,
  id uuid not null,
  name text not null,
  key_prefix text not null,
  hash bytea not null constraint tokens_hash_key unique check (octet_length(hash) = 32),
  scopes text[] not null,
  -- The only projects that it is for; null: all of the organization.
  project_ids uuid[] constraint tokens_project_ids_check check (cardinality(project_ids) > 0),
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

-- Advisory locks are those of one server: on a cluster this function and `lock_usage` run on the
-- node that has the project, whichever node a process is connected to.
create function try_lock(scope uuid, key text) returns boolean language plpgsql as $$
begin
  return pg_try_advisory_xact_lock(hashtextextended(scope::text || ' ' || key, 7));
end $$;

-- Triggers of several tables --------------------------------------------------------------------

-- Has the revision differ after every change of the row, whoever makes it.
create function count_revision() returns trigger language plpgsql as $$
begin
  new.revision := old.revision + 1;
  return new;
end $$;

create function refuse_change() returns trigger language plpgsql as $$
begin
  raise exception 'amounts of % do not change once written', tg_table_name
    using errcode = 'check_violation';
end $$;

-- Catalog ---------------------------------------------------------------------------------------

create table metrics (
  project_id uuid not null references projects,
  id uuid not null,
  code text not null,
  name text not null,
  aggregation_type text not null check (
    aggregation_type in ('sum', 'count', 'count_unique', 'max', 'latest', 'weighted_sum')),
  field_name text,
  dimensions text[] not null default '{}',
  weighted_by text,
  revision bigint not null default 0,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (project_id, id),
  constraint metrics_code_key unique (project_id, code),
  constraint metrics_field_name_check check (
    field_name is not null or aggregation_type in ('count', 'latest')),
  constraint metrics_dimensions_check check (
    cardinality(dimensions) <= 4 and (aggregation_type <> 'count_unique' or dimensions = '{}')),
  constraint metrics_weighted_by_check check (
    weighted_by in ('hour', 'period')
    and (aggregation_type = 'weighted_sum') = (weighted_by is not null))
);
create trigger metrics_revised before update on metrics
  for each row execute function count_revision();

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
  labels text[] not null default '{}',
  interval text not null
    check (interval in ('weekly', 'monthly', 'quarterly', 'semiannual', 'yearly')),
  amount_cents bigint not null check (amount_cents between 0 and 1000000000000),
  amount_currency text not null check (amount_currency ~ '^[A-Z]{3}$'),
  base_timing text not null default 'arrears' check (base_timing in ('arrears', 'advance')),
  minimum_cents bigint not null default 0 check (minimum_cents between 0 and 1000000000000),
  trial_days integer not null default 0 check (trial_days between 0 and 730),
  tax_codes text[],
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
  name text,
  charge_model text not null check (
    charge_model in ('standard', 'graduated', 'volume', 'package', 'percentage', 'flat_fee')),
  invoice_timing text not null check (invoice_timing in ('arrears', 'immediate', 'advance')),
  metric_id uuid,
  rate numeric(27, 12) check (rate >= 0),
  catalog_item_id uuid,
  amount_override_cents bigint check (amount_override_cents between 0 and 1000000000000),
  quantity_from text,
  -- The properties that make the price, checked and in one form.
  price jsonb not null default '{}',
  properties jsonb not null default '{}',
  tax_codes text[],
  created_at timestamptz not null,
  -- Set when a plan change leaves the charge out: closed periods still name it.
  removed_at timestamptz,
  primary key (project_id, id),
  foreign key (project_id, plan_id) references plans (project_id, id),
  foreign key (project_id, metric_id) references metrics (project_id, id),
  foreign key (project_id, catalog_item_id) references catalog_items (project_id, id),
  constraint charges_usage_check check (
    charge_model = 'flat_fee'
    or (metric_id is not null and invoice_timing = 'arrears' and catalog_item_id is null
        and amount_override_cents is null and (charge_model <> 'standard' or rate is not null))),
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
  base_timing text not null default 'arrears',
  minimum_cents bigint not null default 0,
  tax_codes text[],
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
  tax_codes text[],
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

create table taxes (
  project_id uuid not null references projects,
  id uuid not null,
  code text not null,
  name text not null,
  percent numeric(7, 4) not null check (percent between 0 and 100),
  description text,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (project_id, id),
  constraint taxes_code_key unique (project_id, code)
);

create table coupons (
  project_id uuid not null references projects,
  id uuid not null,
  code text not null,
  name text not null,
  percent numeric(7, 4) check (percent > 0 and percent <= 100),
  amount_cents bigint check (amount_cents >= 1),
  currency text,
  times integer check (times >= 1),
  plan_codes text[],
  metric_codes text[],
  redeem_by timestamptz,
  max_redemptions integer check (max_redemptions >= 1),
  redemptions integer not null default 0,
  archived_at timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (project_id, id),
  constraint coupons_code_key unique (project_id, code),
  constraint coupons_one_discount_check check (
    (percent is null) = (amount_cents is not null)
    and (amount_cents is null) = (currency is null))
);

-- Customers -------------------------------------------------------------------------------------

create table customers (
  project_id uuid not null references projects,
  id uuid not null,
  -- Order of creation, for which ids are too random: given by the process from its clock, as
  -- sequences count per node of a cluster.
  seq bigint not null,
  short_id text not null check (short_id ~ '^cust_[0-9a-z]{4}$'),
  -- False only where four characters no longer suffice, in a project of over a million customers.
  short_id_unique boolean not null default true,
  external_id text not null check (external_id <> ''),
  name text not null,
  email text not null,
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  address text not null default '',
  city text not null default '',
  postal_code text not null default '',
  region text not null default '',
  country text not null default '',
  tax_id text not null default '',
  tax_exemption text,
  tax_note text not null default '',
  tax_codes text[],
  net_payment_days integer check (net_payment_days between 0 and 365),
  metadata jsonb not null default '{}',
  -- The version of the buyer, counted up by changes of what invoices say of it.
  party_version integer not null default 1,
  -- Whether it has, or had, grants or coupons: others need no look at either.
  has_account boolean not null default false,
  -- Links are signed with this number: raising it revokes all that were given out before.
  portal_links_version integer not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (project_id, id),
  constraint customers_external_id_key unique (project_id, external_id),
  constraint customers_seq_key unique (project_id, seq),
  constraint customers_tax_exemption_check check (
    tax_exemption in ('exempt', 'reverse_charge')
    and (tax_exemption <> 'reverse_charge' or tax_id <> ''))
);
create unique index customers_short_id_key on customers (project_id, short_id)
  where short_id_unique;

-- Former versions of sellers (the project) and buyers (a customer). The present version is what
-- projects and customers say themselves.
create table parties (
  project_id uuid not null references projects,
  owner_id uuid not null,
  version integer not null,
  body jsonb not null,
  primary key (project_id, owner_id, version)
);
create trigger parties_stay before update or delete on parties
  for each row execute function refuse_change();

create function keep_buyer() returns trigger language plpgsql as $$
begin
  insert into parties (project_id, owner_id, version, body)
  values (old.project_id, old.id, old.party_version, jsonb_build_object(
    'name', old.name, 'email', old.email, 'external_id', old.external_id,
    'address', old.address, 'city', old.city, 'postal_code', old.postal_code,
    'region', old.region, 'country', old.country, 'tax_id', old.tax_id,
    'tax_exemption', old.tax_exemption));
  new.party_version := old.party_version + 1;
  return new;
end $$;
create trigger customers_versions before update on customers for each row
  when (old.name is distinct from new.name
        or old.email is distinct from new.email
        or old.external_id is distinct from new.external_id
        or old.address is distinct from new.address
        or old.city is distinct from new.city
        or old.postal_code is distinct from new.postal_code
        or old.region is distinct from new.region
        or old.country is distinct from new.country
        or old.tax_id is distinct from new.tax_id
        or old.tax_exemption is distinct from new.tax_exemption)
  execute function keep_buyer();

-- The lower-cased words of a customer's name, email and external_id; `seq` is the customer's. They
-- are compared byte by byte, so that the key serves beginnings of words, and parted by signs of
-- ASCII alone, so that they are the same in every locale. A trigger of customers writes the table,
-- so it needs no foreign key, which would be checked for each of many words.
create table customer_words (
  project_id uuid not null,
  word text collate "C" not null,
  seq bigint not null,
  primary key (project_id, word, seq)
);

-- Rows are inserted one by one, which lock the shard of their own project alone. A cluster plans an
-- insert from a select for every shard of the table, and locks all of them until the commit:
-- whoever changed a customer then stood in the way of every shard that was to move, and waited for
-- that move at its next statement, which Citus took for a deadlock.
create function keep_customer_words() returns trigger language plpgsql as $$
declare
  found_word text;
begin
  if tg_op = 'UPDATE' then
    delete from customer_words
     where project_id = old.project_id and seq = old.seq
       and word = any(string_to_array(
         translate(lower(old.name || ' ' || old.email || ' ' || old.external_id),
                   E'\t\n\r!"#$%&''()*+,-./:;<=>?@[\\]^_`{|}~', repeat(' ', 35)),
         ' '));
  end if;
  for found_word in
    select distinct w.word
      from unnest(string_to_array(
        translate(lower(new.name || ' ' || new.email || ' ' || new.external_id),
                  E'\t\n\r!"#$%&''()*+,-./:;<=>?@[\\]^_`{|}~', repeat(' ', 35)),
        ' ')) as w (word)
     where w.word <> ''
  loop
    insert into customer_words (project_id, word, seq)
    values (new.project_id, found_word, new.seq);
  end loop;
  return null;
end $$;
create trigger customers_named after insert on customers for each row
  execute function keep_customer_words();
create trigger customers_renamed after update on customers for each row
  when (old.name is distinct from new.name
        or old.email is distinct from new.email
        or old.external_id is distinct from new.external_id)
  execute function keep_customer_words();

-- Subscriptions ---------------------------------------------------------------------------------

create table subscriptions (
  project_id uuid not null references projects,
  id uuid not null,
  external_id text not null check (external_id <> ''),
  customer_id uuid not null,
  plan_id uuid not null,
  -- The price list of the open period.
  plan_version integer not null,
  scheduled_plan_id uuid,
  overrides jsonb,
  -- Which of its own price lists counts for the open period; null: the plan's alone.
  override_no integer,
  status text not null
    check (status in ('pending', 'active', 'suspended', 'terminated', 'canceled')),
  -- An ended subscription may be asked to be suspended: it is called so, and stays ended, so that
  -- nothing which looks for what is due or to be billed finds it.
  is_called_suspended boolean not null default false,
  billing_time text not null default 'calendar'
    check (billing_time in ('calendar', 'anniversary')),
  anchor_date date,
  is_anchor_given boolean not null default false,
  properties jsonb not null default '{}' check (jsonb_typeof(properties) = 'object'),
  metadata jsonb not null default '{}',
  started_at timestamptz not null,
  -- The open period, half-open; of an ended subscription the last one. Numbered from 1, never
  -- reused, so that (subscription, period_no) names a period for ever.
  period_no integer not null check (period_no > 0),
  current_period_start timestamptz not null,
  current_period_next timestamptz not null,
  in_trial boolean not null default false,
  trial_ends_at timestamptz,
  ends_at timestamptz,
  terminated_at timestamptz,
  -- Recurring base and flat fees of one interval at that price list: what MRR adds up.
  recurring_cents numeric not null,
  -- What was billed at the start of the open period, for its end to reckon with.
  advance jsonb,
  -- Levels of weighted sums at the start of the open period, by metric and combination.
  levels jsonb,
  -- Why a close failed, and until when it is not tried again, on the database's clock: meanwhile
  -- the subscription is set aside.
  set_aside_reason text,
  set_aside_until timestamptz,
  -- The instant up to which all ended periods are billed, however many, because somebody said so.
  catch_up_to timestamptz,
  revision bigint not null default 0,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (project_id, id),
  foreign key (project_id, customer_id) references customers (project_id, id),
  foreign key (project_id, plan_id, plan_version)
    references plan_versions (project_id, plan_id, version),
  foreign key (project_id, scheduled_plan_id) references plans (project_id, id),
  constraint subscriptions_period_check check (current_period_start <= current_period_next),
  constraint subscriptions_terminated_check check (
    (terminated_at is not null) = (status in ('terminated', 'canceled'))),
  constraint subscriptions_called_check check (
    not is_called_suspended or terminated_at is not null),
  constraint subscriptions_anchor_check check (
    (billing_time = 'anniversary') = (anchor_date is not null)),
  constraint subscriptions_trial_check check (
    not in_trial or trial_ends_at = current_period_next)
);
create unique index subscriptions_live_name_key on subscriptions (project_id, external_id)
  where status in ('pending', 'active', 'suspended');
create index subscriptions_by_external_id on subscriptions (project_id, external_id, id);
-- When anything is due next: a pending start, the end that was set, the end of the period. Queries
-- write the same expression as the index.
create index subscriptions_due_at on subscriptions (
  project_id,
  (least(current_period_next, ends_at, case when status = 'pending' then started_at end)), id)
  where status in ('pending', 'active', 'suspended');
create index subscriptions_by_customer on subscriptions (project_id, customer_id, id);
-- The status that is shown, which lists ask for: a list of a plan alone reads a page of each.
create index subscriptions_by_plan on subscriptions
  (project_id, plan_id, (case when is_called_suspended then 'suspended' else status end), id);
create index subscriptions_by_shown_status on subscriptions
  (project_id, (case when is_called_suspended then 'suspended' else status end), id);
-- How many values a column may have, here and below. Where all rows have one, the planner takes an
-- index without the column for as good as one with it, and reads all of that to find none of
-- another value.
alter table subscriptions alter column plan_id set (n_distinct = 50);
create index subscriptions_set_aside on subscriptions (project_id, id)
  where set_aside_reason is not null;
create trigger subscriptions_revised before update on subscriptions
  for each row execute function count_revision();

create table suspensions (
  project_id uuid not null,
  subscription_id uuid not null,
  id uuid not null,
  suspended_at timestamptz not null,
  resumed_at timestamptz,
  primary key (project_id, subscription_id, id),
  foreign key (project_id, subscription_id) references subscriptions (project_id, id)
);

-- A subscription's own prices, each list for one plan. Null in a column: the plan's price counts.
create table price_overrides (
  project_id uuid not null,
  subscription_id uuid not null,
  override_no integer not null check (override_no > 0),
  plan_id uuid not null,
  amount_cents bigint check (amount_cents between 0 and 1000000000000),
  minimum_cents bigint check (minimum_cents between 0 and 1000000000000),
  charges jsonb,
  -- The prices as they were sent, for answers; null: the list says that they were removed.
  overrides jsonb,
  effective_at timestamptz not null,
  primary key (project_id, subscription_id, override_no),
  foreign key (project_id, subscription_id) references subscriptions (project_id, id),
  foreign key (project_id, plan_id) references plans (project_id, id)
);

-- Replaced properties, with the instant until which they were in force.
create table former_properties (
  project_id uuid not null,
  subscription_id uuid not null,
  id uuid not null,
  until timestamptz not null,
  properties jsonb not null,
  primary key (project_id, subscription_id, id),
  foreign key (project_id, subscription_id) references subscriptions (project_id, id)
);

-- Coupons applied to customers, with the terms of that time. They take in the order of their ids.
create table applied_coupons (
  project_id uuid not null,
  id uuid not null,
  coupon_id uuid not null,
  customer_id uuid not null,
  subscription_id uuid,
  code text not null,
  name text not null,
  percent numeric(7, 4),
  amount_cents bigint,
  currency text,
  times integer,
  plan_codes text[],
  metric_codes text[],
  applied_at timestamptz not null,
  ended_at timestamptz,
  primary key (project_id, id),
  foreign key (project_id, coupon_id) references coupons (project_id, id),
  foreign key (project_id, customer_id) references customers (project_id, id),
  foreign key (project_id, subscription_id) references subscriptions (project_id, id)
);
create index applied_coupons_by_customer on applied_coupons (project_id, customer_id, id);

-- Periods that are over: the price list that each was billed by, and what was billed.
create table closed_periods (
  project_id uuid not null,
  subscription_id uuid not null,
  period_no integer not null,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  -- The date from which the period's schedule counts; null: the calendar's.
  anchor_date date,
  is_trial boolean not null default false,
  plan_id uuid not null,
  plan_version integer not null,
  override_no integer,
  -- Levels of weighted sums at the period's start.
  levels jsonb,
  -- False for a period that ended without billing: canceled, or terminated without an invoice.
  billable boolean not null,
  -- Units and cents billed so far by charge, adjustments included: domain/pricing.ts Billed.
  billed jsonb not null,
  -- Taxes in force when the period was closed, for late lines; null: there were none.
  taxes jsonb,
  -- Whether late usage came in that no invoice has settled yet.
  late boolean not null default false,
  -- When late usage of an ended subscription gets an invoice of its own.
  settle_at timestamptz,
  closed_at timestamptz not null,
  primary key (project_id, subscription_id, period_no),
  foreign key (project_id, subscription_id) references subscriptions (project_id, id),
  foreign key (project_id, plan_id, plan_version)
    references plan_versions (project_id, plan_id, version),
  constraint closed_periods_bounds_check check (starts_at <= ends_at),
  constraint closed_periods_settle_check check (settle_at is null or late)
);
create index closed_periods_late on closed_periods (project_id, subscription_id) where late;
-- Usage of periods that were ended without a bill is listed as never billed.
create index closed_periods_canceled on closed_periods (project_id, subscription_id)
  where not billable;
create index closed_periods_settle on closed_periods (project_id, settle_at, subscription_id)
  where settle_at is not null;

-- Usage -----------------------------------------------------------------------------------------

-- Usage as it was sent, written once: the truth behind the daily sums.
create table usage_events (
  project_id uuid not null,
  -- The transaction_id itself when it is a UUID, else 128 bits of its SHA-256 as a UUID of version
  -- 8. UUIDs that are sent in version 8 get a digest too, so that no two ids share a key.
  key uuid not null,
  transaction_id text,
  subscription_id uuid not null,
  metric_id uuid not null,
  -- The period that the event belongs to; 0: none.
  period_no integer not null,
  at timestamptz not null,
  received_at timestamptz not null,
  -- The order of arrival, rising within a process: it decides between equal timestamps.
  arrival bigint not null,
  quantity numeric,
  unique_value uuid,
  value text,
  properties jsonb,
  -- Why it is never billed; null when it is.
  unbillable text check (unbillable in ('before_start', 'after_termination', 'late_unbilled')),
  -- A JSON list of the values of the metric's dimensions, in their order.
  combination text,
  primary key (project_id, key)
);
-- The one index beside the key, for every event pays for it: with the metric and the key it took
-- 159 bytes more an event, and events were recorded at 0.95 of the speed. So a code that a
-- subscription hardly uses is looked for among all its events.
create index usage_events_by_subscription on usage_events (project_id, subscription_id, at);
-- Events that are never billed are few: of all, of one subscription, of one metric.
create index usage_events_unbillable on usage_events (project_id, at, key)
  where unbillable is not null;
create index usage_events_unbillable_by_subscription on usage_events
  (project_id, subscription_id, at, key) where unbillable is not null;
create index usage_events_unbillable_by_metric on usage_events (project_id, metric_id, at, key)
  where unbillable is not null;

-- Usage by subscription, period, metric and UTC day, kept in the transaction of the events.
create table usage_days (
  project_id uuid not null,
  subscription_id uuid not null,
  period_no integer not null,
  metric_id uuid not null,
  day date not null,
  events bigint not null,
  sum numeric,
  max numeric,
  latest numeric,
  uniques bigint not null default 0,
  last_at timestamptz not null,
  last_arrival bigint not null,
  -- Each value times the milliseconds of its day that had passed; null but for weighted sums.
  moment numeric,
  primary key (project_id, subscription_id, period_no, metric_id, day)
) with (fillfactor = 70);

-- The daily sums of metrics with dimensions, by combination, instead of usage_days.
create table usage_parts (
  project_id uuid not null,
  subscription_id uuid not null,
  period_no integer not null,
  metric_id uuid not null,
  combination text collate "C" not null,
  day date not null,
  events bigint not null,
  sum numeric,
  max numeric,
  latest numeric,
  last_at timestamptz not null,
  last_arrival bigint not null,
  moment numeric,
  primary key (project_id, subscription_id, period_no, metric_id, combination, day)
) with (fillfactor = 70);

-- The distinct values of a period, for count_unique: 128 bits of SHA-256 each. A value counts on
-- the first day that it was used on, whichever event came in first: a period can then be cut
-- without a look at the events of earlier days.
create table usage_uniques (
  project_id uuid not null,
  subscription_id uuid not null,
  period_no integer not null,
  metric_id uuid not null,
  unique_value uuid not null,
  day date not null,
  primary key (project_id, subscription_id, period_no, metric_id, unique_value)
);

-- The cutoff of a project: periods that ended by it are being closed, so that their usage is
-- recorded under a lock of the subscription's row.
create table usage_cutoffs (
  project_id uuid primary key references projects,
  closing_until timestamptz not null
);

-- Locks usage, shared by who records it, alone by who ends a period: see store/usage/locks.ts.
create function lock_usage(project uuid, locks integer[], alone boolean) returns void
language plpgsql as $$
begin
  if alone then
    perform pg_advisory_xact_lock(hashtext(project::text), l) from unnest(locks) as l;
  else
    perform pg_advisory_xact_lock_shared(hashtext(project::text), l) from unnest(locks) as l;
  end if;
end $$;

-- The events as rows, from one array per column as PostgreSQL writes it, and a JSON array of their
-- properties: of one JSON text it would read the names of the fields in every row. Events that are
-- sent together have much in common: the metric, the period, when they were received, and arrivals
-- that count up. Such a column comes with one value, which holds for all (arrivals count up from
-- it).
--
-- In PL/pgSQL this and `sent_days` stay apart from the statements that call them. As SQL they
-- became part of them, and a cluster, which plans an insert from a select in every call and once
-- more on the shard, spent half of its time for 32 events on planning.
--
-- The planner expects one row in 200 to meet `unbillable is null`. Had it 1,000 rows to expect, as
-- by default, it would join the five with the stored ones in a nested loop.
create function sent_events(
  keys text,
  transaction_ids text,
  subscription_places text,
  metric_places text,
  period_nos text,
  ats text,
  received_ats text,
  arrivals text,
  quantities text,
  unique_values text,
  given_values text,
  given_properties text,
  unbillables text,
  combinations text
) returns table (
  key uuid,
  transaction_id text,
  subscription integer,
  metric integer,
  period_no integer,
  at timestamptz,
  received_at timestamptz,
  arrival bigint,
  quantity numeric,
  unique_value uuid,
  value text,
  properties jsonb,
  unbillable text,
  combination text
) language plpgsql stable rows 50000 as $$
declare
  -- Values of columns that have one for all events.
  shared_subscription constant integer := (subscription_places::integer[])[1];
  shared_metric constant integer := (metric_places::integer[])[1];
  shared_period_no constant integer := (period_nos::integer[])[1];
  shared_at constant bigint := (ats::bigint[])[1];
  shared_received_at constant bigint := (received_ats::bigint[])[1];
  arrival_before_first constant bigint := (arrivals::bigint[])[1] - 1;
begin
  return query
  select e.key, e.transaction_id, coalesce(e.subscription, shared_subscription),
         coalesce(e.metric, shared_metric), coalesce(e.period_no, shared_period_no),
         'epoch'::timestamptz + coalesce(e.at, shared_at) * interval '1 millisecond',
         'epoch'::timestamptz
           + coalesce(e.received_at, shared_received_at) * interval '1 millisecond',
         coalesce(e.arrival, arrival_before_first + e.place),
         e.quantity, e.unique_value, e.value, nullif(e.properties, 'null'), e.unbillable,
         e.combination
    from rows from (
           unnest(keys::uuid[], transaction_ids::text[], subscription_places::integer[],
                  metric_places::integer[], period_nos::integer[], ats::bigint[],
                  received_ats::bigint[], arrivals::bigint[], quantities::numeric[],
                  unique_values::uuid[], given_values::text[], unbillables::text[],
                  combinations::text[]),
           jsonb_array_elements(given_properties::jsonb))
         with ordinality
         as e (key, transaction_id, subscription, metric, period_no, at, received_at, arrival,
               quantity, unique_value, value, unbillable, combination, properties, place);
end $$;

-- The days as rows, from arrays as `sent_events` takes them. A metric, a period, a count and an
-- instant that all days share come as one value.
create function sent_days(
  day_subscriptions text,
  day_metrics text,
  day_periods text,
  day_combinations text,
  day_counts text,
  day_sums text,
  day_maxima text,
  day_latest text,
  day_uniques text,
  day_last_ats text,
  day_last_arrivals text,
  day_moments text
) returns table (
  subscription integer,
  metric integer,
  period_no integer,
  combination text,
  day date,
  events bigint,
  sum numeric,
  max numeric,
  latest numeric,
  uniques bigint,
  last_at timestamptz,
  last_arrival bigint,
  moment numeric
) language plpgsql stable as $$
declare
  shared_metric constant integer := (day_metrics::integer[])[1];
  shared_period_no constant integer := (day_periods::integer[])[1];
  shared_count constant bigint := (day_counts::bigint[])[1];
  shared_at constant bigint := (day_last_ats::bigint[])[1];
begin
  return query
  select d.subscription, coalesce(d.metric, shared_metric),
         coalesce(d.period_no, shared_period_no), d.combination,
         date 'epoch' + (coalesce(d.last_at, shared_at) / 86400000)::integer,
         coalesce(d.events, shared_count), d.sum, d.max, d.latest, coalesce(d.uniques, 0),
         'epoch'::timestamptz + coalesce(d.last_at, shared_at) * interval '1 millisecond',
         d.last_arrival, d.moment
    from unnest(day_subscriptions::integer[], day_metrics::integer[], day_periods::integer[],
                day_combinations::text[], day_counts::bigint[], day_sums::numeric[],
                day_maxima::numeric[], day_latest::numeric[], day_uniques::bigint[],
                day_last_ats::bigint[], day_last_arrivals::bigint[], day_moments::numeric[])
         as d (subscription, metric, period_no, combination, events, sum, max, latest, uniques,
               last_at, last_arrival, moment);
end $$;

-- Stores the events whose keys are new and adds those alone to the daily sums. Returns the events
-- that were stored before under the keys of the others; null, and nothing stored, if what the
-- caller relies on has changed. Checks come after the locks are granted, and each statement here
-- sees the rows as they are at its own start. Rows are written in one order, so that two batches
-- wait for each other and do not deadlock.
--
-- The service adds up what events come to by day: here that would take a quarter of the time. Where
-- some are repeats, or bring distinct values, the sums are made here, of the events that were
-- stored. Rows name their subscription and metric by the place of its id, from 1 on. Figures of all
-- this stand in docs/PERFORMANCE.md.
create function record_usage(
  project uuid,
  checked boolean,
  locks integer[],
  -- Ids in their order, with the revisions that the rows had, of subscriptions and of metrics.
  subscription_ids uuid[],
  subscription_revisions bigint[],
  metric_ids uuid[],
  metric_revisions bigint[],
  cutoff timestamptz,
  -- The events, column by column, as `sent_events` takes them.
  keys text,
  transaction_ids text,
  -- The place in subscription_ids, from 1 on.
  subscription_places text,
  metric_places text,
  period_nos text,
  -- Instants are in milliseconds, at a tenth of the cost of reading their text.
  ats text,
  received_ats text,
  arrivals text,
  quantities text,
  unique_values text,
  given_values text,
  given_properties text,
  unbillables text,
  combinations text,
  event_count integer,
  -- The sums by day, column by column, as `sent_days` takes them. Null where events have distinct
  -- values to count.
  day_subscriptions text,
  day_metrics text,
  day_periods text,
  day_combinations text,
  day_counts text,
  day_sums text,
  day_maxima text,
  day_latest text,
  day_last_ats text,
  day_last_arrivals text,
  day_moments text
) returns json language plpgsql as $$
declare
  -- So many rows are inserted one by one: a cluster plans such a statement once.
  few constant integer := 8;
  has_unique_values constant boolean := day_counts is null;
  closing_until timestamptz;
  revisions bigint[];
  event record;
  daily record;
  found_key uuid;
  stored uuid[] := '{}';
  repeated uuid[];
  stored_before json := '[]';
  -- Distinct values that count on a day from now on, and those that count on it no more.
  new_subscriptions integer[];
  new_periods integer[];
  new_metrics integer[];
  new_days date[];
  left_subscriptions integer[];
  left_periods integer[];
  left_metrics integer[];
  left_days date[];
  later date;
  day_uniques text := '{}';
begin
  -- 1. Is all as the caller expects it?
  if checked then
    perform pg_advisory_xact_lock_shared(hashtext(project::text), l) from unnest(locks) as l;
    -- Statements over one table are planned once by a cluster; one for all took it 0.5 ms a call.
    select c.closing_until into closing_until from usage_cutoffs c where c.project_id = project;
    if closing_until is distinct from cutoff then return null; end if;
    select coalesce(array_agg(s.revision order by s.id), '{}')
      into revisions
      from subscriptions s
     where s.project_id = project and s.id = any(subscription_ids);
    if revisions <> subscription_revisions then return null; end if;
    select coalesce(array_agg(m.revision order by m.id), '{}')
      into revisions
      from metrics m
     where m.project_id = project and m.id = any(metric_ids);
    if revisions <> metric_revisions then return null; end if;
  end if;

  -- 2. Events with new keys are stored. From here on `stored` has these keys.
  if event_count <= few then
    for event in
      select e.*
        from sent_events(keys, transaction_ids, subscription_places, metric_places, period_nos, ats,
                         received_ats, arrivals, quantities, unique_values, given_values,
                         given_properties, unbillables, combinations) as e
       order by e.key
    loop
      insert into usage_events (project_id, key, transaction_id, subscription_id, metric_id,
                                period_no, at, received_at, arrival, quantity, unique_value, value,
                                properties, unbillable, combination)
      values (project, event.key, event.transaction_id, subscription_ids[event.subscription],
              metric_ids[event.metric], event.period_no, event.at, event.received_at,
              event.arrival, event.quantity, event.unique_value, event.value, event.properties,
              event.unbillable, event.combination)
      on conflict (project_id, key) do nothing
      returning key into found_key;
      if found_key is not null then stored := stored || found_key; end if;
    end loop;
  else
    for found_key in
      insert into usage_events (project_id, key, transaction_id, subscription_id, metric_id,
                                period_no, at, received_at, arrival, quantity, unique_value, value,
                                properties, unbillable, combination)
      select a.project_id, e.key, e.transaction_id, subscription_ids[e.subscription],
             metric_ids[e.metric], e.period_no, e.at, e.received_at, e.arrival, e.quantity,
             e.unique_value, e.value, e.properties, e.unbillable, e.combination
        -- Commas: of a join, a cluster looks up each column again, for 0.2 ms in each statement.
        from project_anchors a,
             sent_events(keys, transaction_ids, subscription_places, metric_places, period_nos, ats,
                         received_ats, arrivals, quantities, unique_values, given_values,
                         given_properties, unbillables, combinations) as e
       where a.project_id = project
       order by e.key
      on conflict (project_id, key) do nothing
      returning key
    loop
      stored := stored || found_key;
    end loop;
  end if;

  -- 3. What the other keys were first stored with.
  if cardinality(stored) < event_count then
    repeated := array(select unnest(keys::uuid[]) except select unnest(stored));
    select coalesce(json_agg(r), '[]')
      into stored_before
      from (select u.key, u.subscription_id, u.metric_id, u.at, u.value, u.properties
              from usage_events u
             where u.project_id = project and u.key = any(repeated)) r;
  end if;

  -- 4. Distinct values that are new to their period count on their day. (From here on `sent_events`
  -- is asked only for the columns that are needed.)
  if has_unique_values and cardinality(stored) > 0 then
    for daily in
      insert into usage_uniques (project_id, subscription_id, period_no, metric_id, unique_value,
                                 day)
      select distinct on (a.project_id, e.subscription, e.period_no, e.metric, e.unique_value)
             a.project_id, subscription_ids[e.subscription], e.period_no, metric_ids[e.metric],
             e.unique_value, (e.at at time zone 'UTC')::date
        from project_anchors a,
             sent_events(keys, '{}', subscription_places, metric_places, period_nos, ats, '{}',
                         arrivals, '{}', unique_values, '{}', '[]', unbillables, '{}') as e,
             unnest(stored) as k (key)
       where a.project_id = project and k.key = e.key
         and e.unbillable is null and e.unique_value is not null
       order by a.project_id, e.subscription, e.period_no, e.metric, e.unique_value, e.at
      on conflict do nothing
      returning subscription_id, period_no, metric_id, day
    loop
      new_subscriptions := new_subscriptions
        || array_position(subscription_ids, daily.subscription_id);
      new_periods := new_periods || daily.period_no;
      new_metrics := new_metrics || array_position(metric_ids, daily.metric_id);
      new_days := new_days || daily.day;
    end loop;
    -- A value may have counted on a later day, which it leaves for the day of a late event. Events
    -- of a metric mostly come in the order of their days: then there is nothing to look up.
    if coalesce(cardinality(new_days), 0) < cardinality(stored) and exists (
      select 1
        from usage_days d
       where d.project_id = project and d.subscription_id = any(subscription_ids)
         and d.period_no = any(period_nos::integer[]) and d.metric_id = any(metric_ids)
         and d.day > (select ('epoch'::timestamptz + min(a.at) * interval '1 millisecond')
                               at time zone 'UTC'
                        from unnest(ats::bigint[]) as a (at))::date)
    then
      for daily in
        select e.subscription, e.period_no, e.metric, e.unique_value, e.day
          from (select f.subscription, f.period_no, f.metric, f.unique_value,
                       min((f.at at time zone 'UTC')::date) as day
                  from sent_events(keys, '{}', subscription_places, metric_places, period_nos, ats,
                                   '{}', arrivals, '{}', unique_values, '{}', '[]', unbillables,
                                   '{}') as f,
                       unnest(stored) as k (key)
                 where k.key = f.key and f.unbillable is null and f.unique_value is not null
                 group by f.subscription, f.period_no, f.metric, f.unique_value) e
         -- The limit has each looked up: with statistics older than its growth, all of it
         -- would be read.
         cross join lateral (
           select u.day
             from usage_uniques u
            where u.project_id = project and u.subscription_id = subscription_ids[e.subscription]
              and u.period_no = e.period_no and u.metric_id = metric_ids[e.metric]
              and u.unique_value = e.unique_value
            limit 1) u
         where u.day > e.day
         order by e.subscription, e.period_no, e.metric, e.unique_value
      loop
        select u.day into later
          from usage_uniques u
         where u.project_id = project and u.subscription_id = subscription_ids[daily.subscription]
           and u.period_no = daily.period_no and u.metric_id = metric_ids[daily.metric]
           and u.unique_value = daily.unique_value
           for no key update;
        -- Somebody else may have brought an earlier one meanwhile.
        continue when later <= daily.day;
        update usage_uniques u
           set day = daily.day
         where u.project_id = project and u.subscription_id = subscription_ids[daily.subscription]
           and u.period_no = daily.period_no and u.metric_id = metric_ids[daily.metric]
           and u.unique_value = daily.unique_value;
        new_subscriptions := new_subscriptions || daily.subscription;
        new_periods := new_periods || daily.period_no;
        new_metrics := new_metrics || daily.metric;
        new_days := new_days || daily.day;
        left_subscriptions := left_subscriptions || daily.subscription;
        left_periods := left_periods || daily.period_no;
        left_metrics := left_metrics || daily.metric;
        left_days := left_days || later;
      end loop;
    end if;
  end if;

  -- 5. The sums by day are made here where the caller's do not hold: of the stored events alone.
  if has_unique_values or cardinality(stored) < event_count then
    select array_agg(s.subscription), array_agg(s.metric), array_agg(s.period_no),
           case when count(s.combination) = 0 then '{}' else array_agg(s.combination)::text end,
           array_agg(s.events), array_agg(s.sum), array_agg(s.max), array_agg(s.latest),
           array_agg(s.uniques), array_agg(s.last_at), array_agg(s.last_arrival),
           array_agg(s.moment)
      into day_subscriptions, day_metrics, day_periods, day_combinations, day_counts, day_sums,
           day_maxima, day_latest, day_uniques, day_last_ats, day_last_arrivals, day_moments
      from (select e.subscription, e.period_no, e.metric, e.combination, e.day,
                   count(*) as events, sum(e.quantity), max(e.quantity),
                   (array_agg(e.quantity order by e.at desc, e.arrival desc))[1] as latest,
                   min(n.uniques) as uniques,
                   (1000 * extract(epoch from max(e.at)))::bigint as last_at,
                   (array_agg(e.arrival order by e.at desc, e.arrival desc))[1] as last_arrival,
                   sum(e.quantity * 1000 * extract(epoch from (e.at at time zone 'UTC')::time))
                     filter (where m.aggregation_type = 'weighted_sum') as moment
              from (select f.*, (f.at at time zone 'UTC')::date as day
                      from sent_events(keys, '{}', subscription_places, metric_places, period_nos,
                                       ats, '{}', arrivals, quantities, '{}', '{}', '[]',
                                       unbillables, combinations) as f) e
              join unnest(stored) as k (key) on k.key = e.key
              join metrics m on m.project_id = project and m.id = metric_ids[e.metric]
              left join (select u.subscription, u.period_no, u.metric, u.day, count(*) as uniques
                           from unnest(new_subscriptions, new_periods, new_metrics, new_days)
                                as u (subscription, period_no, metric, day)
                          group by u.subscription, u.period_no, u.metric, u.day) n
                on n.subscription = e.subscription and n.period_no = e.period_no
               and n.metric = e.metric and n.day = e.day
             where e.unbillable is null
             group by e.subscription, e.period_no, e.metric, e.combination, e.day) s;
    if day_counts is null then return stored_before; end if;
  end if;
  -- A day that only loses a distinct value is written too, and keeps its last event: its row here
  -- is no newer than any event.
  if left_days is not null then
    select array_agg(s.subscription), array_agg(s.metric), array_agg(s.period_no),
           case when count(s.combination) = 0 then '{}' else array_agg(s.combination)::text end,
           array_agg(s.events), array_agg(s.sum), array_agg(s.max), array_agg(s.latest),
           array_agg(s.uniques), array_agg((1000 * extract(epoch from s.last_at))::bigint),
           array_agg(s.last_arrival), array_agg(s.moment)
      into day_subscriptions, day_metrics, day_periods, day_combinations, day_counts, day_sums,
           day_maxima, day_latest, day_uniques, day_last_ats, day_last_arrivals, day_moments
      from (select d.subscription, d.metric, d.period_no, d.combination, d.day,
                   sum(d.events) as events, sum(d.sum), max(d.max), max(d.latest) as latest,
                   sum(d.uniques) as uniques, max(d.last_at) as last_at,
                   max(d.last_arrival) as last_arrival, sum(d.moment) as moment
              from (select *
                      from sent_days(day_subscriptions, day_metrics, day_periods, day_combinations,
                                     day_counts, day_sums, day_maxima, day_latest, day_uniques,
                                     day_last_ats, day_last_arrivals, day_moments)
                     union all
                    select u.subscription, u.metric, u.period_no, null, u.day, 0, null, null, null,
                           -1, u.day::timestamp at time zone 'UTC', -1, null
                      from unnest(left_subscriptions, left_periods, left_metrics, left_days)
                           as u (subscription, period_no, metric, day)) d
             group by d.subscription, d.metric, d.period_no, d.combination, d.day) s;
  end if;

  -- 6. The sums are added to the days, each of which is written once, in one order.
  if event_count <= few then
    for daily in
      select *
        from sent_days(day_subscriptions, day_metrics, day_periods, day_combinations, day_counts,
                       day_sums, day_maxima, day_latest, day_uniques, day_last_ats,
                       day_last_arrivals, day_moments) as s
       order by s.subscription, s.period_no, s.metric, s.combination, s.day
    loop
      if daily.combination is null then
        insert into usage_days as d (project_id, subscription_id, period_no, metric_id, day, events,
                                     sum, max, latest, uniques, last_at, last_arrival, moment)
        values (project, subscription_ids[daily.subscription], daily.period_no,
                metric_ids[daily.metric], daily.day, daily.events, daily.sum, daily.max,
                daily.latest, daily.uniques, daily.last_at,
                daily.last_arrival, daily.moment)
        on conflict (project_id, subscription_id, period_no, metric_id, day) do update
           set events = d.events + excluded.events,
               sum = d.sum + excluded.sum,
               max = greatest(d.max, excluded.max),
               uniques = d.uniques + excluded.uniques,
               moment = d.moment + excluded.moment,
               latest = case when (excluded.last_at, excluded.last_arrival)
                                  > (d.last_at, d.last_arrival)
                             then excluded.latest else d.latest end,
               last_arrival = case when (excluded.last_at, excluded.last_arrival)
                                        > (d.last_at, d.last_arrival)
                                   then excluded.last_arrival else d.last_arrival end,
               last_at = greatest(d.last_at, excluded.last_at);
      else
        insert into usage_parts as d (project_id, subscription_id, period_no, metric_id,
                                      combination, day, events, sum, max, latest, last_at,
                                      last_arrival, moment)
        values (project, subscription_ids[daily.subscription], daily.period_no,
                metric_ids[daily.metric], daily.combination, daily.day, daily.events, daily.sum,
                daily.max, daily.latest, daily.last_at, daily.last_arrival,
                daily.moment)
        on conflict (project_id, subscription_id, period_no, metric_id, combination, day) do update
           set events = d.events + excluded.events,
               sum = d.sum + excluded.sum,
               max = greatest(d.max, excluded.max),
               moment = d.moment + excluded.moment,
               latest = case when (excluded.last_at, excluded.last_arrival)
                                  > (d.last_at, d.last_arrival)
                             then excluded.latest else d.latest end,
               last_arrival = case when (excluded.last_at, excluded.last_arrival)
                                        > (d.last_at, d.last_arrival)
                                   then excluded.last_arrival else d.last_arrival end,
               last_at = greatest(d.last_at, excluded.last_at);
      end if;
    end loop;
    return stored_before;
  end if;
  insert into usage_days as d (project_id, subscription_id, period_no, metric_id, day, events, sum,
                               max, latest, uniques, last_at, last_arrival, moment)
  select a.project_id, subscription_ids[s.subscription], s.period_no, metric_ids[s.metric], s.day,
         s.events, s.sum, s.max, s.latest, s.uniques, s.last_at,
         s.last_arrival, s.moment
    from project_anchors a,
         sent_days(day_subscriptions, day_metrics, day_periods, day_combinations, day_counts,
                   day_sums, day_maxima, day_latest, day_uniques, day_last_ats, day_last_arrivals,
                   day_moments) as s
   where a.project_id = project and s.combination is null
   order by s.subscription, s.period_no, s.metric, s.day
  on conflict (project_id, subscription_id, period_no, metric_id, day) do update
     set events = d.events + excluded.events,
         sum = d.sum + excluded.sum,
         max = greatest(d.max, excluded.max),
         uniques = d.uniques + excluded.uniques,
         moment = d.moment + excluded.moment,
         latest = case when (excluded.last_at, excluded.last_arrival)
                            > (d.last_at, d.last_arrival)
                       then excluded.latest else d.latest end,
         last_arrival = case when (excluded.last_at, excluded.last_arrival)
                                  > (d.last_at, d.last_arrival)
                             then excluded.last_arrival else d.last_arrival end,
         last_at = greatest(d.last_at, excluded.last_at);
  if day_combinations <> '{}' then
    insert into usage_parts as d (project_id, subscription_id, period_no, metric_id, combination,
                                  day, events, sum, max, latest, last_at, last_arrival, moment)
    select a.project_id, subscription_ids[s.subscription], s.period_no, metric_ids[s.metric],
           s.combination, s.day, s.events, s.sum, s.max, s.latest, s.last_at,
           s.last_arrival, s.moment
      from project_anchors a,
           sent_days(day_subscriptions, day_metrics, day_periods, day_combinations, day_counts,
                     day_sums, day_maxima, day_latest, day_uniques, day_last_ats, day_last_arrivals,
                     day_moments) as s
     where a.project_id = project and s.combination is not null
     order by s.subscription, s.period_no, s.metric, s.combination, s.day
    on conflict (project_id, subscription_id, period_no, metric_id, combination, day) do update
       set events = d.events + excluded.events,
           sum = d.sum + excluded.sum,
           max = greatest(d.max, excluded.max),
           moment = d.moment + excluded.moment,
           latest = case when (excluded.last_at, excluded.last_arrival)
                              > (d.last_at, d.last_arrival)
                         then excluded.latest else d.latest end,
           last_arrival = case when (excluded.last_at, excluded.last_arrival)
                                    > (d.last_at, d.last_arrival)
                               then excluded.last_arrival else d.last_arrival end,
           last_at = greatest(d.last_at, excluded.last_at);
  end if;
  return stored_before;
end $$;

-- Invoices --------------------------------------------------------------------------------------

create table invoice_counters (
  project_id uuid not null references projects,
  year integer not null,
  last integer not null check (last > 0),
  primary key (project_id, year)
);

-- Columns that are written once and only ever read whole are json here and in fees: PostgreSQL
-- checks it and stores it as it came. It takes jsonb apart and puts it together again: json is
-- inserted in two thirds of the time, and its keys keep their order.
create table invoices (
  project_id uuid not null references projects,
  id uuid not null,
  prefix text not null default 'INV',
  number_year integer not null,
  number_seq integer not null check (number_seq > 0),
  customer_id uuid not null,
  subscription_id uuid,
  -- Why it was made; with subscription and period it can be made once only.
  cause text not null check (
    cause in ('period', 'start', 'advance', 'supplement', 'add_on', 'one_off', 'top_up')),
  period_no integer not null default 0,
  cause_no integer not null default 0,
  invoice_type text not null constraint invoices_type_check check (
    invoice_type in ('subscription', 'addon', 'one_off', 'top_up')),
  status text not null,
  payment_status text not null check (payment_status in ('pending', 'partially_paid', 'succeeded')),

  currency text not null,
  -- At most 10^15 minor units, as a fee, so that sums of a few stay exact in JSON.
  subtotal_cents bigint not null constraint invoices_amount_bound
    check (subtotal_cents between -1000000000000000 and 1000000000000000),
  discount_cents bigint not null default 0,
  tax_cents bigint not null default 0,
  total_cents bigint not null,
  credit_applied_cents bigint not null default 0,
  offset_cents bigint not null default 0,
  amount_paid_cents bigint not null default 0 check (amount_paid_cents >= 0),
  overpaid_cents bigint not null default 0,
  written_off_cents bigint not null default 0,
  credit_notes_cents bigint not null default 0,

  issuing_date date not null,
  due_date date not null,
  period_start date not null,
  period_end date not null,
  -- The day on which a settled invoice was due again: dunning then counts from it.
  reopened_on date,
  -- The next dunning step's day; null when there is none.
  dunning_on date,

  -- The parties on it, by version, and its words.
  seller_version integer not null,
  buyer_version integer not null,
  coupons json,
  taxes json,
  credits json,
  tax_note text not null default '',
  memo text not null default '',
  po_number text not null default '',
  payment_url text,
  metadata jsonb not null default '{}',
  voided_at timestamptz,
  created_at timestamptz not null,

  primary key (project_id, id),
  constraint invoices_number_key unique (project_id, number_year, number_seq),
  foreign key (project_id, customer_id) references customers (project_id, id),
  foreign key (project_id, subscription_id) references subscriptions (project_id, id),
  constraint invoices_subscription_check check (
    (subscription_id is null) = (cause in ('add_on', 'one_off', 'top_up'))),
  constraint invoices_dates_check check (due_date >= issuing_date and period_end >= period_start),
  -- The one order of amounts.
  constraint invoices_total_check check (
    total_cents = greatest(subtotal_cents - discount_cents + tax_cents, 0)),
  constraint invoices_credit_check check (credit_applied_cents between 0 and total_cents),
  constraint invoices_due_check check (
    offset_cents >= 0 and overpaid_cents >= 0 and written_off_cents >= 0
    and credit_notes_cents between 0 and total_cents
    and (status = 'voided'
         or (total_cents - credit_applied_cents - offset_cents - amount_paid_cents + overpaid_cents
               - written_off_cents >= 0
             and (status = 'succeeded')
                 = (total_cents - credit_applied_cents - offset_cents - amount_paid_cents
                    + overpaid_cents - written_off_cents = 0 and written_off_cents = 0)))),
  -- What is due again of an invoice is dunned, whatever is written off beside it.
  constraint invoices_status_check check (
    status in ('outstanding', 'overdue', 'succeeded', 'uncollectible', 'voided')
    and (status = 'succeeded') = (payment_status = 'succeeded')
    and (status = 'uncollectible')
        = (status <> 'voided' and written_off_cents > 0
           and total_cents - credit_applied_cents - offset_cents - amount_paid_cents
               + overpaid_cents - written_off_cents = 0))
);
create unique index invoices_cause_key
  on invoices (project_id, subscription_id, period_no, cause, cause_no)
  where subscription_id is not null;
create index invoices_by_customer on invoices (project_id, customer_id, id);
create index invoices_by_subscription on invoices (project_id, subscription_id, id)
  where subscription_id is not null;
-- Both statuses: lists by one of them alone read a page of each value of the other.
create index invoices_by_status on invoices (project_id, status, payment_status, id);
alter table invoices alter column status set (n_distinct = 5);
alter table invoices alter column payment_status set (n_distinct = 3);
-- A span of time, listed by the end of the period; the start decides without the invoice itself.
create index invoices_by_period on invoices (project_id, period_end, id, period_start);
-- Two queues. Each holds only what is still to be done, in the order in which it is taken: a batch
-- looks at as many rows as it takes, also when thousands of others have the same day. An invoice
-- that is marked overdue leaves the first one.
create index invoices_past_due on invoices (project_id, due_date, id) where status = 'outstanding';
create index invoices_dunning on invoices (project_id, dunning_on, id)
  where dunning_on is not null;
-- Overdue ones in the order in which a new dunning policy plans them.
create index invoices_overdue on invoices (project_id, id) where status = 'overdue';
create index invoices_by_time on invoices (project_id, created_at, id);

create table fees (
  project_id uuid not null,
  invoice_id uuid not null,
  id uuid not null,
  fee_type text not null check (
    fee_type in ('subscription', 'charge', 'minimum', 'adjustment', 'add_on', 'one_off', 'top_up')),
  charge_id uuid,
  billable_metric_code text,
  units numeric not null,
  amount_cents bigint not null constraint fees_amount_bound
    check (amount_cents between -1000000000000000 and 1000000000000000),
  amount_currency text not null,
  discount_cents bigint not null default 0,
  properties json not null,
  taxes json,
  -- What each coupon took of it, what the coupons before it had left, and which line it is.
  coupons json,
  -- Why it has no tax, in the letters of e-invoices and in words: late lines have the exemption of
  -- their time, which the customer may have lost since.
  tax_category text,
  tax_reason text,
  primary key (project_id, invoice_id, id),
  -- Fees are many and need no number: they are written before their invoices.
  foreign key (project_id, invoice_id) references invoices (project_id, id)
    deferrable initially deferred,
  constraint fees_exemption_check check (
    (tax_category is null) = (tax_reason is null)
    and tax_category in ('E', 'AE')
    and tax_reason <> '')
);

-- An invoice is the sum of its fees, whoever writes it. Fees are written before their invoices, so
-- a look at each statement's invoices settles it; after that neither changes. A cluster cannot join
-- the rows of a trigger to a distributed table, so the sums are read first.
create function check_totals() returns trigger language plpgsql as $$
declare
  batch record;
  fee_sums json;
  wrong record;
begin
  for batch in select project_id, array_agg(id) as ids from written group by project_id loop
    select json_agg(s) into fee_sums
      from (select f.invoice_id, sum(f.amount_cents) as cents, sum(f.discount_cents) as discount
              from fees f
             where f.project_id = batch.project_id and f.invoice_id = any(batch.ids)
             group by f.invoice_id) s;
    select i.id, i.subtotal_cents, coalesce(f.cents, 0) as cents into wrong
      from written i
      left join json_to_recordset(coalesce(fee_sums, '[]'))
             as f (invoice_id uuid, cents numeric, discount numeric)
        on f.invoice_id = i.id
     where i.project_id = batch.project_id
       and (i.subtotal_cents <> coalesce(f.cents, 0)
            or i.discount_cents <> coalesce(f.discount, 0))
     limit 1;
    if found then
      raise exception 'invoice % is over % cents, its fees add up to %',
        wrong.id, wrong.subtotal_cents, wrong.cents using errcode = 'check_violation';
    end if;
  end loop;
  return null;
end $$;
create trigger invoices_add_up after insert on invoices
  referencing new table as written for each statement execute function check_totals();
create trigger invoices_stay before update on invoices for each row
  when (old.subtotal_cents <> new.subtotal_cents or old.discount_cents <> new.discount_cents
        or old.tax_cents <> new.tax_cents or old.total_cents <> new.total_cents
        or old.credit_applied_cents <> new.credit_applied_cents)
  execute function refuse_change();
create trigger fees_stay before update on fees for each row
  when (old.amount_cents <> new.amount_cents or old.invoice_id <> new.invoice_id
        or old.discount_cents <> new.discount_cents)
  execute function refuse_change();
create trigger fees_remain before delete on fees for each row execute function refuse_change();

create table applied_add_ons (
  project_id uuid not null,
  id uuid not null,
  customer_id uuid not null,
  add_on_id uuid not null,
  invoice_id uuid not null,
  amount_cents bigint not null,
  currency text not null,
  applied_at timestamptz not null,
  primary key (project_id, id),
  constraint applied_add_ons_invoice_key unique (project_id, invoice_id),
  foreign key (project_id, customer_id) references customers (project_id, id),
  foreign key (project_id, add_on_id) references add_ons (project_id, id),
  foreign key (project_id, invoice_id) references invoices (project_id, id)
);

-- What a coupon took on an invoice, by use: the full period, or the invoice, that counts as one; 0
-- where a correction takes nothing of a line that it took from. Each fee says what was taken of it.
create table coupon_uses (
  project_id uuid not null,
  applied_coupon_id uuid not null,
  use text not null,
  invoice_id uuid not null,
  -- Cents taken less those taken back, and cents taken: only above 0 these are a use.
  amount_cents bigint not null,
  use_cents bigint not null,
  is_voided boolean not null default false,
  primary key (project_id, applied_coupon_id, use, invoice_id),
  foreign key (project_id, applied_coupon_id) references applied_coupons (project_id, id)
);
create index coupon_uses_by_invoice on coupon_uses (project_id, invoice_id);

create table credit_note_counters (
  project_id uuid not null references projects,
  year integer not null,
  last integer not null check (last > 0),
  primary key (project_id, year)
);

create table credit_notes (
  project_id uuid not null,
  id uuid not null,
  prefix text not null,
  number_year integer not null,
  number_seq integer not null check (number_seq > 0),
  invoice_id uuid not null,
  customer_id uuid not null,
  currency text not null,
  subtotal_cents bigint not null,
  tax_cents bigint not null,
  total_cents bigint not null check (total_cents >= 1),
  offset_cents bigint not null check (offset_cents >= 0),
  refund_cents bigint not null check (refund_cents >= 0),
  refunded_cents bigint not null default 0,
  credit_cents bigint not null check (credit_cents >= 0),
  reason text not null,
  memo text not null,
  taxes jsonb not null,
  lines jsonb not null,
  issuing_date date not null,
  created_at timestamptz not null,
  primary key (project_id, id),
  constraint credit_notes_number_key unique (project_id, number_year, number_seq),
  foreign key (project_id, invoice_id) references invoices (project_id, id),
  constraint credit_notes_total_check check (subtotal_cents + tax_cents = total_cents),
  constraint credit_notes_shares_check check (
    offset_cents + refund_cents + credit_cents = total_cents),
  constraint credit_notes_refunded_check check (refunded_cents between 0 and refund_cents)
);
create index credit_notes_by_invoice on credit_notes (project_id, invoice_id, id);
create index credit_notes_by_customer on credit_notes (project_id, customer_id, id);
create index credit_notes_by_time on credit_notes (project_id, created_at);
create trigger credit_notes_stay before update on credit_notes for each row
  when (old.total_cents <> new.total_cents or old.taxes <> new.taxes or old.lines <> new.lines)
  execute function refuse_change();
create trigger credit_notes_remain before delete on credit_notes
  for each row execute function refuse_change();

create table dunning_policies (
  project_id uuid primary key references projects,
  enabled boolean not null,
  -- The day on which it was switched on: dunning counts from there at the earliest.
  enabled_on date,
  steps jsonb not null,
  updated_at timestamptz not null,
  -- The version of the policy, counted up by each put.
  version bigint not null default 1,
  -- After each change a job plans the overdue invoices anew, in the order of their ids: how far it
  -- is. Null when it is done.
  replan_after uuid
);

create table dunning_steps (
  project_id uuid not null,
  invoice_id uuid not null,
  webhook_event text not null,
  sent_on date not null,
  primary key (project_id, invoice_id, webhook_event),
  -- At most one step a day, so that suspension and termination are never asked for together.
  constraint dunning_steps_day_key unique (project_id, invoice_id, sent_on),
  foreign key (project_id, invoice_id) references invoices (project_id, id)
);

-- Money -----------------------------------------------------------------------------------------

create table payments (
  project_id uuid not null,
  id uuid not null,
  invoice_id uuid not null,
  customer_id uuid not null,
  amount_cents bigint not null check (amount_cents >= 1),
  refunded_cents bigint not null default 0,
  currency text not null,
  provider text not null,
  provider_payment_id text not null,
  reference text,
  status text not null check (status in ('succeeded')),
  paid_at timestamptz not null,
  created_at timestamptz not null,
  primary key (project_id, id),
  constraint payments_provider_key unique (project_id, provider, provider_payment_id),
  foreign key (project_id, invoice_id) references invoices (project_id, id),
  foreign key (project_id, customer_id) references customers (project_id, id),
  constraint payments_refunded_check check (refunded_cents between 0 and amount_cents)
);
create index payments_by_invoice on payments (project_id, invoice_id, id);
create index payments_by_customer on payments (project_id, customer_id, id);
create index payments_by_time on payments (project_id, paid_at, id)
  include (amount_cents, currency);

create table refunds (
  project_id uuid not null,
  id uuid not null,
  payment_id uuid not null,
  invoice_id uuid not null,
  credit_note_id uuid,
  amount_cents bigint not null check (amount_cents >= 1),
  -- Cents that a refund without a note took of the credit that the payment had made.
  credit_cents bigint not null default 0,
  currency text not null,
  provider text not null,
  provider_refund_id text not null,
  refunded_at timestamptz not null,
  created_at timestamptz not null,
  primary key (project_id, id),
  constraint refunds_provider_key unique (project_id, provider, provider_refund_id),
  foreign key (project_id, payment_id) references payments (project_id, id),
  foreign key (project_id, credit_note_id) references credit_notes (project_id, id),
  constraint refunds_credit_check check (credit_cents between 0 and amount_cents)
);
create index refunds_by_payment on refunds (project_id, payment_id, id);
create index refunds_by_invoice on refunds (project_id, invoice_id, id);
create index refunds_by_time on refunds (project_id, refunded_at);

-- Money that a customer has. `payment_id` is the payment whose excess it was.
create table grants (
  project_id uuid not null,
  id uuid not null,
  customer_id uuid not null,
  currency text not null check (currency ~ '^[A-Z]{3}$'),
  kind text not null check (
    kind in ('free', 'paid', 'overpayment', 'negative_total', 'voided', 'credit_note')),
  name text not null default '',
  amount_cents bigint not null check (amount_cents >= 1),
  remaining_cents bigint not null,
  priority integer not null check (priority between 0 and 100),
  expires_at timestamptz,
  status text not null check (
    status in ('pending', 'active', 'used_up', 'expired', 'revoked', 'voided')),
  invoice_id uuid,
  payment_id uuid,
  created_at timestamptz not null,
  primary key (project_id, id),
  foreign key (project_id, customer_id) references customers (project_id, id),
  constraint grants_remaining_check check (
    remaining_cents >= 0 and remaining_cents <= amount_cents
    and (remaining_cents = 0 or status in ('pending', 'active')))
);
create index grants_by_customer on grants (project_id, customer_id, id);
alter table grants alter column status set (n_distinct = 6);
alter table grants alter column currency set (n_distinct = 5);
create index grants_by_status on grants (project_id, status, id);
create index grants_by_currency on grants (project_id, currency, status, id);
-- A queue in the order in which grants are taken from it, as all queues here.
create index grants_expiring on grants (project_id, expires_at, id)
  where status in ('pending', 'active') and expires_at is not null;
create index grants_by_invoice on grants (project_id, invoice_id) where invoice_id is not null;

create table ledger_entries (
  project_id uuid not null,
  customer_id uuid not null,
  currency text not null,
  -- The number of the entry, counted by the wallet.
  no bigint not null,
  id uuid not null,
  grant_id uuid not null,
  reason text not null check (
    reason in ('free', 'paid', 'overpayment', 'negative_total', 'voided', 'credit_note', 'applied',
               'expired', 'revoked', 'refunded')),
  amount_cents bigint not null check (amount_cents <> 0),
  balance_cents bigint not null check (balance_cents >= 0),
  invoice_id uuid,
  credit_note_id uuid,
  refund_id uuid,
  created_at timestamptz not null,
  primary key (project_id, customer_id, currency, no),
  foreign key (project_id, grant_id) references grants (project_id, id)
);
create index ledger_entries_by_invoice on ledger_entries (project_id, invoice_id)
  where invoice_id is not null;
create trigger ledger_entries_stay before update or delete on ledger_entries
  for each row execute function refuse_change();

create table wallets (
  project_id uuid not null,
  customer_id uuid not null,
  currency text not null,
  balance_cents bigint not null default 0 check (balance_cents >= 0),
  last_no bigint not null default 0,
  low_balance_cents bigint check (low_balance_cents >= 0),
  top_up_cents bigint check (top_up_cents >= 1),
  is_low boolean not null default false,
  -- When the ledger changed, if the wallet was not looked at since.
  look_at timestamptz,
  -- The mark of the customer's usage when the wallet was last looked at.
  looked_mark text not null default '',
  primary key (project_id, customer_id, currency),
  foreign key (project_id, customer_id) references customers (project_id, id)
);
-- A close marks the wallets of all its customers with one instant.
create index wallets_to_look_at on wallets (project_id, look_at, customer_id, currency)
  where look_at is not null;
create index wallets_watched on wallets (project_id, customer_id, currency)
  where low_balance_cents is not null;

-- Feeds and webhooks ----------------------------------------------------------------------------

-- The order of the log: a number that the project counts under the lock of this row, last of all in
-- each transaction. Who commits later has the greater number, on any server and after a restore.
create table log_heads (
  project_id uuid primary key references projects,
  last bigint not null check (last >= 0),
  -- The latest time of an entry of the log; null: there is none.
  latest timestamptz
) with (fillfactor = 50);

create table billing_events (
  project_id uuid not null references projects,
  position bigint not null,
  id uuid not null,
  resource_type text not null,
  resource_id uuid not null,
  event_type text not null,
  actor_token_id uuid,
  payload jsonb not null,
  created_at timestamptz not null,
  -- The latest time of the log up to here. It never falls, which created_at may: who commits later
  -- may have begun before. So the first entry since an instant is found without an index.
  reached timestamptz not null,
  primary key (project_id, position)
);
create index billing_events_by_resource on billing_events (project_id, resource_id, position);
-- Kinds of records are lists of types: a list of one reads a page of each type.
alter table billing_events alter column event_type set (n_distinct = 50);
alter table billing_events alter column actor_token_id set (n_distinct = 50);
create index billing_events_by_type on billing_events (project_id, event_type, position);
-- What a close or a worker writes has no actor, and is not in it.
create index billing_events_by_actor on billing_events (project_id, actor_token_id, position)
  where actor_token_id is not null;

create table webhook_endpoints (
  project_id uuid not null references projects,
  id uuid not null,
  url text not null,
  events text[] not null check (cardinality(events) > 0),
  -- The secret, encrypted and bound to this row, and the hint of it that lists may show.
  secret bytea not null,
  secret_hint text not null,
  -- Former secrets, each of which signs until its own time is over.
  former_secrets bytea[] not null default '{}',
  former_until timestamptz[] not null default '{}',
  enabled boolean not null default true,
  disabled_reason text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (project_id, id),
  constraint webhook_endpoints_former_check check (
    cardinality(former_secrets) = cardinality(former_until) and cardinality(former_until) <= 10)
);

-- Messages to endpoints, each rendered once: every attempt sends these bytes.
create table webhook_messages (
  project_id uuid not null references projects,
  id uuid not null,
  position bigint not null,
  event text not null,
  body text not null,
  created_at timestamptz not null,
  primary key (project_id, id)
);
create unique index webhook_messages_feed on webhook_messages (project_id, position);
create index webhook_messages_from on webhook_messages (project_id, created_at, position);

-- A few entries or messages are inserted by VALUES, for which a cluster locks the shard of their
-- own project alone. A statement of that form cannot read the head of the log, so it gives how far
-- below the head a row stands, which is no position, and the trigger makes the position of it.
-- Whoever gives positions, as a restore does, is not looked at.
create function place_in_log() returns trigger language plpgsql as $$
begin
  select h.last + new.position, h.latest into strict new.position, new.reached
    from log_heads h
   where h.project_id = new.project_id;
  return new;
end $$;
create trigger billing_events_placed before insert on billing_events
  for each row when (new.position <= 0) execute function place_in_log();
create function place_in_feed() returns trigger language plpgsql as $$
begin
  select h.last + new.position into strict new.position
    from log_heads h
   where h.project_id = new.project_id;
  return new;
end $$;
create trigger webhook_messages_placed before insert on webhook_messages
  for each row when (new.position <= 0) execute function place_in_feed();

-- The queue: a row for each message and endpoint, until it is delivered or given up. Half of each
-- page is left for the versions that claiming a row makes; the dead ones of a queue that is always
-- nearly empty are cleared soon.
create table webhook_queue (
  project_id uuid not null,
  endpoint_id uuid not null,
  message_id uuid not null,
  -- Attempts made so far, and how many of them count against the retries.
  attempt integer not null default 0,
  tries integer not null default 0,
  -- When the row may be claimed, at once by default. It stays as it is while the row is claimed.
  due_at timestamptz not null default statement_timestamp(),
  -- Who has claimed it: a result under another claim is not recorded.
  claim uuid,
  -- When the claim runs out. No index has this column, so that claiming a row writes nothing else.
  held_until timestamptz,
  -- A row is found by its message. With the endpoint first, a planner without fresh statistics
  -- takes the index by endpoint and time for as good, and reads all that waits for the endpoint
  -- each time.
  primary key (project_id, message_id, endpoint_id),
  foreign key (project_id, endpoint_id) references webhook_endpoints (project_id, id),
  foreign key (project_id, message_id) references webhook_messages (project_id, id),
  constraint webhook_queue_claim_check check ((claim is null) = (held_until is null))
) with (
  fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
  autovacuum_vacuum_cost_delay = 0);
-- Endpoints of a project are few: each is asked for by itself, and no index by time alone is kept.
create index webhook_queue_by_endpoint on webhook_queue (project_id, endpoint_id, due_at);

-- Attempts have no foreign keys: each is written from its queue row, whose own keys hold endpoint
-- and message. Checking them again was two fifths of the cost of recording one.
create table webhook_attempts (
  project_id uuid not null,
  id uuid not null,
  endpoint_id uuid not null,
  message_id uuid not null,
  -- Of its message, by which attempts are listed.
  event text not null,
  attempt integer not null check (attempt > 0),
  status text not null check (status in ('delivered', 'failed')),
  http_status integer,
  error text,
  duration_ms integer not null,
  response_excerpt text,
  next_retry_at timestamptz,
  created_at timestamptz not null,
  primary key (project_id, id),
  constraint webhook_attempts_number_key unique (project_id, message_id, endpoint_id, attempt),
  constraint webhook_attempts_delivered_check check (
    status = 'failed' or (error is null and next_retry_at is null))
);
create index webhook_attempts_by_endpoint on webhook_attempts (project_id, endpoint_id, id);
alter table webhook_attempts alter column event set (n_distinct = 20);
alter table webhook_attempts alter column endpoint_id set (n_distinct = 20);
create index webhook_attempts_by_event on webhook_attempts (project_id, event, id);
-- Failed ones alone: nearly all are delivered, and cost this index nothing.
create index webhook_attempts_failed on webhook_attempts (project_id, id)
  where status = 'failed';

-- Jobs on the queue of an endpoint, done in pieces: once a queue is long, switching its endpoint on
-- or replaying to it in one statement takes longer than a statement may.
create table webhook_jobs (
  project_id uuid not null,
  endpoint_id uuid not null,
  -- resume: what waits for a retry is due at once. replay: messages since an instant are queued
  -- again. drop: the queue of an endpoint that was removed is deleted.
  kind text not null check (kind in ('resume', 'replay', 'drop')),
  since timestamptz,
  -- How far a resume is: the last message it goes to, and the last that it has looked at.
  until_id uuid,
  after_id uuid,
  -- How far a replay is, in the order of `webhook_messages_from`.
  until_position bigint,
  after_at timestamptz,
  after_position bigint,
  done bigint not null default 0,
  -- How many rows there are to do; null: they were not counted.
  total bigint,
  created_at timestamptz not null,
  primary key (project_id, endpoint_id, kind),
  foreign key (project_id, endpoint_id) references webhook_endpoints (project_id, id)
);

-- Portal ----------------------------------------------------------------------------------------

create table portal_views (
  project_id uuid not null references projects,
  -- The nil UUID stands for all customers of the project.
  customer_id uuid not null,
  -- The answer as JSON text, and the rest that the page shows; null: the view was dropped.
  body text,
  page jsonb,
  generated_at timestamptz,
  as_of timestamptz,
  -- How often the view was dropped: who computes one compares.
  drops bigint not null default 0,
  primary key (project_id, customer_id),
  constraint portal_views_dropped_check check (
    (body is null) = (page is null) and (body is null) = (generated_at is null)
    and (body is null) = (as_of is null))
);

-- Analytics -------------------------------------------------------------------------------------

-- The figures of a project, kept as they change, so that asking for them costs the same however
-- many subscriptions and invoices there are.
create table analytics_totals (
  project_id uuid not null references projects,
  -- active: subscriptions by plan, with what they bring in each interval. due: unpaid invoices by
  -- currency. paid: payments by UTC day and currency. net, tax, refunded: what was invoiced before
  -- tax, its tax, and what was given back, by UTC hour and currency: by hour, so that at either end
  -- of thirty days the rows of an hour are read and not those of a day, on which a whole month's
  -- invoices may be. wallet: what customers have in their wallets, by currency.
  kind text not null check (
    kind in ('active', 'due', 'paid', 'net', 'tax', 'refunded', 'wallet')),
  -- A plan's id, a currency, or a time and a currency.
  key text not null,
  count bigint not null,
  cents numeric not null,
  primary key (project_id, kind, key)
);

-- Changes of the totals, each a row, so that nobody waits for anybody; a worker adds them up.
create table analytics_deltas (
  project_id uuid not null,
  id uuid not null default gen_random_uuid(),
  kind text not null,
  key text not null,
  count bigint not null,
  cents numeric not null,
  primary key (project_id, id)
);

-- Adds at most `most` deltas of the project to its totals; returns how many there were. If the
-- server dies, both or neither are on disk, so the commit need not wait for it.
create function add_analytics_deltas(project uuid, most integer) returns bigint
language plpgsql as $$
declare
  ids uuid[];
  change record;
  added bigint := 0;
begin
  perform set_config('synchronous_commit', 'off', true);
  -- The ids are taken by a statement of their own, in the order of the key: a limit within the
  -- delete was asked again for each row, and without an order all that was deleted is read again.
  ids := array(select t.id
                 from analytics_deltas t
                where t.project_id = project
                order by t.id
                limit most
                  for update skip locked);
  for change in
    with taken as (
      delete from analytics_deltas d
       where d.project_id = project and d.id = any(ids)
      returning kind, key, count, cents)
    select kind, key, count(*) as deltas, sum(count) as count, sum(cents) as cents
      from taken
     group by kind, key
     order by kind, key
  loop
    insert into analytics_totals as t (project_id, kind, key, count, cents)
    values (project, change.kind, change.key, change.count, change.cents)
    on conflict (project_id, kind, key) do update
       set count = t.count + excluded.count, cents = t.cents + excluded.cents;
    added := added + change.deltas;
  end loop;
  return added;
end $$;

create function record_active_deltas() returns trigger language plpgsql as $$
declare
  delta record;
begin
  if tg_op = 'INSERT' then
    for delta in
      select project_id, plan_id, count(*) as count, sum(recurring_cents) as cents
        from after where status = 'active' group by project_id, plan_id
    loop
      insert into analytics_deltas (project_id, kind, key, count, cents)
      values (delta.project_id, 'active', delta.plan_id, delta.count, delta.cents);
    end loop;
  elsif tg_op = 'DELETE' then
    for delta in
      select project_id, plan_id, count(*) as count, sum(recurring_cents) as cents
        from before where status = 'active' group by project_id, plan_id
    loop
      insert into analytics_deltas (project_id, kind, key, count, cents)
      values (delta.project_id, 'active', delta.plan_id, -delta.count, -delta.cents);
    end loop;
  else
    for delta in
      select project_id, plan_id, sum(n) as count, sum(n * recurring_cents) as cents
        from (select project_id, plan_id, 1 as n, recurring_cents from after
               where status = 'active'
               union all
              select project_id, plan_id, -1, recurring_cents from before
               where status = 'active') c
       group by project_id, plan_id
      having sum(n) <> 0 or sum(n * recurring_cents) <> 0
    loop
      insert into analytics_deltas (project_id, kind, key, count, cents)
      values (delta.project_id, 'active', delta.plan_id, delta.count, delta.cents);
    end loop;
  end if;
  return null;
end $$;
create trigger subscriptions_made after insert on subscriptions
  referencing new table as after for each statement execute function record_active_deltas();
create trigger subscriptions_changed after update on subscriptions
  referencing old table as before new table as after
  for each statement execute function record_active_deltas();
create trigger subscriptions_removed after delete on subscriptions
  referencing old table as before for each statement execute function record_active_deltas();

-- The sum that is due counts too while a part of the invoice is written off.
create function record_due_deltas() returns trigger language plpgsql as $$
declare
  delta record;
begin
  if tg_op = 'INSERT' then
    for delta in
      select project_id, currency, count(*) as count,
             sum(total_cents - credit_applied_cents - offset_cents - amount_paid_cents
                 + overpaid_cents - written_off_cents) as cents
        from after where status in ('outstanding', 'overdue') group by project_id, currency
    loop
      insert into analytics_deltas (project_id, kind, key, count, cents)
      values (delta.project_id, 'due', delta.currency, delta.count, delta.cents);
    end loop;
  elsif tg_op = 'DELETE' then
    for delta in
      select project_id, currency, count(*) as count,
             sum(total_cents - credit_applied_cents - offset_cents - amount_paid_cents
                 + overpaid_cents - written_off_cents) as cents
        from before where status in ('outstanding', 'overdue') group by project_id, currency
    loop
      insert into analytics_deltas (project_id, kind, key, count, cents)
      values (delta.project_id, 'due', delta.currency, -delta.count, -delta.cents);
    end loop;
  else
    for delta in
      select project_id, currency, sum(n) as count, sum(n * cents) as cents
        from (select project_id, currency, 1 as n,
                     total_cents - credit_applied_cents - offset_cents - amount_paid_cents
                     + overpaid_cents - written_off_cents as cents
                from after where status in ('outstanding', 'overdue')
               union all
              select project_id, currency, -1,
                     total_cents - credit_applied_cents - offset_cents - amount_paid_cents
                     + overpaid_cents - written_off_cents
                from before where status in ('outstanding', 'overdue')) c
       group by project_id, currency
      having sum(n) <> 0 or sum(n * cents) <> 0
    loop
      insert into analytics_deltas (project_id, kind, key, count, cents)
      values (delta.project_id, 'due', delta.currency, delta.count, delta.cents);
    end loop;
  end if;
  return null;
end $$;
create trigger invoices_made after insert on invoices
  referencing new table as after for each statement execute function record_due_deltas();
create trigger invoices_changed after update on invoices
  referencing old table as before new table as after
  for each statement execute function record_due_deltas();
create trigger invoices_removed after delete on invoices
  referencing old table as before for each statement execute function record_due_deltas();

create function record_net_deltas() returns trigger language plpgsql as $$
declare
  delta record;
begin
  if tg_op = 'INSERT' then
    for delta in
      select project_id,
             to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24 ') || currency as key,
             count(*) as count, sum(subtotal_cents - discount_cents) as net, sum(tax_cents) as tax
        from after where status <> 'voided' and cause <> 'top_up' group by 1, 2
    loop
      insert into analytics_deltas (project_id, kind, key, count, cents)
      values (delta.project_id, 'net', delta.key, delta.count, delta.net);
      if delta.tax <> 0 then
        insert into analytics_deltas (project_id, kind, key, count, cents)
        values (delta.project_id, 'tax', delta.key, 0, delta.tax);
      end if;
    end loop;
  else
    -- Only a void changes what was invoiced.
    for delta in
      select project_id,
             to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24 ') || currency as key,
             sum(n) as count, sum(n * net) as net, sum(n * tax_cents) as tax
        from (select 1 as n, project_id, created_at, currency,
                     subtotal_cents - discount_cents as net, tax_cents
                from after where status <> 'voided' and cause <> 'top_up'
               union all
              select -1, project_id, created_at, currency,
                     subtotal_cents - discount_cents, tax_cents
                from before where status <> 'voided' and cause <> 'top_up') c
       group by 1, 2
      having sum(n) <> 0
    loop
      insert into analytics_deltas (project_id, kind, key, count, cents)
      values (delta.project_id, 'net', delta.key, delta.count, delta.net);
      if delta.tax <> 0 then
        insert into analytics_deltas (project_id, kind, key, count, cents)
        values (delta.project_id, 'tax', delta.key, 0, delta.tax);
      end if;
    end loop;
  end if;
  return null;
end $$;
create trigger invoices_made_net after insert on invoices
  referencing new table as after for each statement execute function record_net_deltas();
create trigger invoices_changed_net after update on invoices
  referencing old table as before new table as after
  for each statement execute function record_net_deltas();

-- A credit note lowers what was invoiced, but for one on a top-up, which is no revenue. It is asked
-- for one note at a time: a cluster cannot join the rows of a trigger to a table.
create function record_credit_deltas() returns trigger language plpgsql as $$
declare
  note record;
  is_top_up boolean;
begin
  for note in
    select *, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24 ') || currency as key
      from written
  loop
    select cause = 'top_up' into is_top_up
      from invoices
     where project_id = note.project_id and id = note.invoice_id;
    if is_top_up then
      continue;
    end if;
    insert into analytics_deltas (project_id, kind, key, count, cents)
    values (note.project_id, 'net', note.key, 0, -note.subtotal_cents);
    if note.tax_cents <> 0 then
      insert into analytics_deltas (project_id, kind, key, count, cents)
      values (note.project_id, 'tax', note.key, 0, -note.tax_cents);
    end if;
  end loop;
  return null;
end $$;
create trigger credit_notes_made after insert on credit_notes
  referencing new table as written for each statement execute function record_credit_deltas();

-- A payment is made or removed; what it says of itself never changes.
create function record_paid_deltas() returns trigger language plpgsql as $$
declare
  sign integer := case when tg_op = 'INSERT' then 1 else -1 end;
  delta record;
begin
  for delta in
    select project_id, (paid_at at time zone 'UTC')::date || ' ' || currency as key,
           sign * count(*) as count, sign * sum(amount_cents) as cents
      from changed
     group by project_id, (paid_at at time zone 'UTC')::date, currency
  loop
    insert into analytics_deltas (project_id, kind, key, count, cents)
    values (delta.project_id, 'paid', delta.key, delta.count, delta.cents);
  end loop;
  return null;
end $$;
create trigger payments_made after insert on payments
  referencing new table as changed for each statement execute function record_paid_deltas();
create trigger payments_removed after delete on payments
  referencing old table as changed for each statement execute function record_paid_deltas();

create function record_refunded_deltas() returns trigger language plpgsql as $$
declare
  delta record;
begin
  for delta in
    select project_id,
           to_char(refunded_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24 ') || currency as key,
           count(*) as count, sum(amount_cents) as cents
      from written group by 1, 2
  loop
    insert into analytics_deltas (project_id, kind, key, count, cents)
    values (delta.project_id, 'refunded', delta.key, delta.count, delta.cents);
  end loop;
  return null;
end $$;
create trigger refunds_made after insert on refunds
  referencing new table as written for each statement execute function record_refunded_deltas();

create function record_wallet_deltas() returns trigger language plpgsql as $$
declare
  delta record;
begin
  if tg_op = 'INSERT' then
    for delta in
      select project_id, currency, sum(balance_cents) as cents from after group by 1, 2
    loop
      if delta.cents <> 0 then
        insert into analytics_deltas (project_id, kind, key, count, cents)
        values (delta.project_id, 'wallet', delta.currency, 0, delta.cents);
      end if;
    end loop;
  else
    for delta in
      select project_id, currency, sum(cents) as cents
        from (select project_id, currency, balance_cents as cents from after
               union all
              select project_id, currency, -balance_cents from before) c
       group by 1, 2
      having sum(cents) <> 0
    loop
      insert into analytics_deltas (project_id, kind, key, count, cents)
      values (delta.project_id, 'wallet', delta.currency, 0, delta.cents);
    end loop;
  end if;
  return null;
end $$;
create trigger wallets_made after insert on wallets
  referencing new table as after for each statement execute function record_wallet_deltas();
create trigger wallets_changed after update on wallets
  referencing old table as before new table as after
  for each statement execute function record_wallet_deltas();
