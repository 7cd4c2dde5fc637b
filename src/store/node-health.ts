// Whether each node of a cluster answers, and what it says of itself. Each is asked by a session of
// its own, through the node that DATABASE_URL names: whoever runs the command need not reach the
// others, and a node that hangs holds up no answer but its own.

import pg from "pg";
import type { Node } from "./cluster-nodes.ts";
import type { Connection } from "./db.ts";

/** How long a node may take to let us in. One that is stopped or cut off does not. */
const CONNECT_MS = 2_000;
/** How long it may then take to add up its sizes: 80 ms were seen for 330 shards. */
const ANSWER_MS = 10_000;
/** How long a session may take in all, whatever the database makes of the limits above. */
const SESSION_MS = CONNECT_MS + ANSWER_MS + 1_000;
/** Each is a connection to the database, which has few to spare while dues serves from it. */
const AT_ONCE_MAX = 8;

export type Health =
  | { readonly is_reachable: true; readonly bytes: number; readonly wal_level: string }
  | { readonly is_reachable: false; readonly why: string };

/** Citus would ask every node for sizes; this is asked at one, of what is placed there. */
const OF_ITSELF = `
  select json_build_object(
           'wal_level', current_setting('wal_level'),
           'bytes', coalesce(sum(pg_total_relation_size(
                      to_regclass(shard_name(s.logicalrelid, s.shardid)))), 0))
    from pg_dist_shard s
    join pg_dist_placement p on p.shardid = s.shardid
    join pg_dist_local_group g on g.groupid = p.groupid`;

/** By the node's id. */
export async function askHealth(
  connection: Connection,
  nodes: readonly Node[],
): Promise<Map<number, Health>> {
  const waiting = [...nodes];
  const found = new Map<number, Health>();
  const askOn = async (): Promise<void> => {
    for (let node = waiting.shift(); node !== undefined; node = waiting.shift()) {
      found.set(node.id, await askNode(connection, node));
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE_MAX }, askOn));
  return found;
}

async function askNode(connection: Connection, node: Node): Promise<Health> {
  const client = new pg.Client({
    ...connection,
    application_name: "dues cluster",
    connectionTimeoutMillis: SESSION_MS,
    query_timeout: SESSION_MS,
  });
  // When it breaks, the statement that waits for it fails by itself.
  client.on("error", () => {});
  const warnings: string[] = [];
  client.on("notice", ({ message }) => warnings.push(message ?? ""));
  try {
    await client.connect();
    await client.query(`set citus.node_connection_timeout = ${CONNECT_MS}`);
    await client.query(`set statement_timeout = ${ANSWER_MS}`);
    return await askThrough(client, node, warnings);
  } catch (error) {
    return { is_reachable: false, why: error instanceof Error ? error.message : String(error) };
  } finally {
    await client.end();
  }
}

/** `warnings` is filled by the client: only there Citus says why it could not connect. */
async function askThrough(
  client: pg.Client,
  node: Node,
  warnings: readonly string[],
): Promise<Health> {
  const where = [node.host, node.port];
  const { rows: tried } = await client.query<{ connects: boolean }>(
    "select citus_check_connection_to_node($1, $2) as connects",
    where,
  );
  if (tried[0]?.connects !== true) return { is_reachable: false, why: reasonIn(warnings) };
  const { rows } = await client.query<{ success: boolean; result: string }>(
    "select success, result from master_run_on_worker(array[$1], array[$2::int], array[$3], false)",
    [...where, OF_ITSELF],
  );
  const [{ success, result } = { success: false, result: "no answer" }] = rows;
  if (!success) return { is_reachable: false, why: result };
  const { bytes, wal_level } = JSON.parse(result) as { bytes: number; wal_level: string };
  return { is_reachable: true, bytes, wal_level };
}

/** "connection to the remote node … failed with the following error: Connection refused\n\t…" */
export function reasonIn(warnings: readonly string[]): string {
  const [first = "no connection"] = warnings;
  const [line = ""] = first.replace(/^.*with the following error: /s, "").split("\n");
  return line.trim();
}
