-- Pricing: charge models beside the price per unit, dimensions of metrics, minimums, levels that
-- last, periods that begin on any day, trials, starts and ends on a date, changes of plan, base fees
-- in advance, quantities over time, and prices of one subscription's own.

alter table metrics
  add column dimensions text[] not null default '{}',
  add column weighted_by text;
alter table metrics drop constraint metrics_aggregation_type_check;
alter table metrics add constraint metrics_aggregation_type_check check (
  aggregation_type in ('sum', 'count', 'count_unique', 'max', 'latest', 'weighted_sum'));
alter table metrics add constraint metrics_dimensions_check check (
  cardinality(dimensions) <= 4 and (aggregation_type <> 'count_unique' or dimensions = '{}'));
alter table metrics add constraint metrics_weighted_by_check check (
  weighted_by in ('hour', 'period')
  and (aggregation_type = 'weighted_sum') = (weighted_by is not null));

-- `price` has the words of the charge's model, checked and in one form. What a caller keeps under
-- the same names in older properties means nothing.
alter table charges
  add column name text,
  add column price jsonb not null default '{}';
alter table charges drop constraint charges_charge_model_check;
alter table charges drop constraint charges_standard_check;
alter table charges add constraint charges_charge_model_check check (
  charge_model in ('standard', 'graduated', 'volume', 'package', 'percentage', 'flat_fee'));
alter table charges add constraint charges_usage_check check (
  charge_model = 'flat_fee'
  or (metric_id is not null and invoice_timing = 'arrears' and catalog_item_id is null
      and amount_override_cents is null and (charge_model <> 'standard' or rate is not null)));

alter table plans
  add column minimum_cents bigint not null default 0,
  add column base_timing text not null default 'arrears',
  add column trial_days integer not null default 0;
alter table plans add constraint plans_minimum_cents_check
  check (minimum_cents between 0 and 1000000000000);
alter table plans add constraint plans_base_timing_check
  check (base_timing in ('arrears', 'advance'));
alter table plans add constraint plans_trial_days_check check (trial_days between 0 and 730);
alter table plan_versions
  add column minimum_cents bigint not null default 0,
  add column base_timing text not null default 'arrears';

alter table subscriptions
  add column anchor_date date,
  add column is_anchor_given boolean not null default false,
  add column in_trial boolean not null default false,
  add column trial_ends_at timestamptz,
  add column ends_at timestamptz,
  add column scheduled_plan_id uuid,
  add column overrides jsonb,
  -- Which of its own price lists counts for the open period; null: the plan's alone.
  add column override_no integer,
  -- What was billed at the start of the open period, for its end to reckon with.
  add column advance jsonb,
  -- Of metrics that are weighted sums: the level at the start of the open period.
  add column levels jsonb,
  add column metadata jsonb not null default '{}';
alter table subscriptions drop constraint subscriptions_billing_time_check;
alter table subscriptions drop constraint subscriptions_status_check;
alter table subscriptions add constraint subscriptions_billing_time_check
  check (billing_time in ('calendar', 'anniversary')) not valid;
alter table subscriptions add constraint subscriptions_status_check
  check (status in ('pending', 'active', 'suspended', 'terminated', 'canceled')) not valid;
alter table subscriptions add constraint subscriptions_anchor_check
  check ((billing_time = 'anniversary') = (anchor_date is not null)) not valid;
alter table subscriptions add constraint subscriptions_trial_check
  check (not in_trial or trial_ends_at = current_period_next) not valid;
alter table subscriptions
  add foreign key (project_id, scheduled_plan_id) references plans (project_id, id);

-- When anything is due next: the start of one that is pending, the end that was set, the end of the
-- period. Queries write the same expression as the index.
drop index subscriptions_due;
create index if not exists subscriptions_due_at on subscriptions (
  project_id,
  (least(current_period_next, ends_at, case when status = 'pending' then started_at end)), id)
  where status in ('pending', 'active', 'suspended');
drop index subscriptions_live_external_id_key;
create unique index if not exists subscriptions_live_name_key
  on subscriptions (project_id, external_id)
  where status in ('pending', 'active', 'suspended');

-- A subscription's own prices, each list for one plan. What a column leaves null is the plan's.
create table price_overrides (
  project_id uuid not null,
  subscription_id uuid not null,
  override_no integer not null check (override_no > 0),
  plan_id uuid not null,
  amount_cents bigint check (amount_cents between 0 and 1000000000000),
  minimum_cents bigint check (minimum_cents between 0 and 1000000000000),
  charges jsonb,
  -- As they were sent, for answers; null once they were removed.
  overrides jsonb,
  effective_at timestamptz not null,
  primary key (project_id, subscription_id, override_no),
  foreign key (project_id, subscription_id) references subscriptions (project_id, id),
  foreign key (project_id, plan_id) references plans (project_id, id)
);

-- Properties that have been replaced, with the instant until which they were in force.
create table former_properties (
  project_id uuid not null,
  subscription_id uuid not null,
  id uuid not null,
  until timestamptz not null,
  properties jsonb not null,
  primary key (project_id, subscription_id, id),
  foreign key (project_id, subscription_id) references subscriptions (project_id, id)
);

alter table closed_periods
  add column is_trial boolean not null default false,
  -- Of the schedule that the period was part of; null: the calendar.
  add column anchor_date date,
  add column override_no integer,
  -- At the period's start.
  add column levels jsonb;

alter table fees drop constraint fees_fee_type_check;
alter table fees add constraint fees_fee_type_check check (
  fee_type in ('subscription', 'charge', 'minimum', 'adjustment', 'add_on')) not valid;

-- `moment`: of a weighted sum, each value times the milliseconds of its day that had passed.
alter table usage_days add column moment numeric;
-- A JSON list of the values of the metric's dimensions, in their order.
alter table usage_events add column combination text;

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

-- As before, and with the sums of metrics that have dimensions or are weighted.
create or replace function record_usage(
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
  found_aggregation text;
  found_cutoff timestamptz;
  keys uuid[] := '{}';
  repeated uuid[] := '{}';
  -- Metrics whose sums are weighted by how long they last.
  weighted uuid[] := '{}';
  moment numeric;
  -- Of the events that were stored and are billable, in one order.
  subscriptions uuid[] := '{}';
  periods integer[] := '{}';
  metrics uuid[] := '{}';
  instants timestamptz[] := '{}';
  arrivals bigint[] := '{}';
  quantities numeric[] := '{}';
  unique_values uuid[] := '{}';
  -- The same of events with dimensions.
  part_subscriptions uuid[] := '{}';
  part_periods integer[] := '{}';
  part_metrics uuid[] := '{}';
  part_combinations text[] := '{}';
  part_instants timestamptz[] := '{}';
  part_arrivals bigint[] := '{}';
  part_quantities numeric[] := '{}';
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
        select revision, aggregation_type into found_revision, found_aggregation
          from metrics
         where project_id = project and id = metric_ids[i];
        if found_revision is distinct from metric_revisions[i] then return null; end if;
        if found_aggregation = 'weighted_sum' then weighted := weighted || metric_ids[i]; end if;
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
  if not checked or cardinality(subscription_ids) + cardinality(metric_ids) > few then
    select coalesce(array_agg(m.id), '{}') into weighted
      from metrics m
     where m.project_id = project and m.id = any(metric_ids)
       and m.aggregation_type = 'weighted_sum';
  end if;

  if not has_unique_values and json_array_length(events) <= few then
    for event in
      select *, (at at time zone 'UTC')::date as day
        from json_to_recordset(events)
             as e (key uuid, transaction_id text, subscription_id uuid, metric_id uuid,
                   period_no integer, at timestamptz, received_at timestamptz, arrival bigint,
                   quantity numeric, value text, properties jsonb, unbillable text,
                   combination text)
       order by subscription_id, period_no, metric_id, combination, day, key
    loop
      insert into usage_events (project_id, key, transaction_id, subscription_id, metric_id,
                                period_no, at, received_at, arrival, quantity, value, properties,
                                unbillable, combination)
      values (project, event.key, event.transaction_id, event.subscription_id, event.metric_id,
              event.period_no, event.at, event.received_at, event.arrival, event.quantity,
              event.value, event.properties, event.unbillable, event.combination)
      on conflict (project_id, key) do nothing
      returning key into found_key;
      if found_key is null then repeated := repeated || event.key; end if;
      continue when found_key is null or event.unbillable is not null;
      moment := case when event.metric_id = any(weighted)
                     then event.quantity * 1000
                          * extract(epoch from (event.at at time zone 'UTC')::time) end;
      if event.combination is not null then
        insert into usage_parts as d (project_id, subscription_id, period_no, metric_id,
                                      combination, day, events, sum, max, latest, last_at,
                                      last_arrival, moment)
        values (project, event.subscription_id, event.period_no, event.metric_id,
                event.combination, event.day, 1, event.quantity, event.quantity, event.quantity,
                event.at, event.arrival, moment)
        on conflict (project_id, subscription_id, period_no, metric_id, combination, day) do update
           set events = d.events + 1,
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
      else
        insert into usage_days as d (project_id, subscription_id, period_no, metric_id, day,
                                     events, sum, max, latest, uniques, last_at, last_arrival,
                                     moment)
        values (project, event.subscription_id, event.period_no, event.metric_id, event.day, 1,
                event.quantity, event.quantity, event.quantity, 0, event.at, event.arrival,
                moment)
        on conflict (project_id, subscription_id, period_no, metric_id, day) do update
           set events = d.events + 1,
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
    return repeated;
  end if;

  for event in
    insert into usage_events (project_id, key, transaction_id, subscription_id, metric_id,
                              period_no, at, received_at, arrival, quantity, unique_value, value,
                              properties, unbillable, combination)
    select a.project_id, e.key, e.transaction_id, e.subscription_id, e.metric_id, e.period_no, e.at,
           e.received_at, e.arrival, e.quantity, e.unique_value, e.value, e.properties,
           e.unbillable, e.combination
      from project_anchors a
     cross join json_to_recordset(events)
           as e (key uuid, transaction_id text, subscription_id uuid, metric_id uuid,
                 period_no integer, at timestamptz, received_at timestamptz, arrival bigint,
                 quantity numeric, unique_value uuid, value text, properties jsonb,
                 unbillable text, combination text)
     where a.project_id = project
     order by e.key
    on conflict (project_id, key) do nothing
    returning key, subscription_id, metric_id, period_no, at, arrival, quantity, unique_value,
              unbillable, combination
  loop
    keys := keys || event.key;
    continue when event.unbillable is not null;
    if event.combination is not null then
      part_subscriptions := part_subscriptions || event.subscription_id;
      part_periods := part_periods || event.period_no;
      part_metrics := part_metrics || event.metric_id;
      part_combinations := array_append(part_combinations, event.combination);
      part_instants := part_instants || event.at;
      part_arrivals := part_arrivals || event.arrival;
      part_quantities := array_append(part_quantities, event.quantity);
      continue;
    end if;
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
                               max, latest, uniques, last_at, last_arrival, moment)
  select a.project_id, e.subscription_id, e.period_no, e.metric_id,
         (e.at at time zone 'UTC')::date, count(*), sum(e.quantity), max(e.quantity),
         (array_agg(e.quantity order by e.at desc, e.arrival desc))[1],
         coalesce(min(n.uniques), 0), max(e.at),
         (array_agg(e.arrival order by e.at desc, e.arrival desc))[1],
         sum(e.quantity * 1000 * extract(epoch from (e.at at time zone 'UTC')::time))
           filter (where e.metric_id = any(weighted))
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
         moment = d.moment + excluded.moment,
         latest = case when (excluded.last_at, excluded.last_arrival)
                            > (d.last_at, d.last_arrival)
                       then excluded.latest else d.latest end,
         last_arrival = case when (excluded.last_at, excluded.last_arrival)
                                  > (d.last_at, d.last_arrival)
                             then excluded.last_arrival else d.last_arrival end,
         last_at = greatest(d.last_at, excluded.last_at);

  if cardinality(part_metrics) > 0 then
    insert into usage_parts as d (project_id, subscription_id, period_no, metric_id, combination,
                                  day, events, sum, max, latest, last_at, last_arrival, moment)
    select a.project_id, e.subscription_id, e.period_no, e.metric_id, e.combination,
           (e.at at time zone 'UTC')::date, count(*), sum(e.quantity), max(e.quantity),
           (array_agg(e.quantity order by e.at desc, e.arrival desc))[1], max(e.at),
           (array_agg(e.arrival order by e.at desc, e.arrival desc))[1],
           sum(e.quantity * 1000 * extract(epoch from (e.at at time zone 'UTC')::time))
           filter (where e.metric_id = any(weighted))
      from project_anchors a
     cross join unnest(part_subscriptions, part_periods, part_metrics, part_combinations,
                       part_instants, part_arrivals, part_quantities)
           as e (subscription_id, period_no, metric_id, combination, at, arrival, quantity)
     where a.project_id = project
     group by a.project_id, e.subscription_id, e.period_no, e.metric_id, e.combination,
              (e.at at time zone 'UTC')::date
     order by e.subscription_id, e.period_no, e.metric_id, e.combination,
              (e.at at time zone 'UTC')::date
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
  return repeated;
end $$;
