-- A cluster plans an INSERT from a SELECT in every call, and once more on the shard. The SQL
-- functions for sent events and days became part of such statements, and a worker spent half of its
-- time for 32 events on planning: 5.7 ms a call. As PL/pgSQL they stay apart, and without joins
-- there is less to plan: 3.8 ms. One PostgreSQL plans once: there it is 1.67 ms instead of 1.62.

-- The planner expects one row in 200 to meet `unbillable is null`. Had it 1,000 rows to expect, as
-- by default, it would join the five with the stored ones in a nested loop: 66 instead of 25 ms for
-- 1,000 events of which half are repeats.
--
-- Properties are one JSON array: 500 events take 9.1 ms, and 10.1 with an array of JSON texts, as
-- the version before sends them. The next migration of this function drops that form.
create or replace function sent_events(
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
  -- Of columns with one value for all.
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
           jsonb_array_elements(case when given_properties like '{%'
                                     then to_jsonb(given_properties::jsonb[])
                                     else given_properties::jsonb end))
         with ordinality
         as e (key, transaction_id, subscription, metric, period_no, at, received_at, arrival,
               quantity, unique_value, value, unbillable, combination, properties, place);
end $$;

create or replace function sent_days(
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

create or replace function record_usage(
  project uuid,
  checked boolean,
  locks integer[],
  -- In the order of the ids, as the metrics.
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
  -- What they come to by day, column by column, as `sent_days` takes them. Null where events have
  -- distinct values to count.
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
  -- Of the distinct values that were new.
  new_subscriptions integer[];
  new_periods integer[];
  new_metrics integer[];
  new_days date[];
  day_uniques text := '{}';
begin
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

  if cardinality(stored) < event_count then
    repeated := array(select unnest(keys::uuid[]) except select unnest(stored));
    select coalesce(json_agg(r), '[]')
      into stored_before
      from (select u.key, u.subscription_id, u.metric_id, u.at, u.value, u.properties
              from usage_events u
             where u.project_id = project and u.key = any(repeated)) r;
  end if;
  -- From here on only the columns that are needed are read again.
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
       order by a.project_id, e.subscription, e.period_no, e.metric, e.unique_value, e.arrival
      on conflict do nothing
      returning subscription_id, period_no, metric_id, day
    loop
      new_subscriptions := new_subscriptions
        || array_position(subscription_ids, daily.subscription_id);
      new_periods := new_periods || daily.period_no;
      new_metrics := new_metrics || array_position(metric_ids, daily.metric_id);
      new_days := new_days || daily.day;
    end loop;
  end if;
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

-- The version before sends columns as well. Nobody sends what events come to by day as JSON.
drop function record_usage(uuid, boolean, integer[], uuid[], bigint[], uuid[], bigint[],
                           timestamptz, text, text, text, text, text, text, text, text, text, text,
                           text, text, text, text, integer, json);
