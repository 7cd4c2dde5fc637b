-- Money: taxes, coupons, one ledger for credit and wallets, credit notes, refunds, one-off invoices,
-- write-offs, and the parties of an invoice as they were when it was issued.

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

-- Null says nothing, an empty list says no tax.
alter table projects
  add column tax_codes text[],
  add column issuer_city text not null default '',
  add column issuer_postal_code text not null default '',
  add column issuer_region text not null default '',
  add column issuer_country text not null default '',
  add column footer text not null default '',
  add column payment_url text not null default '',
  add column invoice_prefix text not null default 'INV',
  add column credit_note_prefix text not null default 'CN',
  -- Counts the changes of what stands of the seller on invoices.
  add column party_version integer not null default 1;
alter table projects add constraint projects_prefixes_check check (
  invoice_prefix ~ '^[A-Z0-9]{1,8}$' and credit_note_prefix ~ '^[A-Z0-9]{1,8}$');
alter table customers
  add column address text not null default '',
  add column city text not null default '',
  add column postal_code text not null default '',
  add column region text not null default '',
  add column country text not null default '',
  add column tax_id text not null default '',
  add column tax_note text not null default '',
  add column tax_exemption text,
  add column tax_codes text[],
  add column net_payment_days integer,
  add column metadata jsonb not null default '{}',
  -- Counts the changes of what stands of the buyer on invoices.
  add column party_version integer not null default 1,
  -- Whether it has, or had, grants or coupons: others need no look at either.
  add column has_account boolean not null default false;
alter table customers add constraint customers_tax_exemption_check check (
  tax_exemption in ('exempt', 'reverse_charge')
  and (tax_exemption <> 'reverse_charge' or tax_id <> ''));
alter table customers add constraint customers_net_payment_days_check
  check (net_payment_days between 0 and 365);
alter table plans add column tax_codes text[];
alter table plan_versions add column tax_codes text[];
alter table charges add column tax_codes text[];
alter table add_ons add column tax_codes text[];
-- The taxes in force when the period was closed, for late lines; null without any.
alter table closed_periods add column taxes jsonb;

-- What a seller (the project) or a buyer (a customer) was in earlier versions; the present one is
-- what projects and customers say themselves.
create table parties (
  project_id uuid not null references projects,
  owner_id uuid not null,
  version integer not null,
  body jsonb not null,
  primary key (project_id, owner_id, version)
);
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

alter table invoices
  add column prefix text not null default 'INV',
  add column discount_cents bigint not null default 0,
  add column tax_cents bigint not null default 0,
  add column offset_cents bigint not null default 0,
  add column overpaid_cents bigint not null default 0,
  add column written_off_cents bigint not null default 0,
  add column credit_notes_cents bigint not null default 0,
  add column coupons jsonb,
  add column taxes jsonb,
  add column credits jsonb,
  -- Null of invoices from before: they show the parties as they are.
  add column seller_version integer,
  add column buyer_version integer,
  add column tax_note text not null default '',
  add column memo text not null default '',
  add column po_number text not null default '',
  add column metadata jsonb not null default '{}',
  add column payment_url text;
alter table fees
  add column discount_cents bigint not null default 0,
  add column taxes jsonb,
  -- What each coupon took of it, what those before had left, and which line of which period it is.
  add column coupons jsonb;

-- The one order of amounts.
alter table invoices drop constraint invoices_check;
alter table invoices drop constraint invoices_check1;
alter table invoices drop constraint invoices_check2;
alter table invoices drop constraint invoices_check4;
alter table invoices drop constraint invoices_check5;
alter table invoices drop constraint invoices_cause_check;
alter table invoices drop constraint invoices_status_check;
alter table invoices drop constraint invoices_invoice_type_check;
-- What was paid above an invoice became credit.
update invoices
   set overpaid_cents = amount_paid_cents + credit_applied_cents - total_cents
 where status <> 'voided' and amount_paid_cents + credit_applied_cents > total_cents;
alter table invoices add constraint invoices_total_check check (
  total_cents = greatest(subtotal_cents - discount_cents + tax_cents, 0)) not valid;
alter table invoices add constraint invoices_credit_check check (
  credit_applied_cents between 0 and total_cents) not valid;
alter table invoices add constraint invoices_cause_check check (
  cause in ('period', 'start', 'advance', 'supplement', 'add_on', 'one_off', 'top_up')) not valid;
alter table invoices add constraint invoices_subscription_check check (
  (subscription_id is null) = (cause in ('add_on', 'one_off', 'top_up'))) not valid;
alter table invoices add constraint invoices_type_check check (
  invoice_type in ('subscription', 'addon', 'one_off', 'top_up')) not valid;
alter table invoices add constraint invoices_status_check check (
  status in ('outstanding', 'overdue', 'succeeded', 'uncollectible', 'voided')
  and (status = 'succeeded') = (payment_status = 'succeeded')
  and (status = 'uncollectible') = (status <> 'voided' and written_off_cents > 0)) not valid;
alter table invoices add constraint invoices_due_check check (
  offset_cents >= 0 and overpaid_cents >= 0 and written_off_cents >= 0
  and credit_notes_cents between 0 and total_cents
  and (status = 'voided'
       or (total_cents - credit_applied_cents - offset_cents - amount_paid_cents + overpaid_cents
             - written_off_cents >= 0
           and (status = 'succeeded')
               = (total_cents - credit_applied_cents - offset_cents - amount_paid_cents
                  + overpaid_cents - written_off_cents = 0 and written_off_cents = 0)))) not valid;
alter table fees drop constraint fees_fee_type_check;
alter table fees add constraint fees_fee_type_check check (
  fee_type in ('subscription', 'charge', 'minimum', 'adjustment', 'add_on', 'one_off', 'top_up'))
  not valid;

-- Fees are written before their invoices: each statement's invoices add up to their fees.
create or replace function check_totals() returns trigger language plpgsql as $$
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
drop trigger invoices_stay on invoices;
create trigger invoices_stay before update on invoices for each row
  when (old.subtotal_cents <> new.subtotal_cents or old.discount_cents <> new.discount_cents
        or old.tax_cents <> new.tax_cents or old.total_cents <> new.total_cents
        or old.credit_applied_cents <> new.credit_applied_cents)
  execute function refuse_change();
drop trigger fees_stay on fees;
create trigger fees_stay before update on fees for each row
  when (old.amount_cents <> new.amount_cents or old.invoice_id <> new.invoice_id
        or old.discount_cents <> new.discount_cents)
  execute function refuse_change();

create or replace function record_due_deltas() returns trigger language plpgsql as $$
declare
  delta record;
begin
  if tg_op = 'INSERT' then
    for delta in
      select project_id, currency, count(*) as count,
             sum(total_cents - credit_applied_cents - offset_cents - amount_paid_cents
                 + overpaid_cents) as cents
        from after where status in ('outstanding', 'overdue') group by project_id, currency
    loop
      insert into analytics_deltas (project_id, kind, key, count, cents)
      values (delta.project_id, 'due', delta.currency, delta.count, delta.cents);
    end loop;
  elsif tg_op = 'DELETE' then
    for delta in
      select project_id, currency, count(*) as count,
             sum(total_cents - credit_applied_cents - offset_cents - amount_paid_cents
                 + overpaid_cents) as cents
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
                     + overpaid_cents as cents
                from after where status in ('outstanding', 'overdue')
               union all
              select project_id, currency, -1,
                     total_cents - credit_applied_cents - offset_cents - amount_paid_cents
                     + overpaid_cents
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
  check ((percent is null) = (amount_cents is not null)
         and (amount_cents is null) = (currency is null))
);

-- With the terms of when it was applied; `position` is the order in which they take.
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

-- What a coupon took on an invoice, by use: the billing period, or the invoice, that counts as one.
-- Also 0, of a correction of a line that it took of. What it took of each fee stands on the fee.
create table coupon_uses (
  project_id uuid not null,
  applied_coupon_id uuid not null,
  use text not null,
  invoice_id uuid not null,
  -- Less what was taken back, which neither makes nor undoes a use.
  amount_cents bigint not null,
  use_cents bigint not null,
  is_voided boolean not null default false,
  primary key (project_id, applied_coupon_id, use, invoice_id),
  foreign key (project_id, applied_coupon_id) references applied_coupons (project_id, id)
);
create index coupon_uses_by_invoice on coupon_uses (project_id, invoice_id);

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
  remaining_cents bigint not null check (remaining_cents between 0 and amount_cents),
  priority integer not null check (priority between 0 and 100),
  expires_at timestamptz,
  status text not null check (
    status in ('pending', 'active', 'used_up', 'expired', 'revoked', 'voided')),
  invoice_id uuid,
  payment_id uuid,
  created_at timestamptz not null,
  primary key (project_id, id),
  foreign key (project_id, customer_id) references customers (project_id, id),
  check (remaining_cents = 0 or status in ('pending', 'active'))
);
create index grants_by_customer on grants (project_id, customer_id, id);
create index grants_expiring on grants (project_id, expires_at)
  where status in ('pending', 'active') and expires_at is not null;
create index grants_by_invoice on grants (project_id, invoice_id) where invoice_id is not null;

create table ledger_entries (
  project_id uuid not null,
  customer_id uuid not null,
  currency text not null,
  -- Counted by the wallet.
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
  -- Set when the ledger has changed since it was looked at.
  look_at timestamptz,
  -- Of the usage behind what was available then.
  looked_mark text not null default '',
  primary key (project_id, customer_id, currency),
  foreign key (project_id, customer_id) references customers (project_id, id)
);
create index wallets_to_look_at on wallets (project_id, look_at) where look_at is not null;
create index wallets_watched on wallets (project_id, customer_id, currency)
  where low_balance_cents is not null;

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
  refunded_cents bigint not null default 0 check (refunded_cents between 0 and refund_cents),
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
  check (subtotal_cents + tax_cents = total_cents),
  check (offset_cents + refund_cents + credit_cents = total_cents)
);
create index credit_notes_by_invoice on credit_notes (project_id, invoice_id, id);
create index credit_notes_by_customer on credit_notes (project_id, customer_id, id);
create index credit_notes_by_time on credit_notes (project_id, created_at);

create table refunds (
  project_id uuid not null,
  id uuid not null,
  payment_id uuid not null,
  invoice_id uuid not null,
  credit_note_id uuid,
  amount_cents bigint not null check (amount_cents >= 1),
  -- Of one without a note: what it took of the credit that the payment had made.
  credit_cents bigint not null default 0 check (credit_cents between 0 and amount_cents),
  currency text not null,
  provider text not null,
  provider_refund_id text not null,
  refunded_at timestamptz not null,
  created_at timestamptz not null,
  primary key (project_id, id),
  constraint refunds_provider_key unique (project_id, provider, provider_refund_id),
  foreign key (project_id, payment_id) references payments (project_id, id),
  foreign key (project_id, credit_note_id) references credit_notes (project_id, id)
);
create index refunds_by_payment on refunds (project_id, payment_id, id);
create index refunds_by_time on refunds (project_id, refunded_at);
alter table payments add column refunded_cents bigint not null default 0;
alter table payments add constraint payments_refunded_check
  check (refunded_cents between 0 and amount_cents);

create trigger parties_stay before update or delete on parties
  for each row execute function refuse_change();
create trigger credit_notes_stay before update on credit_notes for each row
  when (old.total_cents <> new.total_cents or old.taxes <> new.taxes or old.lines <> new.lines)
  execute function refuse_change();
create trigger credit_notes_remain before delete on credit_notes
  for each row execute function refuse_change();

-- What was invoiced before tax and its tax, what was refunded, each by UTC hour and currency, and
-- what customers have in their wallets by currency. By hour, so that at either end of thirty days
-- the rows of an hour are read and not those of a day, on which a whole month's invoices may be.
alter table analytics_totals drop constraint analytics_totals_kind_check;
alter table analytics_totals add constraint analytics_totals_kind_check check (
  kind in ('active', 'due', 'paid', 'net', 'tax', 'refunded', 'wallet'));
create index if not exists invoices_by_time on invoices (project_id, created_at);

insert into analytics_totals (project_id, kind, key, count, cents)
select project_id, 'net',
       to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24 ') || currency,
       count(*), sum(subtotal_cents)
  from invoices
 where status <> 'voided'
 group by project_id, to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24 ') || currency;

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
    -- Only a void changes it.
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
create trigger invoices_made_net after insert on invoices referencing new table as after
  for each statement execute function record_net_deltas();
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
create trigger credit_notes_made after insert on credit_notes referencing new table as written
  for each statement execute function record_credit_deltas();

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
create trigger refunds_made after insert on refunds referencing new table as written
  for each statement execute function record_refunded_deltas();

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
create trigger wallets_made after insert on wallets referencing new table as after
  for each statement execute function record_wallet_deltas();
create trigger wallets_changed after update on wallets
  referencing old table as before new table as after
  for each statement execute function record_wallet_deltas();
