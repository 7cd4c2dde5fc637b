-- Subscriptions, usage, invoices, payments and credit.

create table subscriptions (
  project_id uuid not null references projects,
  id uuid not null,
  -- Order of creation: neighbours share a usage lock (store/usage.ts).
  seq bigint generated always as identity,
  external_id text not null check (external_id <> ''),
  customer_id uuid not null,
  plan_id uuid not null,
  status text not null check (status in ('active', 'suspended', 'terminated', 'canceled')),
  billing_time text not null default 'calendar' check (billing_time in ('calendar')),
  properties jsonb not null default '{}' check (jsonb_typeof(properties) = 'object'),
  started_at timestamptz not null,
  -- The open period, half-open; of an ended subscription the last one. Numbered from 1, never
  -- reused, so that (subscription, period_no) names a period for ever.
  period_no integer not null check (period_no > 0),
  current_period_start timestamptz not null,
  current_period_next timestamptz not null,
  -- The price list of the open period.
  plan_version integer not null,
  -- Recurring base and flat fees of one interval at that price list: what MRR adds up.
  recurring_cents numeric not null,
  terminated_at timestamptz,
  -- A close that failed: why, and when it is tried again (on the database's clock).
  parked_reason text,
  parked_until timestamptz,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  primary key (project_id, id),
  foreign key (project_id, customer_id) references customers (project_id, id),
  foreign key (project_id, plan_id, plan_version)
    references plan_versions (project_id, plan_id, version),
  check (current_period_start <= current_period_next),
  check ((terminated_at is not null) = (status in ('terminated', 'canceled')))
);
create unique index subscriptions_live_external_id_key on subscriptions (project_id, external_id)
  where status in ('active', 'suspended');
create index subscriptions_by_external_id on subscriptions (project_id, external_id, id);
create index subscriptions_due on subscriptions (project_id, current_period_next, id)
  where status in ('active', 'suspended');
create index subscriptions_by_plan on subscriptions (project_id, plan_id) where status = 'active';
create index subscriptions_by_customer on subscriptions (project_id, customer_id, id);

create table suspensions (
  project_id uuid not null,
  subscription_id uuid not null,
  id uuid not null,
  suspended_at timestamptz not null,
  resumed_at timestamptz,
  primary key (project_id, subscription_id, id),
  foreign key (project_id, subscription_id) references subscriptions (project_id, id)
);

-- What became of each period that is over: the price list it was billed by, and what was billed.
create table closed_periods (
  project_id uuid not null,
  subscription_id uuid not null,
  period_no integer not null,
  starts_at timestamptz not null,
  ends_at timestamptz not null,
  plan_id uuid not null,
  plan_version integer not null,
  -- False for a period that ended without billing: canceled, or terminated without an invoice.
  billable boolean not null,
  -- Units and cents billed so far by charge, adjustments included: domain/pricing.ts Billed.
  billed jsonb not null,
  -- Late usage came in that no invoice has settled yet.
  late boolean not null default false,
  -- When late usage of an ended subscription gets an invoice of its own.
  settle_at timestamptz,
  closed_at timestamptz not null,
  primary key (project_id, subscription_id, period_no),
  foreign key (project_id, subscription_id) references subscriptions (project_id, id),
  foreign key (project_id, plan_id, plan_version)
    references plan_versions (project_id, plan_id, version),
  check (starts_at <= ends_at),
  check (settle_at is null or late)
);
create index closed_periods_late on closed_periods (project_id, subscription_id) where late;
create index closed_periods_settle on closed_periods (project_id, settle_at)
  where settle_at is not null;

-- Usage as it was sent: the truth behind the daily sums. Written once, found by key.
create table usage_events (
  project_id uuid not null,
  -- The transaction_id itself when it is a UUID, else 128 bits of its SHA-256.
  key uuid not null,
  transaction_id text,
  subscription_id uuid not null,
  metric_id uuid not null,
  -- The period the event belongs to; 0 when it belongs to none.
  period_no integer not null,
  at timestamptz not null,
  received_at timestamptz not null,
  -- Order of arrival, rising within a process: decides between equal timestamps.
  arrival bigint not null,
  quantity numeric,
  unique_value uuid,
  value text,
  properties jsonb,
  -- Why it is never billed; null when it is.
  unbillable text check (unbillable in ('before_start', 'after_termination', 'late_unbilled')),
  primary key (project_id, key)
);
create index usage_events_by_subscription on usage_events (project_id, subscription_id, at);
create index usage_events_unbillable on usage_events (project_id, at, key)
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
  primary key (project_id, subscription_id, period_no, metric_id, day)
) with (fillfactor = 70);

-- The distinct values of a period, for count_unique: 128 bits of SHA-256 each.
create table usage_uniques (
  project_id uuid not null,
  subscription_id uuid not null,
  period_no integer not null,
  metric_id uuid not null,
  unique_value uuid not null,
  day date not null,
  primary key (project_id, subscription_id, period_no, metric_id, unique_value)
);

create table invoice_counters (
  project_id uuid not null references projects,
  year integer not null,
  last integer not null check (last > 0),
  primary key (project_id, year)
);

create table invoices (
  project_id uuid not null references projects,
  id uuid not null,
  number_year integer not null,
  number_seq integer not null check (number_seq > 0),
  customer_id uuid not null,
  subscription_id uuid,
  -- Why it was made; with subscription and period it can be made once only.
  cause text not null check (cause in ('period', 'start', 'advance', 'supplement', 'add_on')),
  period_no integer not null default 0,
  cause_no integer not null default 0,
  invoice_type text not null check (invoice_type in ('subscription', 'addon')),
  status text not null check (status in ('outstanding', 'overdue', 'succeeded', 'voided')),
  payment_status text not null check (payment_status in ('pending', 'partially_paid', 'succeeded')),
  currency text not null,
  subtotal_cents bigint not null,
  total_cents bigint not null check (total_cents = greatest(subtotal_cents, 0)),
  amount_paid_cents bigint not null default 0 check (amount_paid_cents >= 0),
  credit_applied_cents bigint not null default 0
    check (credit_applied_cents between 0 and total_cents),
  issuing_date date not null,
  due_date date not null,
  period_start date not null,
  period_end date not null,
  -- The next dunning step's day; null when there is none.
  dunning_on date,
  voided_at timestamptz,
  created_at timestamptz not null,
  primary key (project_id, id),
  constraint invoices_number_key unique (project_id, number_year, number_seq),
  foreign key (project_id, customer_id) references customers (project_id, id),
  foreign key (project_id, subscription_id) references subscriptions (project_id, id),
  check ((subscription_id is null) = (cause = 'add_on')),
  check (due_date >= issuing_date and period_end >= period_start),
  check ((status = 'succeeded') = (payment_status = 'succeeded')),
  check (status = 'voided'
         or (status = 'succeeded') = (total_cents - amount_paid_cents - credit_applied_cents <= 0))
);
create unique index invoices_cause_key
  on invoices (project_id, subscription_id, period_no, cause, cause_no)
  where subscription_id is not null;
create index invoices_by_customer on invoices (project_id, customer_id, id);
create index invoices_open on invoices (project_id, due_date, id)
  include (status, currency, total_cents, amount_paid_cents, credit_applied_cents)
  where status in ('outstanding', 'overdue');
create index invoices_dunning on invoices (project_id, dunning_on) where dunning_on is not null;

create table fees (
  project_id uuid not null,
  invoice_id uuid not null,
  id uuid not null,
  fee_type text not null check (fee_type in ('subscription', 'charge', 'adjustment', 'add_on')),
  charge_id uuid,
  billable_metric_code text,
  units numeric not null,
  amount_cents bigint not null,
  amount_currency text not null,
  properties jsonb not null,
  primary key (project_id, invoice_id, id),
  foreign key (project_id, invoice_id) references invoices (project_id, id)
);

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

create table payments (
  project_id uuid not null,
  id uuid not null,
  invoice_id uuid not null,
  customer_id uuid not null,
  amount_cents bigint not null check (amount_cents >= 1),
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
  foreign key (project_id, customer_id) references customers (project_id, id)
);
create index payments_by_invoice on payments (project_id, invoice_id, id);
create index payments_by_customer on payments (project_id, customer_id, id);
create index payments_by_time on payments (project_id, paid_at) include (amount_cents, currency);

-- What a customer has to its credit, by currency; the entries say where it came from and went.
create table credits (
  project_id uuid not null,
  customer_id uuid not null,
  currency text not null,
  balance_cents bigint not null check (balance_cents >= 0),
  primary key (project_id, customer_id, currency),
  foreign key (project_id, customer_id) references customers (project_id, id)
);

create table credit_entries (
  project_id uuid not null,
  customer_id uuid not null,
  id uuid not null,
  currency text not null,
  amount_cents bigint not null check (amount_cents <> 0),
  reason text not null check (reason in ('overpayment', 'negative_total', 'applied', 'voided')),
  invoice_id uuid not null,
  created_at timestamptz not null,
  primary key (project_id, customer_id, id),
  foreign key (project_id, invoice_id) references invoices (project_id, id)
);
