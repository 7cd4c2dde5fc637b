-- The figures of a project kept as they change, so that asking for them costs the same however
-- many subscriptions and invoices there are. And lists by status that read only what they show.

-- Active subscriptions by plan with what they bring in each interval; unpaid invoices by currency
-- with what is due on them; payments by UTC day and currency with what came in.
create table figures (
  project_id uuid not null references projects,
  kind text not null check (kind in ('active', 'due', 'paid')),
  -- A plan's id, a currency, or a day and a currency.
  key text not null,
  count bigint not null,
  cents numeric not null,
  primary key (project_id, kind, key)
);

-- Every change is a row of its own, so that nobody waits for anybody; a worker adds them up.
create table figure_changes (
  project_id uuid not null,
  kind text not null,
  key text not null,
  count bigint not null,
  cents numeric not null
);
create index figure_changes_by_project on figure_changes (project_id);

create function note_active() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into figure_changes
    select project_id, 'active', plan_id, count(*), sum(recurring_cents)
      from after where status = 'active' group by project_id, plan_id;
  elsif tg_op = 'DELETE' then
    insert into figure_changes
    select project_id, 'active', plan_id, -count(*), -sum(recurring_cents)
      from before where status = 'active' group by project_id, plan_id;
  else
    insert into figure_changes
    select project_id, 'active', plan_id, sum(n), sum(n * recurring_cents)
      from (select project_id, plan_id, 1 as n, recurring_cents from after
             where status = 'active'
             union all
            select project_id, plan_id, -1, recurring_cents from before
             where status = 'active') c
     group by project_id, plan_id
    having sum(n) <> 0 or sum(n * recurring_cents) <> 0;
  end if;
  return null;
end $$;

create function note_due() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into figure_changes
    select project_id, 'due', currency, count(*),
           sum(total_cents - amount_paid_cents - credit_applied_cents)
      from after where status in ('outstanding', 'overdue') group by project_id, currency;
  elsif tg_op = 'DELETE' then
    insert into figure_changes
    select project_id, 'due', currency, -count(*),
           -sum(total_cents - amount_paid_cents - credit_applied_cents)
      from before where status in ('outstanding', 'overdue') group by project_id, currency;
  else
    insert into figure_changes
    select project_id, 'due', currency, sum(n), sum(n * cents)
      from (select project_id, currency, 1 as n,
                   total_cents - amount_paid_cents - credit_applied_cents as cents
              from after where status in ('outstanding', 'overdue')
             union all
            select project_id, currency, -1,
                   total_cents - amount_paid_cents - credit_applied_cents
              from before where status in ('outstanding', 'overdue')) c
     group by project_id, currency
    having sum(n) <> 0 or sum(n * cents) <> 0;
  end if;
  return null;
end $$;

create function note_paid() returns trigger language plpgsql as $$
declare
  sign integer := case when tg_op = 'INSERT' then 1 else -1 end;
begin
  insert into figure_changes
  select project_id, 'paid', (paid_at at time zone 'UTC')::date || ' ' || currency,
         sign * count(*), sign * sum(amount_cents)
    from changed
   group by project_id, (paid_at at time zone 'UTC')::date, currency;
  return null;
end $$;

create trigger subscriptions_made after insert on subscriptions
  referencing new table as after for each statement execute function note_active();
create trigger subscriptions_changed after update on subscriptions
  referencing old table as before new table as after
  for each statement execute function note_active();
create trigger subscriptions_removed after delete on subscriptions
  referencing old table as before for each statement execute function note_active();
create trigger invoices_made after insert on invoices
  referencing new table as after for each statement execute function note_due();
create trigger invoices_changed after update on invoices
  referencing old table as before new table as after
  for each statement execute function note_due();
create trigger invoices_removed after delete on invoices
  referencing old table as before for each statement execute function note_due();

-- A payment is made or removed; what it says of itself never changes.
create trigger payments_made after insert on payments
  referencing new table as changed for each statement execute function note_paid();
create trigger payments_removed after delete on payments
  referencing old table as changed for each statement execute function note_paid();

insert into figures (project_id, kind, key, count, cents)
select project_id, 'active', plan_id::text, count(*), sum(recurring_cents)
  from subscriptions where status = 'active' group by project_id, plan_id
 union all
select project_id, 'due', currency, count(*),
       sum(total_cents - amount_paid_cents - credit_applied_cents)
  from invoices where status in ('outstanding', 'overdue') group by project_id, currency
 union all
select project_id, 'paid', (paid_at at time zone 'UTC')::date || ' ' || currency, count(*),
       sum(amount_cents)
  from payments group by project_id, (paid_at at time zone 'UTC')::date, currency;

create index invoices_by_status on invoices (project_id, status, id);
create index invoices_partially_paid on invoices (project_id, id)
  where payment_status = 'partially_paid';
create index subscriptions_by_status on subscriptions (project_id, status, id);
