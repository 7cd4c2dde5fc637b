// What upgrades are tried with while there is one schema file: steps as later versions would bring
// them, on tables that every version writes, and a tenant whose rows they find.

import type { ProjectId } from "../../src/ids.ts";
import { type Connection, Pool } from "../../src/store/db/db.ts";
import { listMigrations, type Migration } from "../../src/store/migration/migrate.ts";

export const id = (n: number) => `00000000-0000-7000-8000-${String(n).padStart(12, "0")}`;
export const [ours, theirs] = [id(1) as ProjectId, id(2) as ProjectId];

export function openPool(connection: Connection): Pool {
  return new Pool(connection, {
    max: 2,
    statement_timeout_ms: 20_000,
    lock_timeout_ms: 5_000,
    application_name: "dues test",
  });
}

/** Tables, columns and an index, rows made of others a step later, a function and a name anew. */
const LATER: readonly Migration[] = [
  {
    version: 9_001,
    name: "9001_badges.sql",
    text: `
      -- One for each project; semicolons; in comments end nothing.
      create table badges (
        project_id uuid primary key references projects,
        label text not null
      );
      alter table projects add column motto text not null default '';`,
  },
  {
    version: 9_002,
    name: "9002_stickers.sql",
    text: `
      create table stickers (
        project_id uuid not null,
        id uuid not null,
        primary key (project_id, id),
        foreign key (project_id) references badges (project_id)
      );
      create index if not exists customers_by_email on customers (project_id, email);
      insert into badges (project_id, label) select id, mode from projects;
      update projects set motto = mode;`,
  },
  {
    version: 9_003,
    name: "9003_refusing.sql",
    text: `
      create or replace function refuse_change() returns trigger language plpgsql as $$
      begin
        raise exception 'rows of % stay', tg_table_name using errcode = 'check_violation';
      end $$;
      alter table badges rename column label to words;`,
  },
];

export const LATER_NAMES: readonly string[] = LATER.map(({ name }) => name);

/** The migrations of a version that has three more than this one. */
export async function laterMigrations(): Promise<Migration[]> {
  return [...(await listMigrations()), ...LATER];
}

export const MADE = `'2026-01-01T00:00:00Z'`;

/** Two projects of one workspace. */
export const TENANTS = `
  insert into organizations (id, slug, name, created_at)
  values ('${id(9)}', 'acme', 'Acme', ${MADE});
  insert into workspaces (organization_id, id, slug, name, created_at)
  values ('${id(9)}', '${id(8)}', 'main', 'Main', ${MADE});
  insert into projects (id, organization_id, workspace_id, slug, name, mode, customer_prefix,
                        created_at)
  values ('${ours}', '${id(9)}', '${id(8)}', 'ours', 'Ours', 'live', '00000001', ${MADE}),
         ('${theirs}', '${id(9)}', '${id(8)}', 'theirs', 'Theirs', 'live', '00000002', ${MADE});
  insert into project_anchors (project_id) values ('${ours}'), ('${theirs}');`;
