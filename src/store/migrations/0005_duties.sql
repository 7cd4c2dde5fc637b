-- Jobs that calls have started tell since when, by the clock of the database, for a sandbox's own may
-- stand still; and when a worker did the last piece, so that those of a project take turns.
alter table webhook_jobs
  add column queued_at timestamptz not null default statement_timestamp(),
  add column worked_at timestamptz;

-- Of the job that plans overdue invoices anew: when the policy was put, and how many are planned.
alter table dunning_policies
  add column replan_queued_at timestamptz not null default statement_timestamp(),
  add column replan_done bigint not null default 0;

-- What waits is asked for again and again, over all projects.
create index if not exists dunning_policies_replan on dunning_policies (project_id)
  where replan_after is not null;
create index if not exists tokens_expiring on tokens (expires_at) where expires_at is not null;
