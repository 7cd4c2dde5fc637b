-- What the contract leaves open to strangers can be closed: a project's portal to visitors without a
-- signed link, a token to projects that it is not for, and the id that POST /v1/keys takes to those
-- who knew the one before.
alter table projects add column portal_access text not null default 'open';
alter table projects
  add constraint projects_portal_access_check check (portal_access in ('open', 'signed'));

-- Links are signed with this number: raising it revokes all that were given out before.
alter table customers add column portal_links_version integer not null default 0;

-- Null: all projects of the organization.
alter table tokens add column project_ids uuid[];
alter table tokens
  add constraint tokens_project_ids_check check (cardinality(project_ids) > 0);

-- Null: the organization's own id, as it was made. Whoever knows it may make tokens.
alter table organizations add column key_creation_id uuid;
alter table organizations
  add constraint organizations_key_creation_id_key unique (key_creation_id);
