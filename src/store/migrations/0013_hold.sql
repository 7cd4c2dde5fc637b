-- A database that was restored from a backup is held: its workers do nothing and no invoice number
-- is given out until the operator has looked at it and says so (dues resume). Null when it is not.
alter table installation add column held_since timestamptz;
