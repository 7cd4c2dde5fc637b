-- What customers of customers see: the issuer's details on documents, and cached portal views.

alter table projects
  -- Null: the project's own name stands on documents.
  add column issuer_name text,
  add column issuer_address text not null default '',
  add column issuer_tax_id text not null default '',
  add column logo_color text not null default '#3347c4' check (logo_color ~ '^#[0-9a-f]{6}$');

create table portal_views (
  project_id uuid not null references projects,
  -- The nil UUID stands for all customers of the project.
  customer_id uuid not null,
  -- The answer as JSON text, and what the page shows besides. Null: dropped.
  body text,
  page jsonb,
  generated_at timestamptz,
  -- The first transaction that the view does not know: an older view never replaces a newer one.
  as_of xid8,
  -- The transaction that dropped it last: a view computed without that change is not kept.
  dropped_by xid8,
  primary key (project_id, customer_id),
  check ((body is null) = (page is null) and (body is null) = (generated_at is null)
         and (body is null) = (as_of is null))
);
