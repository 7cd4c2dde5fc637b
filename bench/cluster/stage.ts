// What the benches of a cluster stand on: databases on the nodes that CLUSTER_URL (the coordinator)
// and CLUSTER_WORKERS name, and to compare with, one without Citus on the coordinator's own server,
// with the same settings and the same disk.

import { strict as assert } from "node:assert";
import pg from "pg";
import { distribute } from "../../src/store/cluster/distribute.ts";
import type { Connection, Pool } from "../../src/store/db/db.ts";
import { sql } from "../../src/store/db/sql.ts";
import { SHARDS } from "../../src/store/migration/distribution.ts";
import { settleTables } from "../books.ts";
import {
  administer,
  databaseName,
  furnish,
  type Side,
  type Stage,
  startService,
  within,
} from "../stage.ts";

/** The coordinator's server is the first. */
export type Servers = readonly [Connection, ...Connection[]];

export type NodeStage = Stage & {
  readonly kind: "plain" | "cluster";
  /** The database on each node, the coordinator's first. */
  readonly nodes: readonly Connection[];
};

/** Makes the books of a stage. On a cluster that is done before its tables are distributed. */
export type Fill = (stage: Stage) => Promise<void>;

export type Site = { readonly stage: NodeStage; readonly service: Side };

/** Tells how to name a cluster, where none is. */
export class NoCluster extends Error {
  constructor() {
    super(
      "These benches need a Citus cluster. Set CLUSTER_URL to the server of the coordinator and " +
        "CLUSTER_WORKERS to those of the workers, separated by commas, as npm run test:cluster does.",
    );
  }
}

export function clusterServers(): Servers {
  const { CLUSTER_URL = "", CLUSTER_WORKERS = "" } = process.env;
  if (CLUSTER_URL === "" || CLUSTER_WORKERS === "") throw new NoCluster();
  const workers = CLUSTER_WORKERS.split(",").map((url) => ({ connectionString: url.trim() }));
  return [{ connectionString: CLUSTER_URL }, ...workers];
}

export async function openPlain(servers: Servers, fill: Fill): Promise<NodeStage> {
  const { nodes, drop } = await newDatabases([servers[0]]);
  const stage = await furnish(nodes[0], drop);
  try {
    await fill(stage);
    await settleTables(stage.db);
    return { ...stage, kind: "plain", nodes };
  } catch (error) {
    await stage.end();
    throw error;
  }
}

/** The last `later` workers have their database, and are not part of the cluster yet. */
export async function openCluster(servers: Servers, fill: Fill, later = 0): Promise<NodeStage> {
  const { nodes, drop } = await emptyCluster(servers, later);
  const stage = await furnish(nodes[0], drop);
  try {
    await fill(stage);
    await distributeAll(nodes[0]);
    await assertOnWorker(stage.db, stage.profile.project_id);
    await settleNodes(nodes);
    return { ...stage, kind: "cluster", nodes };
  } catch (error) {
    await stage.end();
    throw error;
  }
}

/** Both with the same books, each with a service that is connected to the coordinator's server. */
export async function withBoth<T>(
  servers: Servers,
  role: "api" | "all",
  fill: Fill,
  work: (sites: { cluster: Site; plain: Site }) => Promise<T>,
): Promise<T> {
  const closing: (() => Promise<void>)[] = [];
  const open = async (opener: typeof openPlain) => {
    const stage = await opener(servers, fill);
    closing.push(() => stage.end());
    const service = await startService(stage, role);
    closing.push(() => service.stop());
    return { stage, service };
  };
  try {
    return await work({ plain: await open(openPlain), cluster: await open(openCluster) });
  } finally {
    for (const close of closing.reverse()) await close();
  }
}

type Databases = {
  readonly nodes: readonly [Connection, ...Connection[]];
  drop(): Promise<void>;
};

async function newDatabases([first, ...others]: Servers): Promise<Databases> {
  const name = databaseName();
  const servers = [first, ...others];
  for (const server of servers) await administer(server, `create database ${name}`);
  return {
    nodes: [within(first, name), ...others.map((server) => within(server, name))],
    // The coordinator's first: its connections to the others end with it.
    async drop() {
      for (const server of servers) await administer(server, `drop database ${name} with (force)`);
    },
  };
}

/** Databases that are a cluster without a table; the last `later` workers may join it. */
export async function emptyCluster(servers: Servers, later = 0): Promise<Databases> {
  const databases = await newDatabases(servers);
  const [coordinator, ...workers] = databases.nodes;
  for (const node of databases.nodes) await administer(node, "create extension citus");
  await administer(coordinator, `select citus_set_coordinator_host(${addressOf(coordinator)})`);
  for (const worker of workers.slice(0, workers.length - later)) await join(coordinator, worker);
  return databases;
}

export function join(coordinator: Connection, worker: Connection): Promise<void> {
  return administer(coordinator, `select citus_add_node(${addressOf(worker)})`);
}

/** Nodes reach one another as we reach them: by the host and port of the URL. */
function addressOf({ connectionString = "" }: Connection): string {
  const { hostname, port } = new URL(connectionString);
  return `'${hostname}', ${port === "" ? 5432 : port}`;
}

export async function distributeAll(coordinator: Connection): Promise<void> {
  await distribute(coordinator, { shards: SHARDS, progress: { starting() {}, done() {} } });
}

/** On the coordinator there would be no hop, and little to measure. */
export async function assertOnWorker(db: Pool, project: string): Promise<void> {
  const { group } = await db.one<{ group: number }>(sql`
    select groupid as group
      from pg_dist_placement
     where shardid = get_shard_id_for_distribution_column('customers', ${project}::uuid)`);
  assert.ok(group > 0, "the project lives on a worker");
}

/** The coordinator would hand on neither, unless each table were named. */
export async function settleNodes(nodes: readonly Connection[]): Promise<void> {
  for (const node of nodes) {
    await administer(node, "vacuum (analyze)");
    await administer(node, "checkpoint").catch(() => {});
  }
}

/** What each node answers to a statement with one value. */
export async function askNodes(
  nodes: readonly Connection[],
  statement: string,
): Promise<readonly number[]> {
  return Promise.all(
    nodes.map(async (node) => {
      const client = new pg.Client({ ...node });
      await client.connect();
      try {
        const { rows } = await client.query<{ value: string }>(statement);
        return Number(rows[0]?.value);
      } finally {
        await client.end();
      }
    }),
  );
}
