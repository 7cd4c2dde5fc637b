-- Webhooks at a higher pace: taking a row from the queue touches no index.

-- While a row is taken its time stays as it was, and this says until when the taker's claim holds.
-- No index has it, so that taking a row rewrites the row alone.
alter table webhook_queue add column held_until timestamptz;
-- Until now the time of a row that is taken was moved to the end of its claim, 30 seconds later.
update webhook_queue
   set held_until = due_at, due_at = due_at - interval '30 seconds'
 where claim is not null;
alter table webhook_queue add check ((claim is null) = (held_until is null));
-- Endpoints of a project are few: each is asked for by itself, and one index less is kept.
drop index webhook_queue_due;

-- Half of each page is left for the versions that taking a row makes; the dead ones of a queue
-- that is always nearly empty are cleared soon.
alter table webhook_queue
  set (fillfactor = 50, autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 2000,
       autovacuum_vacuum_cost_delay = 0);
