-- Webhook messages as a feed that a reader can follow without missing one.

alter table webhook_messages
  -- Ids of one transaction are not ids in the order of commits: see billing_events.
  add column xid xid8 not null default pg_current_xact_id();
create index webhook_messages_feed on webhook_messages (project_id, xid, id);
create index webhook_messages_since on webhook_messages (project_id, created_at);
