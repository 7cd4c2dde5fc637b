-- Webhook messages as a feed that a reader can follow without missing one, and keys of the queue
-- that the planner cannot mistake.

alter table webhook_messages
  -- Ids of one transaction are not ids in the order of commits: see billing_events.
  add column xid xid8 not null default pg_current_xact_id();
create index webhook_messages_feed on webhook_messages (project_id, xid, id);
create index webhook_messages_since on webhook_messages (project_id, created_at);

-- A row is found by its message. With the endpoint first, a planner without fresh statistics takes
-- the index by endpoint and time for as good, and reads all that waits for the endpoint each time.
alter table webhook_queue
  drop constraint webhook_queue_pkey,
  add primary key (project_id, message_id, endpoint_id);
alter table webhook_attempts
  drop constraint webhook_attempts_number_key,
  add constraint webhook_attempts_number_key unique (project_id, message_id, endpoint_id, attempt);

-- An attempt is written from the queue row it was made for, whose own keys hold both; checking
-- them again was two fifths of the cost of recording one.
alter table webhook_attempts
  drop constraint webhook_attempts_project_id_endpoint_id_fkey,
  drop constraint webhook_attempts_project_id_message_id_fkey;
