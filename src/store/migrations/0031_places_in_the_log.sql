-- A few entries or messages are inserted by VALUES, for which a cluster locks the shard of their own
-- project alone. A statement of that form cannot read the head of the log, so it gives how far below
-- the head a row stands, which is no position, and the trigger makes the position of it. Whoever
-- gives positions, as an older version and a restore do, is not looked at.
create function place_in_log() returns trigger language plpgsql as $$
begin
  select h.last + new.position into strict new.position
    from log_heads h
   where h.project_id = new.project_id;
  return new;
end $$;
create trigger billing_events_placed before insert on billing_events
  for each row when (new.position <= 0) execute function place_in_log();
create trigger webhook_messages_placed before insert on webhook_messages
  for each row when (new.position <= 0) execute function place_in_log();
-- Due at once, unless it says when.
alter table webhook_queue alter column due_at set default statement_timestamp();
