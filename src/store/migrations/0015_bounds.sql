-- Bounds of amounts, and keys of events that no other event can have.

-- A fee and an invoice are over 10^15 minor units at most, so that sums of a few stay exact in JSON.
-- Not checked for what is there: a larger one may have been issued.
alter table fees add constraint fees_amount_bound
  check (amount_cents between -1000000000000000 and 1000000000000000) not valid;
alter table invoices add constraint invoices_amount_bound
  check (subtotal_cents between -1000000000000000 and 1000000000000000) not valid;

-- The key of an event whose transaction_id is no UUID is a digest, which could be sent as a UUID of
-- its own. Digests get version 8 and its variant, and events that were sent with a UUID of version 8
-- get a digest.
update usage_events
   set transaction_id = key::text,
       key = encode(substr(sha256(key::text::bytea), 1, 16), 'hex')::uuid
 where transaction_id is null and substr(key::text, 15, 1) = '8';
update usage_events
   set key = overlay(
         overlay(key::text placing '8' from 15 for 1)
         placing translate(substr(key::text, 20, 1), '0123456789abcdef', '89ab89ab89ab89ab')
         from 20 for 1)::uuid
 where transaction_id is not null;
