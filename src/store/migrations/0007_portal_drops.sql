-- All views of a project are dropped by one row, that of the nil UUID: a view whose all_drops are not
-- the drops of that row was dropped with the others.
alter table portal_views
  add column all_drops bigint not null default 0;
