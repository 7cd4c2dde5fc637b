// Databases on the nodes of a Citus cluster, for npm run test:cluster: one of a name on each node.
// CLUSTER_URL names the server of the coordinator, CLUSTER_WORKERS those of the workers.

import pg from "pg";
import { inject } from "vitest";
import { distribute } from "../../src/store/cluster/distribute.ts";
import type { Connection } from "../../src/store/db/db.ts";
import { migrate } from "../../src/store/migration/migrate.ts";
import { admin, everywhere, newDatabase, onDatabase } from "./database.ts";

/** Few: each test file copies all of them. Four are enough for two on each of two workers. */
const SHARDS = 4;
const LEAVE_POLL_MS = 100;

/** Makes the databases of this name one cluster, as an operator does it. */
export async function formCluster(servers: readonly Connection[], name: string): Promise<void> {
  const nodes = servers.map((server) => onDatabase(server, name));
  await everywhere(nodes, "create extension citus");
  const [coordinator, ...workers] = nodes;
  if (coordinator === undefined) return;
  await admin(coordinator, `select citus_set_coordinator_host(${addressOf(coordinator)})`);
  for (const worker of workers) {
    await admin(coordinator, `select citus_add_node(${addressOf(worker)})`);
  }
}

/** Nodes reach one another as we reach them: by host and port, which is 5432 unless given. */
function placeOf({ connectionString = "" }: Connection) {
  const { hostname, port } = new URL(connectionString);
  return { hostname, port: port === "" ? "5432" : port };
}

/** As Citus' functions take it. */
export function addressOf(node: Connection): string {
  const { hostname, port } = placeOf(node);
  return `'${hostname}', ${port}`;
}

/** As dues names it. */
export function hostOf(node: Connection): string {
  const { hostname, port } = placeOf(node);
  return `${hostname}:${port}`;
}

/** Empty databases that are a cluster: the coordinator's, and those of the workers. */
export async function emptyCluster() {
  const servers = [inject("server"), ...inject("workers")] as const;
  const { name, connection, drop } = await newDatabase(servers, "template0");
  await formCluster(servers, name);
  return { connection, workers: inject("workers").map((each) => onDatabase(each, name)), drop };
}

/** What every test database is copied from. */
export async function makeTemplate(servers: readonly Connection[], name: string): Promise<void> {
  const [server] = servers;
  if (server === undefined) return;
  await formCluster(servers, name);
  const connection = onDatabase(server, name);
  await migrate(connection);
  await distribute(connection, { shards: SHARDS, progress: { starting() {}, done() {} } });
  await Promise.all(servers.map((each) => leave(each, name)));
}

/** Nobody may be connected to what is copied, and Citus' own daemon would always be. */
async function leave(server: Connection, name: string): Promise<void> {
  await admin(server, `alter database ${name} with allow_connections false`);
  const client = new pg.Client({ ...server });
  await client.connect();
  try {
    for (;;) {
      const { rows } = await client.query(
        "select pid, pg_terminate_backend(pid) from pg_stat_activity where datname = $1",
        [name],
      );
      if (rows.length === 0) return;
      await new Promise((resolve) => setTimeout(resolve, LEAVE_POLL_MS));
    }
  } finally {
    await client.end();
  }
}
