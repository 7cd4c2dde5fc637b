-- Recording in one statement. What it remembers of subscriptions and metrics is held and checked by
-- a function: being volatile, it looks at the rows as they are once the locks are granted, where the
-- statement that calls it would see them as they were when it began to wait.
create function hold_usage(
  project uuid,
  locks integer[],
  subscription_ids uuid[],
  subscription_versions xid[],
  metric_ids uuid[],
  metric_versions xid[],
  seal timestamptz
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
     and (select sealed_until from usage_seals where project_id = project)
           is not distinct from seal;
end $$;
