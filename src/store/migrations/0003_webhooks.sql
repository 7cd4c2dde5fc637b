-- Webhook endpoints, the messages they are told, the queue of what is still to be sent, the log of
-- every attempt, and dunning.

create table webhook_endpoints (
  project_id uuid not null references projects,
  id uuid not null,
  url text not null,
  events text[] not null check (cardinality(events) > 0),
  -- Sealed with the secret key, bound to this row; the hint is what lists may show.
  secret bytea not null,
  secret_hint text not null,
  -- Signs beside the new one for a while after a rotation.
  previous_secret bytea,
  previous_secret_until timestamptz,
  enabled boolean not null default true,
  disabled_reason text,
  created_at timestamptz not null,
  updated_at timestamptz not null,
  deleted_at timestamptz,
  primary key (project_id, id),
  check ((previous_secret is null) = (previous_secret_until is null))
);

-- What is told, rendered once: every attempt sends these bytes.
create table webhook_messages (
  project_id uuid not null references projects,
  id uuid not null,
  event text not null,
  body text not null,
  created_at timestamptz not null,
  primary key (project_id, id)
);

-- One row a message and endpoint, until it is delivered or given up. The row is the queue.
create table webhook_queue (
  project_id uuid not null,
  endpoint_id uuid not null,
  message_id uuid not null,
  -- Attempts made so far, and how many of them count against the retries.
  attempt integer not null default 0,
  tries integer not null default 0,
  -- When it may be taken; while it is taken, when the taker's claim runs out.
  due_at timestamptz not null,
  -- Who has taken it: a result under another claim is not recorded.
  claim uuid,
  primary key (project_id, endpoint_id, message_id),
  foreign key (project_id, endpoint_id) references webhook_endpoints (project_id, id),
  foreign key (project_id, message_id) references webhook_messages (project_id, id)
) with (fillfactor = 70);
create index webhook_queue_due on webhook_queue (project_id, due_at);
create index webhook_queue_by_endpoint on webhook_queue (project_id, endpoint_id, due_at);

create table webhook_attempts (
  project_id uuid not null,
  id uuid not null,
  endpoint_id uuid not null,
  message_id uuid not null,
  attempt integer not null check (attempt > 0),
  status text not null check (status in ('delivered', 'failed')),
  http_status integer,
  error text,
  duration_ms integer not null,
  response_excerpt text,
  next_retry_at timestamptz,
  created_at timestamptz not null,
  primary key (project_id, id),
  constraint webhook_attempts_number_key unique (project_id, endpoint_id, message_id, attempt),
  foreign key (project_id, endpoint_id) references webhook_endpoints (project_id, id),
  foreign key (project_id, message_id) references webhook_messages (project_id, id),
  check (status = 'failed' or (error is null and next_retry_at is null))
);
create index webhook_attempts_by_endpoint on webhook_attempts (project_id, endpoint_id, id);

create table dunning_policies (
  project_id uuid primary key references projects,
  enabled boolean not null,
  steps jsonb not null,
  updated_at timestamptz not null
);

create table dunning_steps (
  project_id uuid not null,
  invoice_id uuid not null,
  webhook_event text not null,
  sent_on date not null,
  primary key (project_id, invoice_id, webhook_event),
  -- At most one step a day, so that suspension and termination are never asked for together.
  constraint dunning_steps_day_key unique (project_id, invoice_id, sent_on),
  foreign key (project_id, invoice_id) references invoices (project_id, id)
);
