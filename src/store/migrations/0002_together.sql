-- One invoice for what is due together: what one act puts on an invoice is a part of it, and an act
-- has one part for ever. 0003 gives the invoices that are there their parts, 0004 drops what parts
-- say instead of the invoice.

-- How acts that fall due at one instant become invoices: each by itself, those of a subscription
-- together, or those of a customer. A customer's own word wins; null: as the settings say.
alter table projects
  add column invoice_grouping text not null default 'separate',
  -- True since the settings or a customer were `customer` for the first time: others need no look.
  add column groups_customers boolean not null default false,
  add constraint projects_grouping_check check (
    invoice_grouping in ('separate', 'subscription', 'customer')
    and (invoice_grouping <> 'customer' or groups_customers));
alter table customers
  add column invoice_grouping text,
  add constraint customers_grouping_check check (
    invoice_grouping in ('separate', 'subscription', 'customer'));

-- Whether its close has failed and something of it is due still: its acts are then never invoiced
-- with those of another subscription.
alter table subscriptions add column left_behind boolean not null default false;

alter table invoices add column part_count smallint not null default 1;
alter table fees add column part_no smallint not null default 0;

-- What one act of a subscription puts on an invoice. What has no subscription, an add-on, a one-off
-- or a top-up, is one part, which the invoice itself says. Columns stand by width, without padding.
create table invoice_parts (
  project_id uuid not null,
  subscription_id uuid not null,
  invoice_id uuid not null,
  -- The instant at which the act fell due, not that at which a worker came to it.
  due_at timestamptz not null,
  period_no integer not null,
  period_start date not null,
  period_end date not null,
  -- Counts what one period may have several of: supplements.
  cause_no smallint not null default 0,
  part_no smallint not null,
  set_aside boolean not null default false,
  -- The close of a period, its start where it is the first paid one, or a later one, or late usage.
  reason text not null,
  plan_code text not null,
  -- An act is on one invoice or on none, for ever.
  primary key (project_id, subscription_id, period_no, reason, cause_no),
  constraint invoice_parts_invoice_key unique (project_id, invoice_id, part_no),
  constraint invoice_parts_reason_check check (
    reason in ('period', 'start', 'advance', 'supplement')),
  constraint invoice_parts_dates_check check (period_end >= period_start),
  constraint invoice_parts_part_check check (part_no >= 0),
  -- Parts need no number: they are written before their invoices, as fees are.
  constraint invoice_parts_invoice_fkey foreign key (project_id, invoice_id)
    references invoices (project_id, id) deferrable initially deferred,
  constraint invoice_parts_subscription_fkey foreign key (project_id, subscription_id)
    references subscriptions (project_id, id)
);
create index invoice_parts_by_subscription
  on invoice_parts (project_id, subscription_id, invoice_id);
