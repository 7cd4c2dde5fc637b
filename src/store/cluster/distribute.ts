// `dues cluster distribute`: checks that the cluster is ready and that nobody serves, migrates, and
// distributes what is not distributed yet.

import pg from "pg";
import { askAllNodes, ClusterError, checkCoordinator, listNodes } from "../db/cluster-nodes.ts";
import { connect } from "../db/connect.ts";
import {
  API_CONNECTION_NAME,
  LISTEN_CONNECTION_NAME,
  WORKER_CONNECTION_NAME,
} from "../db/connection-names.ts";
import type { Connection } from "../db/db.ts";
import {
  type DistributedTable,
  distributeLocal,
  listLocalTables,
  prepareTransaction,
  releaseLocalRows,
  SHARDS,
  type TableProgress,
} from "../migration/distribution.ts";
import {
  applyMissing,
  checkServer,
  listMigrations,
  lockMigrations,
  type MigrationProgress,
} from "../migration/migrate.ts";

const SERVING = [API_CONNECTION_NAME, WORKER_CONNECTION_NAME, LISTEN_CONNECTION_NAME];

export type Distribution = {
  /** Migrations that were applied first. */
  readonly applied: string[];
  readonly tables: DistributedTable[];
  readonly functions: string[];
  /** How many shards projects are spread over now, whatever was asked for. */
  readonly shards: number;
  /** Sentences on what was not done as asked, and on what works now and will not later. */
  readonly warnings: string[];
};

export type DistributeOptions = {
  /** How many shards, where nothing is spread yet; after that their number stays. */
  readonly shards?: number | undefined;
  readonly progress: TableProgress & MigrationProgress;
  /** Told when a migration has to wait for others, as a sentence. */
  readonly say?: (line: string) => void;
};

export async function distribute(
  connection: Connection,
  { shards: asked, progress, say }: DistributeOptions,
): Promise<Distribution> {
  const client = await connect(connection, "dues cluster");
  try {
    await checkServer(client);
    await checkCoordinator(client);
    await checkNodes(client);
    await lockMigrations(client);
    await checkNobodyServes(client);
    await allowTriggers(client);
    const patience = { progress, ...(say && { say }) };
    const applied = await applyMissing(client, await listMigrations(), patience);
    const shards = (await countShards(client)) ?? asked ?? SHARDS;
    await checkLocks(client, shards);
    const made = await distributeAll(client, { shards, progress });
    await releaseLocalRows(client);
    const warnings = [...listIgnored(asked, shards), ...(await listWarnings(client))];
    return { applied, ...made, shards, warnings };
  } finally {
    await client.end();
  }
}

async function distributeAll(
  client: pg.Client,
  options: { shards: number; progress: TableProgress },
) {
  await client.query("begin");
  try {
    await prepareTransaction(client);
    const made = await distributeLocal(client, options);
    await client.query("commit");
    return made;
  } catch (error) {
    await client.query("rollback").catch(() => {});
    throw error;
  }
}

async function checkNodes(client: pg.Client): Promise<void> {
  const nodes = await listNodes(client);
  if (!nodes.some(({ role }) => role === "coordinator")) {
    throw new ClusterError(
      "The nodes do not know where the coordinator is. Run here, with the name under which they " +
        "reach it: select citus_set_coordinator_host('host', 5432)",
    );
  }
  if (!nodes.some(({ takes_shards }) => takes_shards)) {
    throw new ClusterError(
      "The cluster has no worker. Run here for each: select citus_add_node('host', 5432)",
    );
  }
  const away = nodes.filter(({ is_active }) => !is_active).map(({ address }) => address);
  if (away.length > 0) {
    throw new ClusterError(
      `Not active: ${away.join(", ")}. Run here for each: select citus_activate_node('host', 5432)`,
    );
  }
  await askAllNodes(client, "select 1");
}

/**
 * Tables are locked while they are copied, and a process that waits for them answers 503. A process
 * that serves has a connection, also when nobody calls it.
 */
async function checkNobodyServes(client: pg.Client): Promise<void> {
  const names = SERVING.map((name) => `'${name}'`).join(", ");
  const answers = await askAllNodes(
    client,
    `select coalesce(string_agg(distinct application_name, ', '), '')
       from pg_stat_activity
      where datname = current_database() and application_name in (${names})`,
  );
  const found = answers.filter(({ answer }) => answer !== "");
  if (found.length === 0) return;
  const where = found.map(({ address, answer }) => `${answer} at ${address}`).join("; ");
  throw new ClusterError(
    `Another process serves from this database (${where}). Stop all of them, then run this again.`,
  );
}

/**
 * Our triggers write only rows of their own project, which are on the same node. A shard that moves
 * has its triggers made anew, in a session of Citus' own: hence for the whole database.
 */
async function allowTriggers(client: pg.Client): Promise<void> {
  const setting = "citus.enable_unsafe_triggers";
  const listOff = async () =>
    (await askAllNodes(client, `select current_setting('${setting}')`))
      .filter(({ answer }) => answer !== "on")
      .map(({ address }) => address);
  if ((await listOff()).length === 0) return;
  const { rows } = await client.query<{ name: string }>("select current_database() as name");
  const database = pg.escapeIdentifier(rows[0]?.name ?? "");
  // Citus hands it on to the other nodes. Whoever may not do this is told below.
  await client.query(`alter database ${database} set ${setting} = on`).catch(() => {});
  const off = await listOff();
  if (off.length === 0) return;
  throw new ClusterError(
    `${setting} is off on ${off.join(", ")}. Set it to on in postgresql.conf there and reload, or ` +
      "run this once as the owner of the database.",
  );
}

/**
 * Each shard of each table is locked until the commit, with its indexes and keys: 4 locks per table
 * and index were counted. With too few the run would fail after it has copied for long.
 */
const LOCKS_EACH = 5;

async function checkLocks(client: pg.Client, shards: number): Promise<void> {
  const tables = await listLocalTables(client);
  const nodes = (await listNodes(client)).filter(({ takes_shards }) => takes_shards);
  const parts = tables.reduce((sum, { indexes }) => sum + 1 + indexes, 0);
  const needed = LOCKS_EACH * parts * (Math.ceil(shards / nodes.length) + 1);
  const found = await askAllNodes(
    client,
    `select current_setting('max_locks_per_transaction')::int
            * (current_setting('max_connections')::int
               + current_setting('max_prepared_transactions')::int)`,
  );
  const short = found.filter(({ answer }) => Number(answer) < needed);
  if (short.length === 0) return;
  throw new ClusterError(
    `Distributing takes about ${needed} locks on each node, and there is room for ` +
      `${short.map(({ address, answer }) => `${answer} on ${address}`).join(", ")}. Raise ` +
      "max_locks_per_transaction in postgresql.conf there and restart, or take fewer shards.",
  );
}

/** How many shards projects are spread over; undefined before the first run. */
async function countShards(client: pg.Client): Promise<number | undefined> {
  const { rows } = await client.query<{ count: string }>(
    "select count(*) from pg_dist_shard where logicalrelid = to_regclass('customers')",
  );
  return Number(rows[0]?.count) || undefined;
}

/** A warning about another number of shards: for that, everything is moved to another database. */
function listIgnored(asked: number | undefined, present: number): string[] {
  if (asked === undefined || asked === present) return [];
  return [
    `--shards ${asked} was not taken: everything is spread over ${present} shards, and their ` +
      `number stays. To have ${asked}, run dues backup, then dues cluster distribute --shards ` +
      `${asked} and dues restore with DATABASE_URL at an empty database of the cluster.`,
  ];
}

/** Warnings of what works today and will not when shards are to move. */
async function listWarnings(client: pg.Client): Promise<string[]> {
  const levels = await askAllNodes(client, "select current_setting('wal_level')");
  const low = levels.filter(({ answer }) => answer !== "logical").map(({ address }) => address);
  if (low.length === 0) return [];
  return [
    `wal_level is not logical on ${low.join(", ")}: shards cannot move while they are written. ` +
      "Set it in postgresql.conf there and restart before dues cluster rebalance.",
  ];
}
