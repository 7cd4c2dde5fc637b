// Facts about the whole database: which secret key it belongs to, and the version of its schema.

import { createHmac } from "node:crypto";
import type { Queryable, Tx } from "./db.ts";
import { sql } from "./sql.ts";

/** False when the database was set up with another key: its secrets could not be read. */
export async function belongsTo(tx: Tx, secret_key: Buffer, now: Date): Promise<boolean> {
  const check = createHmac("sha256", secret_key).update("dues secret check").digest();
  await tx.run(sql`
    insert into installation (secret_check, created_at)
    values (${check}, ${now})
    on conflict do nothing`);
  const { secret_check } = await tx.one<{ secret_check: Buffer }>(sql`
    select secret_check
      from installation`);
  return secret_check.equals(check);
}

/** One process at a time sets up an empty database; others wait and then find it set up. */
export async function lockSetup(tx: Tx): Promise<void> {
  await tx.many(sql`select 1 from installation for update`);
}

/** The newest migration that this database has. */
export async function appliedVersion(db: Queryable): Promise<number> {
  const { version } = await db.one<{ version: number }>(sql`
    select max(version) as version
      from schema_migrations`);
  return version;
}
