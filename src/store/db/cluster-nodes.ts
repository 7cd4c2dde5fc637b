// What a connection leads to: a plain PostgreSQL, or a node of a Citus cluster and which one; and
// the nodes of that cluster with their settings. Knows no table of ours but one.

import type pg from "pg";

/** The cluster is not as it must be. The message says what to do. */
export class ClusterError extends Error {}

/**
 * Projects differ in size by orders of magnitude, and each stays whole on its node: with as many
 * shards one node may carry far more than another. Citus counts 100 MB more for each shard, so that
 * small ones are spread by their number, and leaves nodes alone that differ by less than a tenth.
 */
export const STRATEGY = "by_disk_size";

export type Place =
  | { readonly kind: "plain" }
  | { readonly kind: "coordinator"; readonly is_distributed: boolean }
  /** `coordinator` is its host and port. */
  | { readonly kind: "worker"; readonly coordinator: string };

export type Node = {
  readonly id: number;
  /** What shards are placed by: the node and its standbys are one group. */
  readonly group_id: number;
  readonly address: string;
  readonly host: string;
  readonly port: number;
  readonly role: "coordinator" | "worker";
  readonly is_active: boolean;
  readonly takes_shards: boolean;
};

/** Every node was told what a row of pg_dist_node says when the node was added. */
const NODES = `
  select nodeid as id, groupid as group_id, nodename || ':' || nodeport as address,
         nodename as host, nodeport as port,
         case groupid when 0 then 'coordinator' else 'worker' end as role,
         isactive as is_active, shouldhaveshards as takes_shards
    from pg_dist_node
   where noderole = 'primary'
   order by groupid`;

export async function placeOf(client: pg.ClientBase): Promise<Place> {
  const { rows: extensions } = await client.query(
    "select 1 from pg_extension where extname = 'citus'",
  );
  if (extensions.length === 0) return { kind: "plain" };
  const { rows } = await client.query<{ group_id: number; is_distributed: boolean }>(`
    select groupid as group_id,
           exists (select 1
                     from pg_dist_partition
                    where logicalrelid = to_regclass('customers')) as is_distributed
      from pg_dist_local_group`);
  if ((rows[0]?.group_id ?? 0) === 0) {
    return { kind: "coordinator", is_distributed: rows[0]?.is_distributed ?? false };
  }
  const coordinator = (await listNodes(client)).find(({ role }) => role === "coordinator");
  return { kind: "worker", coordinator: coordinator?.address ?? "of this cluster" };
}

/** Throws where shards are neither made nor moved. */
export async function checkCoordinator(client: pg.ClientBase): Promise<void> {
  const place = await placeOf(client);
  if (place.kind === "plain") {
    throw new ClusterError(
      "DATABASE_URL names a PostgreSQL without Citus, where everything is on one machine. " +
        'Point it at the coordinator of a cluster, after "create extension citus" in this ' +
        "database on every node.",
    );
  }
  if (place.kind === "worker") {
    throw new ClusterError(
      "DATABASE_URL names a worker of the cluster. Point it at the coordinator, " +
        `${place.coordinator}.`,
    );
  }
}

export async function listNodes(client: pg.ClientBase): Promise<Node[]> {
  return (await client.query<Node>(NODES)).rows;
}

/** What each node answers to a statement with one value. Throws when one does not answer. */
export async function askAllNodes(
  client: pg.ClientBase,
  statement: string,
): Promise<{ address: string; answer: string }[]> {
  const { rows } = await client.query<{ address: string; success: boolean; answer: string }>(
    `select n.nodename || ':' || n.nodeport as address, r.success, r.result as answer
       from run_command_on_all_nodes($1, give_warning_for_connection_errors => true) r
       join pg_dist_node n on n.nodeid = r.nodeid
      order by n.groupid`,
    [statement],
  );
  const failed = rows.find(({ success }) => !success);
  if (failed !== undefined) {
    throw new ClusterError(
      `Node ${failed.address} does not answer (${failed.answer}). Start it, or remove it with ` +
        "citus_remove_node.",
    );
  }
  return rows;
}
