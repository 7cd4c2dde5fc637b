// Databases as earlier versions left them: their schema, and the tenants that their rows belong to.

import { type Connection, Pool } from "../../src/store/db.ts";
import { checksum, listMigrations } from "../../src/store/migrate.ts";
import type { ProjectId } from "../../src/store/tenants.ts";
import { admin } from "./database.ts";

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

/** As the start of that version left it. Days are UTC, wherever the server is. */
export async function applyUpTo(connection: Connection, last: number): Promise<void> {
  await admin(
    connection,
    `do $$ begin
       execute format('alter database %I set timezone = %L', current_database(), 'Asia/Tokyo');
     end $$;
     create table schema_migrations (
       version integer primary key,
       name text not null,
       checksum text not null,
       applied_at timestamptz not null default now())`,
  );
  for (const migration of await listMigrations()) {
    const { version, name, text } = migration;
    if (version > last) continue;
    const sum = checksum(migration);
    const noted = `insert into schema_migrations values (${version}, '${name}', '${sum}')`;
    await admin(connection, `${text}; ${noted}`);
  }
}

export const MADE = `'2026-01-01T00:00:00Z'`;

export const TENANTS = `
  insert into organizations values ('${id(9)}', 'acme', 'Acme', ${MADE});
  insert into workspaces values ('${id(9)}', '${id(8)}', 'main', 'Main', ${MADE});
  insert into projects (id, organization_id, workspace_id, slug, name, mode, created_at)
  values ('${ours}', '${id(9)}', '${id(8)}', 'ours', 'Ours', 'live', ${MADE}),
         ('${theirs}', '${id(9)}', '${id(8)}', 'theirs', 'Theirs', 'live', ${MADE});`;
