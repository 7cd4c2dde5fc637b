// `dues cluster status`: the nodes, what is on each, and what is wrong. Reads only what the node
// that DATABASE_URL names has itself, and asks each node apart, so that it answers while some are
// away; that may be the coordinator.

import pg from "pg";
import { listNodes, type Node, placeOf, STRATEGY } from "../db/cluster-nodes.ts";
import { reasonOf } from "../db/connect.ts";
import type { Connection } from "../db/db.ts";
import { listLocalFunctions, listLocalTables } from "../migration/distribution.ts";
import { askHealth, type Health, type Prepared } from "./node-health.ts";

/** How long the database may take to let us in, and to answer a statement. */
const CONNECT_MS = 5_000;
const STATEMENT_MS = 30_000;
/** A commit over several nodes that takes this long lost one of them: it takes a moment else. */
const PREPARED_S = 60;
/** How many projects are named whose node is away. */
export const NAMES_MAX = 20;

export type NodeStatus = {
  readonly address: string;
  readonly role: Node["role"];
  readonly is_active: boolean;
  /** Whether it has shards: not a coordinator that only hands on, nor a node to be emptied. */
  readonly takes_shards: boolean;
  readonly is_reachable: boolean;
  /** Why it is not reachable; null when it is. */
  readonly why: string | null;
  /** How many parts of the projects it has: each part is one shard of every table. */
  readonly shards: number;
  readonly projects: number;
  // The rest is null where the node could not be asked.
  readonly bytes: number | null;
  readonly wal_level: string | null;
  /** Why it takes no writes; null when it does. */
  readonly write_fault: string | null;
  readonly prepared: Prepared | null;
};

export type Problem = {
  readonly code:
    | "node_away"
    | "node_disabled"
    | "not_distributed"
    | "no_moves"
    | "no_worker"
    | "no_writes"
    | "prepared";
  /** Sentences: what is wrong, what it means and what to do. */
  readonly says: string;
};

export type Cluster = {
  readonly kind: "cluster";
  readonly nodes: readonly NodeStatus[];
  /** Whether `dues cluster distribute` was run. */
  readonly is_distributed: boolean;
  readonly local_tables: readonly string[];
  readonly local_functions: readonly string[];
  /** Projects on nodes that are away: how many, and the first by name. */
  readonly projects_away: { readonly count: number; readonly names: readonly string[] };
  readonly can_move_shards: boolean;
  /**
   * Parts that `dues cluster rebalance` would move now. Null where that is not known: while shards
   * cannot move, and at a worker, which has no plan.
   */
  readonly planned_moves: number | null;
  readonly problems: readonly Problem[];
};

const HARMLESS_TO_MOVES: readonly Problem["code"][] = ["node_disabled", "prepared"];

export type ClusterStatus =
  | Cluster
  | { readonly kind: "plain" }
  /** The database of DATABASE_URL did not let us in. */
  | { readonly kind: "away"; readonly why: string };

export async function readStatus(connection: Connection): Promise<ClusterStatus> {
  const client = new pg.Client({
    ...connection,
    application_name: "dues cluster",
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: STATEMENT_MS,
  });
  // When it breaks, the statement that waits for it fails by itself.
  client.on("error", () => {});
  try {
    await client.connect();
  } catch (error) {
    return { kind: "away", why: reasonOf(error) };
  }
  try {
    if ((await placeOf(client)).kind === "plain") return { kind: "plain" };
    return await readCluster(client, connection);
  } finally {
    await client.end();
  }
}

async function readCluster(client: pg.Client, connection: Connection): Promise<Cluster> {
  const nodes = await listNodes(client);
  const health = await askHealth(connection, nodes);
  const is_distributed = await isDistributed(client);
  const loads = is_distributed ? await readLoads(client) : new Map<number, Load>();
  const found = nodes.map((node) => statusOf(node, health.get(node.id), loads.get(node.group_id)));
  const away = nodes.filter((_, i) => found[i]?.is_reachable === false);
  const local = {
    local_tables: (await listLocalTables(client)).map(({ name }) => name),
    local_functions: (await listLocalFunctions(client)).map(({ signature }) => signature),
  };
  const names = is_distributed ? await nameProjects(client, away) : [];
  const count = away.reduce((sum, { group_id }) => sum + (loads.get(group_id)?.projects ?? 0), 0);
  const facts = { nodes: found, is_distributed, ...local, projects_away: { count, names } };
  const problems = problemsOf(facts);
  const can_move_shards = problems.every(({ code }) => HARMLESS_TO_MOVES.includes(code));
  const planned_moves = can_move_shards ? await countMoves(client) : null;
  return { kind: "cluster", ...facts, can_move_shards, planned_moves, problems };
}

async function isDistributed(client: pg.Client): Promise<boolean> {
  const { rows } = await client.query(
    "select 1 from pg_dist_partition where logicalrelid = to_regclass('customers')",
  );
  return rows.length > 0;
}

/** How many moves are planned; null where Citus, which asks every node for sizes, cannot say. */
async function countMoves(client: pg.Client): Promise<number | null> {
  if ((await placeOf(client)).kind === "worker") return null;
  try {
    const { rows } = await client.query<{ count: string }>(
      `select count(*)
         from get_rebalance_table_shards_plan(rebalance_strategy => $1)
        where table_name = 'customers'::regclass`,
      [STRATEGY],
    );
    return Number(rows[0]?.count);
  } catch {
    return null;
  }
}

type Load = { readonly shards: number; readonly projects: number };

/**
 * What each node carries, by its group. Read from catalogs and reference tables alone, of which
 * every node has its own copy.
 */
async function readLoads(client: pg.Client): Promise<Map<number, Load>> {
  const { rows } = await client.query<{ group_id: number; shards: string; projects: string }>(`
    select p.groupid as group_id, count(*) as shards, coalesce(sum(c.projects), 0) as projects
      from pg_dist_shard s
      join pg_dist_placement p on p.shardid = s.shardid
      left join (select get_shard_id_for_distribution_column('customers', id) as shard_id,
                        count(*) as projects
                   from projects
                  group by 1) c on c.shard_id = s.shardid
     where s.logicalrelid = 'customers'::regclass
     group by p.groupid`);
  return new Map(
    rows.map(({ group_id, shards, projects }) => [
      group_id,
      { shards: Number(shards), projects: Number(projects) },
    ]),
  );
}

/** The first projects of these nodes by name, as `workspace/project`. */
async function nameProjects(client: pg.Client, nodes: readonly Node[]): Promise<string[]> {
  if (nodes.length === 0) return [];
  const { rows } = await client.query<{ name: string }>(
    `select w.slug || '/' || p.slug as name
       from projects p
       join workspaces w on w.id = p.workspace_id
       join pg_dist_placement s
         on s.shardid = get_shard_id_for_distribution_column('customers', p.id)
      where s.groupid = any($1::int[])
      order by w.slug, p.slug, p.id
      limit $2`,
    [nodes.map(({ group_id }) => group_id), NAMES_MAX],
  );
  return rows.map(({ name }) => name);
}

function statusOf(node: Node, health: Health | undefined, load: Load | undefined): NodeStatus {
  const { address, role, is_active, takes_shards } = node;
  const known = health?.is_reachable === true ? health : undefined;
  return {
    address,
    role,
    is_active,
    takes_shards,
    is_reachable: known !== undefined,
    why: health?.is_reachable === false ? health.why : null,
    shards: load?.shards ?? 0,
    projects: load?.projects ?? 0,
    bytes: known?.bytes ?? null,
    wal_level: known?.wal_level ?? null,
    write_fault: known?.write_fault ?? null,
    prepared: known?.prepared ?? null,
  };
}

type Facts = Omit<Cluster, "kind" | "can_move_shards" | "planned_moves" | "problems">;

export function problemsOf(facts: Facts): Problem[] {
  const { nodes, is_distributed, local_tables, local_functions } = facts;
  const found: Problem[] = [];
  const add = (code: Problem["code"], says: string) => found.push({ code, says });
  // Nothing is sent to a node that is disabled: whether it answers makes no difference.
  for (const node of nodes.filter(({ is_active, is_reachable }) => is_active && !is_reachable)) {
    add("node_away", awayText(node));
  }
  for (const { address } of nodes.filter(({ is_active }) => !is_active)) {
    const acts = "select citus_activate_node('host', 5432), or citus_remove_node to forget it";
    add("node_disabled", `Node ${address} is disabled. To use it again, run here: ${acts}.`);
  }
  for (const { address, write_fault } of nodes) {
    if (write_fault !== null) add("no_writes", noWritesText(address, write_fault));
  }
  for (const { address, prepared } of nodes) {
    if (prepared !== null && prepared.oldest_s >= PREPARED_S) {
      add("prepared", preparedText(address, prepared));
    }
  }
  if (!nodes.some(({ takes_shards }) => takes_shards)) {
    const act = "select citus_add_node('host', 5432)";
    add("no_worker", `The cluster has no worker. Run here for each: ${act}`);
  }
  if (!is_distributed) {
    add("not_distributed", "Nothing is distributed yet. Run dues cluster distribute.");
  } else if (local_tables.length + local_functions.length > 0) {
    const names = [...local_tables, ...local_functions].join(", ");
    add("not_distributed", `Not distributed: ${names}. Run dues cluster distribute.`);
  }
  const low = lowWalLevels(nodes);
  if (low !== undefined) add("no_moves", low);
  return found;
}

function awayText({ address, why, projects }: NodeStatus): string {
  const effect = "No project or token can be made, and no shard moves, until it is back.";
  const calls = projects === 0 ? "" : "Calls for its projects are answered 503. ";
  return `Node ${address} does not answer: ${why}. ${calls}${effect}`;
}

function noWritesText(address: string, why: string): string {
  return (
    `Node ${address} takes no writes: ${why}. Calls that change its projects are answered 503, ` +
    "and no project or token can be made. Make room on its disk, or let it take writes again."
  );
}

function preparedText(address: string, { count, oldest_s }: Prepared): string {
  const what = count === 1 ? "1 prepared transaction" : `${count} prepared transactions`;
  return (
    `Node ${address} has ${what}, for up to ${oldest_s} s: nobody can change what they lock. ` +
    "Citus ends them each citus.recover_2pc_interval, once all nodes are back; run at the " +
    "coordinator to have it done now: select recover_prepared_transactions(). One that stays was " +
    "not prepared by Citus: rollback prepared ends it, by its gid in pg_prepared_xacts there."
  );
}

/** The sentence that tells what keeps shards from moving while they are written, if anything. */
export function lowWalLevels(
  nodes: readonly { readonly address: string; readonly wal_level: string | null }[],
): string | undefined {
  const low = nodes.filter(({ wal_level }) => wal_level !== null && wal_level !== "logical");
  if (low.length === 0) return undefined;
  const where = low.map(({ address }) => address).join(", ");
  return (
    `Shards cannot move: wal_level is not logical on ${where}. Set wal_level = logical in ` +
    "postgresql.conf there and restart the server."
  );
}
