// Whether each node of a cluster answers, and what it says of itself. Each is asked by a session of
// its own, through the node that DATABASE_URL names: whoever runs the command need not reach the
// others, and a node that hangs holds up no answer but its own.

import pg from "pg";
import type { Node } from "../db/cluster-nodes.ts";
import { type Connection, DATABASE_NOW } from "../db/db.ts";

/** How long a node may take to let us in. One that is stopped or cut off never does. */
const CONNECT_MS = 2_000;
/** How long it may then take to add up its sizes: 80 ms were seen for 330 shards. */
const ANSWER_MS = 10_000;
/** How long a session may take in all, whatever the database makes of the limits above. */
const SESSION_MS = CONNECT_MS + ANSWER_MS + 1_000;
/** Nodes asked at once. Each takes a connection, of which few are left while dues serves. */
const AT_ONCE_MAX = 8;

/** Halves of commits over several nodes that wait for the other half. */
export type Prepared = { readonly count: number; readonly oldest_s: number };

type Said = { readonly bytes: number; readonly wal_level: string; readonly prepared: Prepared };

export type Health =
  | (Said & {
      readonly is_reachable: true;
      /** Why it takes no writes; null when it does. */
      readonly write_fault: string | null;
    })
  | { readonly is_reachable: false; readonly why: string };

/** Asks a node for the sizes of its own shards: Citus' function would ask every node. */
const OF_ITSELF = `
  select json_build_object(
           'wal_level', current_setting('wal_level'),
           'prepared', (select json_build_object(
                                 'count', count(*),
                                 'oldest_s', coalesce(floor(extract(epoch from
                                   ${DATABASE_NOW.text} - min(prepared))), 0)::integer)
                          from pg_prepared_xacts
                         where database = current_database()),
           'bytes', coalesce(sum(pg_total_relation_size(
                      to_regclass(shard_name(s.logicalrelid, s.shardid)))), 0))
    from pg_dist_shard s
    join pg_dist_placement p on p.shardid = s.shardid
    join pg_dist_local_group g on g.groupid = p.groupid`;

/**
 * Fails as a write does and leaves nothing: it sorts more than may be kept in memory, so about a
 * megabyte goes to the disk.
 */
const TRY_TO_WRITE = `
  do $$ begin
    if current_setting('transaction_read_only')::boolean then
      raise exception 'it is read-only';
    end if;
    set local work_mem = '64kB';
    perform count(*)
       from (select md5(n::text) as word
               from generate_series(1, 20000) as n
              order by 1) as sorted;
  end $$`;

/** The health of each node, by its id. */
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
  const { success, result } = await runOn(client, node, OF_ITSELF);
  if (!success) return { is_reachable: false, why: result };
  const written = await runOn(client, node, TRY_TO_WRITE);
  const write_fault = written.success ? null : written.result;
  return { is_reachable: true, ...(JSON.parse(result) as Said), write_fault };
}

type Ran = { readonly success: boolean; readonly result: string };

async function runOn(client: pg.Client, { host, port }: Node, statement: string): Promise<Ran> {
  const { rows } = await client.query<Ran>(
    "select success, result from master_run_on_worker(array[$1], array[$2::int], array[$3], false)",
    [host, port, statement],
  );
  return rows[0] ?? { success: false, result: "no answer" };
}

/** The reason at the end of "connection to … failed with the following error: …\n\t…". */
export function reasonIn(warnings: readonly string[]): string {
  const [first = "no connection"] = warnings;
  const [line = ""] = first.replace(/^.*with the following error: /s, "").split("\n");
  return line.trim();
}
