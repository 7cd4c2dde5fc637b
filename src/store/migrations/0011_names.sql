-- Tables, columns and functions get the names that the code has for them. Nothing is rewritten:
-- every statement here changes the catalog alone.

-- The sums that analytics reads, and the changes that are not yet part of them.
alter table figures rename to analytics_totals;
alter table figure_changes rename to analytics_deltas;
alter index figure_changes_by_project rename to analytics_deltas_by_project;

-- Usage of a period that ended by closing_until goes through its subscription's row: the period is
-- being closed.
alter table usage_seals rename to usage_cutoffs;
alter table usage_cutoffs rename column sealed_until to closing_until;

-- A close that failed is set aside: why, and until when it is not tried again.
alter table subscriptions rename column parked_reason to set_aside_reason;
alter table subscriptions rename column parked_until to set_aside_until;

-- The constraints of these tables are still called after the old names. PostgreSQL 18 also names
-- the not-null ones, which older servers do not have, so they are looked up.
do $$
declare
  found record;
begin
  for found in
    select c.conname as name, r.new_name || substr(c.conname, length(r.old_name) + 1) as new_name,
           c.conrelid::regclass as owner
      from (values ('figures', 'analytics_totals'), ('figure_changes', 'analytics_deltas'),
                   ('usage_seals', 'usage_cutoffs')) as r (old_name, new_name)
      join pg_constraint c
        on c.conrelid = r.new_name::regclass and starts_with(c.conname, r.old_name || '_')
  loop
    execute format('alter table %s rename constraint %I to %I',
                   found.owner, found.name, replace(found.new_name, 'sealed', 'closing'));
  end loop;
end $$;

alter function note_active() rename to record_active_deltas;
alter function note_due() rename to record_due_deltas;
alter function note_paid() rename to record_paid_deltas;

create or replace function record_active_deltas() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into analytics_deltas
    select project_id, 'active', plan_id, count(*), sum(recurring_cents)
      from after where status = 'active' group by project_id, plan_id;
  elsif tg_op = 'DELETE' then
    insert into analytics_deltas
    select project_id, 'active', plan_id, -count(*), -sum(recurring_cents)
      from before where status = 'active' group by project_id, plan_id;
  else
    insert into analytics_deltas
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

create or replace function record_due_deltas() returns trigger language plpgsql as $$
begin
  if tg_op = 'INSERT' then
    insert into analytics_deltas
    select project_id, 'due', currency, count(*),
           sum(total_cents - amount_paid_cents - credit_applied_cents)
      from after where status in ('outstanding', 'overdue') group by project_id, currency;
  elsif tg_op = 'DELETE' then
    insert into analytics_deltas
    select project_id, 'due', currency, -count(*),
           -sum(total_cents - amount_paid_cents - credit_applied_cents)
      from before where status in ('outstanding', 'overdue') group by project_id, currency;
  else
    insert into analytics_deltas
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

create or replace function record_paid_deltas() returns trigger language plpgsql as $$
declare
  sign integer := case when tg_op = 'INSERT' then 1 else -1 end;
begin
  insert into analytics_deltas
  select project_id, 'paid', (paid_at at time zone 'UTC')::date || ' ' || currency,
         sign * count(*), sign * sum(amount_cents)
    from changed
   group by project_id, (paid_at at time zone 'UTC')::date, currency;
  return null;
end $$;

-- The name of a parameter cannot be replaced, so the function is made again.
drop function hold_usage(uuid, integer[], uuid[], xid[], uuid[], xid[], timestamptz);
-- Takes the usage locks, and says whether the rows are still of these versions and the cutoff is
-- still this one. Volatile, so that it sees the rows as they are once the locks are granted; the
-- statement that calls it would see them as they were when it began to wait.
create function hold_usage(
  project uuid,
  locks integer[],
  subscription_ids uuid[],
  subscription_versions xid[],
  metric_ids uuid[],
  metric_versions xid[],
  cutoff timestamptz
) returns boolean language plpgsql volatile as $$
begin
  perform pg_advisory_xact_lock_shared(hashtext(project::text), l)
     from unnest(locks) as l;
  return (select count(*)
            from unnest(subscription_ids, subscription_versions) as w (id, version)
            join subscriptions s
              on s.project_id = project and s.id = w.id and s.xmin = w.version)
           = cardinality(subscription_ids)
     and (select count(*)
            from unnest(metric_ids, metric_versions) as w (id, version)
            join metrics m
              on m.project_id = project and m.id = w.id and m.xmin = w.version)
           = cardinality(metric_ids)
     and (select closing_until from usage_cutoffs where project_id = project)
           is not distinct from cutoff;
end $$;
