-- What a cluster of several nodes needs of the schema, so that one schema serves it and a plain
-- PostgreSQL alike: an order of the log that is data, versions that are columns, numbers that no
-- sequence gives, and one call for what the project's node does alone. See docs/SCALING.md.

-- One row per project, never changed. On a cluster it leads a statement that names no other row of
-- the project to the node that has the project.
create table project_anchors (
  project_id uuid primary key references projects
);
insert into project_anchors (project_id) select id from projects;

-- The order of the log: a number that the project counts under the lock of this row, last of all in
-- each transaction. Who commits later has the greater number, on any server and after a restore.
create table log_heads (
  project_id uuid primary key references projects,
  last bigint not null check (last >= 0)
) with (fillfactor = 50);

-- The ids of transactions that gave the order until now stay on old rows alone: cursors that were
-- given out before name them.
alter table billing_events alter column xid drop default;
alter table billing_events
  drop constraint billing_events_pkey,
  alter column xid drop not null,
  alter column xid type bigint using xid::text::bigint,
  add column position bigint;
alter table billing_events rename column xid to former_xid;
drop index billing_events_by_resource;
alter table webhook_messages alter column xid drop default;
alter table webhook_messages
  alter column xid drop not null,
  alter column xid type bigint using xid::text::bigint,
  add column position bigint;
alter table webhook_messages rename column xid to former_xid;
drop index webhook_messages_feed;

create temporary table places on commit drop as
select project_id, kind, id,
       row_number() over (partition by project_id order by former_xid, kind, id) as position
  from (select project_id, 'entry' as kind, id, former_xid from billing_events
         union all
        select project_id, 'message', id, former_xid from webhook_messages) as rows;
analyze places;
update billing_events e
   set position = p.position
  from places p
 where p.kind = 'entry' and p.project_id = e.project_id and p.id = e.id;
update webhook_messages m
   set position = p.position
  from places p
 where p.kind = 'message' and p.project_id = m.project_id and p.id = m.id;
insert into log_heads (project_id, last)
select j.id, coalesce(max(p.position), 0)
  from projects j
  left join places p on p.project_id = j.id
 group by j.id;

alter table billing_events
  alter column position set not null,
  add primary key (project_id, position);
create index billing_events_by_resource on billing_events (project_id, resource_id, position);
create index billing_events_former on billing_events (project_id, former_xid, id)
  where former_xid is not null;
alter table webhook_messages alter column position set not null;
create unique index webhook_messages_feed on webhook_messages (project_id, position);
create index webhook_messages_former on webhook_messages (project_id, former_xid, id)
  where former_xid is not null;

-- A row is found by its key, where its place in the table was enough on one server.
alter table analytics_deltas
  add column id uuid not null default gen_random_uuid(),
  add primary key (project_id, id);
drop index analytics_deltas_by_project;

-- Differs after every change of the row, whoever makes it.
create function count_revision() returns trigger language plpgsql as $$
begin
  new.revision := old.revision + 1;
  return new;
end $$;
alter table metrics add column revision bigint not null default 0;
alter table subscriptions add column revision bigint not null default 0;
create trigger metrics_revised before update on metrics
  for each row execute function count_revision();
create trigger subscriptions_revised before update on subscriptions
  for each row execute function count_revision();

-- Sequences count per node. The order of customers is a number that the process gives from its
-- clock, above all that a sequence gave; the lock of a subscription's usage follows from its id.
alter table customers alter column seq drop identity;
alter table subscriptions drop column seq;

-- The ids of a project's customers begin with its prefix, which says where to look for a customer of
-- whom only the id is known. Customers from before have ids without it.
alter table projects
  add column customer_prefix text,
  add column has_older_customers boolean not null default false;
-- An odd factor maps different numbers below 2^32 to different ones.
update projects p
   set customer_prefix = lpad(to_hex(n.no * 2654435761 % 4294967296), 8, '0'),
       has_older_customers = exists (select 1 from customers c where c.project_id = p.id)
  from (select id, row_number() over (order by id) as no from projects) n
 where n.id = p.id;
alter table projects
  alter column customer_prefix set not null,
  add constraint projects_customer_prefix_check check (customer_prefix ~ '^[0-9a-f]{8}$'),
  add constraint projects_customer_prefix_key unique (customer_prefix);
drop index customers_by_id;

-- Views of the portal count how often they were dropped: who computes one compares.
alter table portal_views
  drop constraint portal_views_check,
  drop column as_of,
  drop column dropped_by,
  add column as_of timestamptz,
  add column drops bigint not null default 0;
update portal_views set body = null, page = null, generated_at = null;
alter table portal_views
  add constraint portal_views_check check (
    (body is null) = (page is null) and (body is null) = (generated_at is null)
    and (body is null) = (as_of is null));

create index subscriptions_set_aside on subscriptions (project_id)
  where set_aside_reason is not null;

-- Advisory locks are those of one server: on a cluster these functions run on the node that has the
-- project, whichever node a process is connected to.
create function lock_usage(project uuid, locks integer[], alone boolean) returns void
language plpgsql as $$
begin
  if alone then
    perform pg_advisory_xact_lock(hashtext(project::text), l) from unnest(locks) as l;
  else
    perform pg_advisory_xact_lock_shared(hashtext(project::text), l) from unnest(locks) as l;
  end if;
end $$;

create function try_lock(scope uuid, key text) returns boolean language plpgsql as $$
begin
  return pg_try_advisory_xact_lock(hashtextextended(scope::text || ' ' || key, 7));
end $$;

drop function hold_usage(uuid, integer[], uuid[], xid[], uuid[], xid[], timestamptz);

-- Stores the events whose keys are new and adds those alone to the daily sums. Returns the keys that
-- were stored before; null, and nothing stored, if what the caller counts on has changed. Checks come
-- after the locks are granted, and each statement here sees the rows as they are at its own start.
--
-- Few events are written one by one: a cluster keeps the plan of a row of values, and plans a select
-- anew each time, for 1 to 3 ms. Rows are written in one order, so that two batches wait for each
-- other and do not deadlock.
create function record_usage(
  project uuid,
  checked boolean,
  locks integer[],
  subscription_ids uuid[],
  subscription_revisions bigint[],
  metric_ids uuid[],
  metric_revisions bigint[],
  cutoff timestamptz,
  events json,
  has_unique_values boolean
) returns uuid[] language plpgsql as $$
declare
  few constant integer := 8;
  event record;
  found_key uuid;
  found_revision bigint;
  found_cutoff timestamptz;
  keys uuid[] := '{}';
  repeated uuid[] := '{}';
  -- Of the events that were stored and are billable, in one order.
  subscriptions uuid[] := '{}';
  periods integer[] := '{}';
  metrics uuid[] := '{}';
  instants timestamptz[] := '{}';
  arrivals bigint[] := '{}';
  quantities numeric[] := '{}';
  unique_values uuid[] := '{}';
  -- Of the distinct values that were new.
  new_subscriptions uuid[];
  new_periods integer[];
  new_metrics uuid[];
  new_days date[];
begin
  if checked then
    perform pg_advisory_xact_lock_shared(hashtext(project::text), l) from unnest(locks) as l;
    select closing_until into found_cutoff from usage_cutoffs where project_id = project;
    if found_cutoff is distinct from cutoff then return null; end if;
    if cardinality(subscription_ids) + cardinality(metric_ids) <= few then
      for i in 1 .. cardinality(subscription_ids) loop
        select revision into found_revision
          from subscriptions
         where project_id = project and id = subscription_ids[i];
        if found_revision is distinct from subscription_revisions[i] then return null; end if;
      end loop;
      for i in 1 .. cardinality(metric_ids) loop
        select revision into found_revision
          from metrics
         where project_id = project and id = metric_ids[i];
        if found_revision is distinct from metric_revisions[i] then return null; end if;
      end loop;
    elsif (select count(*)
             from subscriptions s
             join unnest(subscription_ids, subscription_revisions) as w (id, revision)
               on w.id = s.id and w.revision = s.revision
            where s.project_id = project) <> cardinality(subscription_ids)
       or (select count(*)
             from metrics m
             join unnest(metric_ids, metric_revisions) as w (id, revision)
               on w.id = m.id and w.revision = m.revision
            where m.project_id = project) <> cardinality(metric_ids) then
      return null;
    end if;
  end if;

  if not has_unique_values and json_array_length(events) <= few then
    for event in
      select *, (at at time zone 'UTC')::date as day
        from json_to_recordset(events)
             as e (key uuid, transaction_id text, subscription_id uuid, metric_id uuid,
                   period_no integer, at timestamptz, received_at timestamptz, arrival bigint,
                   quantity numeric, value text, properties jsonb, unbillable text)
       order by subscription_id, period_no, metric_id, day, key
    loop
      insert into usage_events (project_id, key, transaction_id, subscription_id, metric_id,
                                period_no, at, received_at, arrival, quantity, value, properties,
                                unbillable)
      values (project, event.key, event.transaction_id, event.subscription_id, event.metric_id,
              event.period_no, event.at, event.received_at, event.arrival, event.quantity,
              event.value, event.properties, event.unbillable)
      on conflict (project_id, key) do nothing
      returning key into found_key;
      if found_key is null then
        repeated := repeated || event.key;
      elsif event.unbillable is null then
        insert into usage_days as d (project_id, subscription_id, period_no, metric_id, day,
                                     events, sum, max, latest, uniques, last_at, last_arrival)
        values (project, event.subscription_id, event.period_no, event.metric_id, event.day, 1,
                event.quantity, event.quantity, event.quantity, 0, event.at, event.arrival)
        on conflict (project_id, subscription_id, period_no, metric_id, day) do update
           set events = d.events + 1,
               sum = d.sum + excluded.sum,
               max = greatest(d.max, excluded.max),
               latest = case when (excluded.last_at, excluded.last_arrival)
                                  > (d.last_at, d.last_arrival)
                             then excluded.latest else d.latest end,
               last_arrival = case when (excluded.last_at, excluded.last_arrival)
                                        > (d.last_at, d.last_arrival)
                                   then excluded.last_arrival else d.last_arrival end,
               last_at = greatest(d.last_at, excluded.last_at);
      end if;
    end loop;
    return repeated;
  end if;

  for event in
    insert into usage_events (project_id, key, transaction_id, subscription_id, metric_id,
                              period_no, at, received_at, arrival, quantity, unique_value, value,
                              properties, unbillable)
    select a.project_id, e.key, e.transaction_id, e.subscription_id, e.metric_id, e.period_no, e.at,
           e.received_at, e.arrival, e.quantity, e.unique_value, e.value, e.properties, e.unbillable
      from project_anchors a
     cross join json_to_recordset(events)
           as e (key uuid, transaction_id text, subscription_id uuid, metric_id uuid,
                 period_no integer, at timestamptz, received_at timestamptz, arrival bigint,
                 quantity numeric, unique_value uuid, value text, properties jsonb,
                 unbillable text)
     where a.project_id = project
     order by e.key
    on conflict (project_id, key) do nothing
    returning key, subscription_id, metric_id, period_no, at, arrival, quantity, unique_value,
              unbillable
  loop
    keys := keys || event.key;
    continue when event.unbillable is not null;
    subscriptions := subscriptions || event.subscription_id;
    periods := periods || event.period_no;
    metrics := metrics || event.metric_id;
    instants := instants || event.at;
    arrivals := arrivals || event.arrival;
    quantities := array_append(quantities, event.quantity);
    unique_values := array_append(unique_values, event.unique_value);
  end loop;
  if cardinality(keys) < json_array_length(events) then
    select array_agg(e.key) into repeated
      from json_to_recordset(events) as e (key uuid)
     where e.key <> all(keys);
  end if;

  if has_unique_values then
    for event in
      insert into usage_uniques (project_id, subscription_id, period_no, metric_id, unique_value,
                                 day)
      select distinct on (a.project_id, e.subscription_id, e.period_no, e.metric_id,
                          e.unique_value)
             a.project_id, e.subscription_id, e.period_no, e.metric_id, e.unique_value,
             (e.at at time zone 'UTC')::date
        from project_anchors a
       cross join unnest(subscriptions, periods, metrics, instants, arrivals, unique_values)
             as e (subscription_id, period_no, metric_id, at, arrival, unique_value)
       where a.project_id = project and e.unique_value is not null
       order by a.project_id, e.subscription_id, e.period_no, e.metric_id, e.unique_value,
                e.arrival
      on conflict do nothing
      returning subscription_id, period_no, metric_id, day
    loop
      new_subscriptions := new_subscriptions || event.subscription_id;
      new_periods := new_periods || event.period_no;
      new_metrics := new_metrics || event.metric_id;
      new_days := new_days || event.day;
    end loop;
  end if;

  insert into usage_days as d (project_id, subscription_id, period_no, metric_id, day, events, sum,
                               max, latest, uniques, last_at, last_arrival)
  select a.project_id, e.subscription_id, e.period_no, e.metric_id,
         (e.at at time zone 'UTC')::date, count(*), sum(e.quantity), max(e.quantity),
         (array_agg(e.quantity order by e.at desc, e.arrival desc))[1],
         coalesce(min(n.uniques), 0), max(e.at),
         (array_agg(e.arrival order by e.at desc, e.arrival desc))[1]
    from project_anchors a
   cross join unnest(subscriptions, periods, metrics, instants, arrivals, quantities)
         as e (subscription_id, period_no, metric_id, at, arrival, quantity)
    left join (select subscription_id, period_no, metric_id, day, count(*) as uniques
                 from unnest(new_subscriptions, new_periods, new_metrics, new_days)
                      as s (subscription_id, period_no, metric_id, day)
                group by subscription_id, period_no, metric_id, day) n
      on n.subscription_id = e.subscription_id and n.period_no = e.period_no
     and n.metric_id = e.metric_id and n.day = (e.at at time zone 'UTC')::date
   where a.project_id = project
   group by a.project_id, e.subscription_id, e.period_no, e.metric_id,
            (e.at at time zone 'UTC')::date
   order by e.subscription_id, e.period_no, e.metric_id, (e.at at time zone 'UTC')::date
  on conflict (project_id, subscription_id, period_no, metric_id, day) do update
     set events = d.events + excluded.events,
         sum = d.sum + excluded.sum,
         max = greatest(d.max, excluded.max),
         uniques = d.uniques + excluded.uniques,
         latest = case when (excluded.last_at, excluded.last_arrival)
                            > (d.last_at, d.last_arrival)
                       then excluded.latest else d.latest end,
         last_arrival = case when (excluded.last_at, excluded.last_arrival)
                                  > (d.last_at, d.last_arrival)
                             then excluded.last_arrival else d.last_arrival end,
         last_at = greatest(d.last_at, excluded.last_at);
  return repeated;
end $$;

-- Adds at most `most` deltas of the project to its totals; returns how many there were. If the
-- server dies, both or neither are on disk, so the commit need not wait for it.
create function add_analytics_deltas(project uuid, most integer) returns bigint
language plpgsql as $$
declare
  change record;
  added bigint := 0;
begin
  perform set_config('synchronous_commit', 'off', true);
  for change in
    with taken as (
      delete from analytics_deltas d
       where d.project_id = project and d.id in (
         select t.id
           from analytics_deltas t
          where t.project_id = project
          limit most
            for update skip locked)
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

-- The triggers of analytics and of totals, without a statement that joins the rows of a trigger to a
-- distributed table, which a cluster cannot do.
create or replace function record_active_deltas() returns trigger language plpgsql as $$
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

create or replace function record_due_deltas() returns trigger language plpgsql as $$
declare
  delta record;
begin
  if tg_op = 'INSERT' then
    for delta in
      select project_id, currency, count(*) as count,
             sum(total_cents - amount_paid_cents - credit_applied_cents) as cents
        from after where status in ('outstanding', 'overdue') group by project_id, currency
    loop
      insert into analytics_deltas (project_id, kind, key, count, cents)
      values (delta.project_id, 'due', delta.currency, delta.count, delta.cents);
    end loop;
  elsif tg_op = 'DELETE' then
    for delta in
      select project_id, currency, count(*) as count,
             sum(total_cents - amount_paid_cents - credit_applied_cents) as cents
        from before where status in ('outstanding', 'overdue') group by project_id, currency
    loop
      insert into analytics_deltas (project_id, kind, key, count, cents)
      values (delta.project_id, 'due', delta.currency, -delta.count, -delta.cents);
    end loop;
  else
    for delta in
      select project_id, currency, sum(n) as count, sum(n * cents) as cents
        from (select project_id, currency, 1 as n,
                     total_cents - amount_paid_cents - credit_applied_cents as cents
                from after where status in ('outstanding', 'overdue')
               union all
              select project_id, currency, -1,
                     total_cents - amount_paid_cents - credit_applied_cents
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

create or replace function record_paid_deltas() returns trigger language plpgsql as $$
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

create or replace function check_totals() returns trigger language plpgsql as $$
declare
  batch record;
  fee_sums json;
  wrong record;
begin
  for batch in select project_id, array_agg(id) as ids from written group by project_id loop
    select json_agg(s) into fee_sums
      from (select f.invoice_id, sum(f.amount_cents) as cents
              from fees f
             where f.project_id = batch.project_id and f.invoice_id = any(batch.ids)
             group by f.invoice_id) s;
    select i.id, i.subtotal_cents, coalesce(f.cents, 0) as cents into wrong
      from written i
      left join json_to_recordset(coalesce(fee_sums, '[]')) as f (invoice_id uuid, cents numeric)
        on f.invoice_id = i.id
     where i.project_id = batch.project_id and i.subtotal_cents <> coalesce(f.cents, 0)
     limit 1;
    if found then
      raise exception 'invoice % is over % cents, its fees add up to %',
        wrong.id, wrong.subtotal_cents, wrong.cents using errcode = 'check_violation';
    end if;
  end loop;
  return null;
end $$;
