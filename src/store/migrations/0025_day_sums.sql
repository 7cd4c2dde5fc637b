-- The same recording, given what the events come to by day. Adding them up row by row took 9 of 33
-- ms for 1,000 events; the service has them at hand and adds them up in 1. Where some are repeats,
-- or bring distinct values, the sums are made here, of the events that were stored. What is
-- expected is compared in one statement instead of three: a cluster takes 0.3 ms to plan one. Rows
-- name their subscription and metric by the place of its id, from 1 on: 1.2 ms for 1,000. The older
-- forms stay for processes of the version before, which may serve beside this one.
create function record_usage(
  project uuid,
  checked boolean,
  locks integer[],
  -- In the order of the ids, as the metrics.
  subscription_ids uuid[],
  subscription_revisions bigint[],
  metric_ids uuid[],
  metric_revisions bigint[],
  cutoff timestamptz,
  events json,
  -- Null where events have distinct values to count.
  sums json,
  event_count integer
) returns uuid[] language plpgsql as $$
declare
  -- So many rows are inserted one by one: a cluster plans such a statement once.
  few constant integer := 8;
  has_unique_values constant boolean := sums is null;
  is_unchanged boolean;
  event record;
  daily record;
  found_key uuid;
  stored uuid[] := '{}';
  repeated uuid[] := '{}';
  -- Of the distinct values that were new.
  new_subscriptions uuid[];
  new_periods integer[];
  new_metrics uuid[];
  new_days date[];
begin
  if checked then
    perform pg_advisory_xact_lock_shared(hashtext(project::text), l) from unnest(locks) as l;
    select (select c.closing_until from usage_cutoffs c where c.project_id = project)
             is not distinct from cutoff
           and (select coalesce(array_agg(s.revision order by s.id), '{}')
                  from subscriptions s
                 where s.project_id = project and s.id = any(subscription_ids))
             is not distinct from subscription_revisions
           and (select coalesce(array_agg(m.revision order by m.id), '{}')
                  from metrics m
                 where m.project_id = project and m.id = any(metric_ids))
             is not distinct from metric_revisions
      into is_unchanged
      from project_anchors a
     where a.project_id = project;
    if is_unchanged is not true then return null; end if;
  end if;

  if event_count <= few then
    for event in
      select *
        from json_to_recordset(events)
             as e (key uuid, transaction_id text, subscription integer, metric integer,
                   period_no integer, at timestamptz, received_at timestamptz, arrival bigint,
                   quantity numeric, unique_value uuid, value text, properties jsonb,
                   unbillable text, combination text)
       order by key
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
        from project_anchors a
       cross join json_to_recordset(events)
             as e (key uuid, transaction_id text, subscription integer, metric integer,
                   period_no integer, at timestamptz, received_at timestamptz, arrival bigint,
                   quantity numeric, unique_value uuid, value text, properties jsonb,
                   unbillable text, combination text)
       where a.project_id = project
       order by e.key
      on conflict (project_id, key) do nothing
      returning key
    loop
      stored := stored || found_key;
    end loop;
  end if;

  if has_unique_values and cardinality(stored) > 0 then
    for daily in
      insert into usage_uniques (project_id, subscription_id, period_no, metric_id, unique_value,
                                 day)
      select distinct on (a.project_id, e.subscription, e.period_no, e.metric, e.unique_value)
             a.project_id, subscription_ids[e.subscription], e.period_no, metric_ids[e.metric],
             e.unique_value, (e.at at time zone 'UTC')::date
        from project_anchors a
       cross join json_to_recordset(events)
             as e (key uuid, subscription integer, metric integer, period_no integer,
                   at timestamptz, arrival bigint, unique_value uuid, unbillable text)
        join unnest(stored) as k (key) on k.key = e.key
       where a.project_id = project and e.unbillable is null and e.unique_value is not null
       order by a.project_id, e.subscription, e.period_no, e.metric, e.unique_value, e.arrival
      on conflict do nothing
      returning subscription_id, period_no, metric_id, day
    loop
      new_subscriptions := new_subscriptions || daily.subscription_id;
      new_periods := new_periods || daily.period_no;
      new_metrics := new_metrics || daily.metric_id;
      new_days := new_days || daily.day;
    end loop;
  end if;
  if has_unique_values or cardinality(stored) < event_count then
    with e as materialized (
      select f.*, (f.at at time zone 'UTC')::date as day, k.key is not null as is_stored
        from json_to_recordset(events)
             as f (key uuid, subscription integer, metric integer, period_no integer,
                   at timestamptz, arrival bigint, quantity numeric, unbillable text,
                   combination text)
        left join unnest(stored) as k (key) on k.key = f.key)
    select (select coalesce(array_agg(e.key), '{}') from e where not e.is_stored),
           (select json_agg(s)
              from (select e.subscription, e.period_no, e.metric, e.combination, e.day,
                           count(*) as events, sum(e.quantity), max(e.quantity),
                           (array_agg(e.quantity order by e.at desc, e.arrival desc))[1] as latest,
                           min(n.uniques) as uniques, max(e.at) as last_at,
                           (array_agg(e.arrival order by e.at desc, e.arrival desc))[1]
                             as last_arrival,
                           sum(e.quantity * 1000
                               * extract(epoch from (e.at at time zone 'UTC')::time))
                             filter (where m.aggregation_type = 'weighted_sum') as moment
                      from e
                      join metrics m on m.project_id = project and m.id = metric_ids[e.metric]
                      left join (select u.subscription_id, u.period_no, u.metric_id, u.day,
                                        count(*) as uniques
                                   from unnest(new_subscriptions, new_periods, new_metrics,
                                               new_days)
                                        as u (subscription_id, period_no, metric_id, day)
                                  group by u.subscription_id, u.period_no, u.metric_id, u.day) n
                        on n.subscription_id = subscription_ids[e.subscription]
                       and n.period_no = e.period_no and n.metric_id = metric_ids[e.metric]
                       and n.day = e.day
                     where e.is_stored and e.unbillable is null
                     group by e.subscription, e.period_no, e.metric, e.combination, e.day) s)
      into repeated, sums;
    if sums is null then return repeated; end if;
  end if;

  if event_count <= few then
    for daily in
      select *
        from json_to_recordset(sums)
             as s (subscription integer, period_no integer, metric integer, combination text,
                   day date, events bigint, sum numeric, max numeric, latest numeric,
                   uniques bigint, last_at timestamptz, last_arrival bigint, moment numeric)
       order by subscription, period_no, metric, combination, day
    loop
      if daily.combination is null then
        insert into usage_days as d (project_id, subscription_id, period_no, metric_id, day, events,
                                     sum, max, latest, uniques, last_at, last_arrival, moment)
        values (project, subscription_ids[daily.subscription], daily.period_no,
                metric_ids[daily.metric], daily.day, daily.events, daily.sum, daily.max,
                daily.latest, coalesce(daily.uniques, 0), daily.last_at, daily.last_arrival,
                daily.moment)
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
                daily.max, daily.latest, daily.last_at, daily.last_arrival, daily.moment)
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
    return repeated;
  end if;
  insert into usage_days as d (project_id, subscription_id, period_no, metric_id, day, events, sum,
                               max, latest, uniques, last_at, last_arrival, moment)
  select a.project_id, subscription_ids[s.subscription], s.period_no, metric_ids[s.metric], s.day,
         s.events, s.sum, s.max, s.latest, coalesce(s.uniques, 0), s.last_at, s.last_arrival, s.moment
    from project_anchors a
   cross join json_to_recordset(sums)
         as s (subscription integer, period_no integer, metric integer, combination text, day date,
               events bigint, sum numeric, max numeric, latest numeric, uniques bigint,
               last_at timestamptz, last_arrival bigint, moment numeric)
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
  if sums::text like '%"combination":"%' then
    insert into usage_parts as d (project_id, subscription_id, period_no, metric_id, combination,
                                  day, events, sum, max, latest, last_at, last_arrival, moment)
    select a.project_id, subscription_ids[s.subscription], s.period_no, metric_ids[s.metric],
           s.combination, s.day, s.events, s.sum, s.max, s.latest, s.last_at, s.last_arrival, s.moment
      from project_anchors a
     cross join json_to_recordset(sums)
           as s (subscription integer, period_no integer, metric integer, combination text,
                 day date, events bigint, sum numeric, max numeric, latest numeric,
                 last_at timestamptz, last_arrival bigint, moment numeric)
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
  return repeated;
end $$;
