-- The recording without the count, for processes of the version before, which may serve beside this
-- one: it calls the one that is told the count, so that there is one way to record.
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
begin
  return record_usage(project, checked, locks, subscription_ids, subscription_revisions, metric_ids,
                      metric_revisions, cutoff, events, json_array_length(events),
                      has_unique_values);
end $$;
