// Facts about the whole database: which secret key it belongs to, whether it is held after a
// restore, and the version of its schema.

import { createHmac } from "node:crypto";
import { refuse } from "../errors.ts";
import type { Db, Queryable, Tx } from "./db.ts";
import { sql } from "./sql.ts";

/** What the database keeps of its key: enough to tell another one. */
export function secretCheck(secret_key: Buffer): Buffer {
  return createHmac("sha256", secret_key).update("dues secret check").digest();
}

/** Which of several readings of a key the check was made with. */
export function keyOf(check: Buffer, secret_keys: readonly Buffer[]): Buffer | undefined {
  return secret_keys.find((each) => secretCheck(each).equals(check));
}

/**
 * The reading of the key that is the database's; an empty one takes the first. Undefined when it
 * was set up with another key: its secrets could not be read. Written by the first process alone:
 * each node of a cluster has a copy, and a write needs all of them to be there.
 */
export async function ownKey(
  db: Db,
  secret_keys: readonly [Buffer, ...Buffer[]],
  now: Date,
): Promise<Buffer | undefined> {
  const check = secretCheck(secret_keys[0]);
  const kept = (await readCheck(db)) ?? (await db.tx((tx) => keepCheck(tx, check, now)));
  return keyOf(kept, secret_keys);
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

/** One process at a time sets up an empty database; others wait and then find it set up. */
export async function lockSetup(tx: Tx): Promise<void> {
  await tx.many(sql`select 1 from installation for update`);
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
  if ((await heldSince(tx)) === null) return;
  throw refuse(
    "unavailable",
    "The service was restored from a backup and issues no invoice until its operator confirms " +
      "that (dues resume). Nothing was changed. Try again later.",
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
