// Facts about the whole database: which secret key it belongs to, whether it is held after a
// restore, and the version of its schema.

import { createHmac } from "node:crypto";
import { refuse } from "../../errors.ts";
import type { Db, Queryable, Tx } from "../db/db.ts";
import { sql } from "../db/sql.ts";

/** What the database keeps of its key: enough to tell another one. */
export function secretCheck(secret_key: Buffer): Buffer {
  return createHmac("sha256", secret_key).update("dues secret check").digest();
}

/** Whether the check was made with this key. */
export function isKeyOf(check: Buffer, secret_key: Buffer): boolean {
  return secretCheck(secret_key).equals(check);
}

/**
 * Whether the key is the database's; an empty one takes it. False when it was set up with another
 * key: its secrets could not be read. Written by the first process alone: each node of a cluster
 * has a copy, and a write needs all of them to be there.
 */
export async function takesKey(db: Db, secret_key: Buffer, now: Date): Promise<boolean> {
  const check = secretCheck(secret_key);
  const kept = (await readCheck(db)) ?? (await db.tx((tx) => keepCheck(tx, check, now)));
  return kept.equals(check);
}

async function readCheck(db: Queryable): Promise<Buffer | undefined> {
  const row = await db.maybeOne<{ secret_check: Buffer }>(sql`
    select secret_check
      from installation`);
  return row?.secret_check;
}

async function keepCheck(tx: Tx, check: Buffer, now: Date): Promise<Buffer> {
  await tx.run(sql`
    insert into installation (secret_check, created_at)
    values (${check}, ${now})
    on conflict do nothing`);
  return (await readCheck(tx)) ?? check;
}

/** Lets one process at a time set up an empty database: others wait, and find it set up. */
export async function lockSetup(tx: Tx): Promise<void> {
  await tx.many(sql`select 1 from installation for no key update`);
}

/** Since when the database waits for `dues resume`; null when it does not. */
export async function heldSince(db: Queryable): Promise<Date | null> {
  const row = await db.maybeOne<{ held_since: Date | null }>(sql`
    select held_since
      from installation`);
  return row?.held_since ?? null;
}

/**
 * Throws while the database is held: invoices that were issued after the backup are not in it, and
 * their numbers would be given out again.
 */
export async function refuseWhileHeld(tx: Tx): Promise<void> {
  refuseHeld(await heldSince(tx));
}

/** The same for who has read since when it is held. */
export function refuseHeld(since: Date | null): void {
  if (since === null) return;
  throw refuse(
    "unavailable",
    "The service was restored from a backup, or its database was moved, and it issues no invoice " +
      "until its operator confirms that (dues resume). Nothing was changed. Try again later.",
    { headers: { "retry-after": "60" } },
  );
}

/** The newest migration that this database has. */
export async function appliedVersion(db: Queryable): Promise<number> {
  const { version } = await db.one<{ version: number }>(sql`
    select max(version) as version
      from schema_migrations`);
  return version;
}
