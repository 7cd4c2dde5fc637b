// Where the database is at home: in which PostgreSQL, and which of its databases it is. A dump that
// is brought into another one may be older than what customers have seen, so it is held.

import type pg from "pg";
import { placeOf } from "../db/cluster-nodes.ts";
import { connect } from "../db/connect.ts";
import type { Connection } from "../db/db.ts";
import { codeOf } from "../db/failures.ts";

const HERE = `
  select c.system_identifier || '/' || d.oid as here
    from pg_control_system() c, pg_database d
   where d.datname = current_database()`;

const NOT_ALLOWED = "42501";

/**
 * Which database of which PostgreSQL this is; undefined where the server does not tell. On a
 * cluster it is the coordinator's: a worker is not asked.
 */
export async function readHere(client: pg.Client): Promise<string | undefined> {
  try {
    const place = await placeOf(client);
    if (place.kind === "worker") return undefined;
    return (await client.query<{ here: string }>(HERE)).rows[0]?.here;
  } catch (error) {
    if (codeOf(error) !== NOT_ALLOWED) throw error;
    return undefined;
  }
}

/** Notes where the database is at home, or holds it when it is somewhere else by now. */
export async function holdIfMoved(connection: Connection, now: Date): Promise<void> {
  const client = await connect(connection, "dues serve");
  try {
    const here = await readHere(client);
    const { rows } = await client.query<{ home: string | null; held_since: Date | null }>(
      "select home, held_since from installation",
    );
    const { home, held_since = null } = rows[0] ?? {};
    // Nothing is written where all is as it was: on a cluster a write needs every node.
    if (here === undefined || home === undefined || home === here) return;
    if (home === null) await keepHome(client, here);
    else if (held_since === null) await holdAtOnce(client, here, now);
  } finally {
    await client.end();
  }
}

/** Notes the home, unless another process has done so meanwhile. */
async function keepHome(client: pg.Client, here: string): Promise<void> {
  await client.query("update installation set home = $1 where home is null", [here]);
}

/** Holds the database, unless another process has, after which somebody may have ended that. */
async function holdAtOnce(client: pg.Client, here: string, now: Date): Promise<void> {
  await client.query("begin");
  const { rows } = await client.query(
    "select 1 from installation where held_since is null and home <> $1 for no key update",
    [here],
  );
  if (rows.length > 0) await hold(client, now);
  await client.query("commit");
}

/** More entries than a project can have made between a backup and its restore. */
const POSITIONS_LEFT_OUT = 1_000_000_000;

/**
 * The log goes on behind every position that was given out since the backup: a reader who has seen
 * entries that are lost would else miss as many of the new ones.
 */
export async function hold(client: pg.ClientBase, since: Date): Promise<void> {
  await client.query("update installation set held_since = $1", [since]);
  await client.query("update log_heads set last = last + $1", [POSITIONS_LEFT_OUT]);
}
