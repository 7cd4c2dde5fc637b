// `dues cluster rebalance`: has Citus move shards until the nodes carry alike, and tells how far it
// is. The moves are a job of the cluster itself: it goes on without whoever watches it.

import { setTimeout as delay } from "node:timers/promises";
import type pg from "pg";
import { ClusterError, checkCoordinator, listNodes, STRATEGY } from "../db/cluster-nodes.ts";
import { connect } from "../db/connect.ts";
import type { Connection } from "../db/db.ts";
import { askHealth } from "./node-health.ts";
import { lowWalLevels } from "./status.ts";

const POLL_MS = 1_000;
/** The limit of asking how far a copy is: the nodes are asked, and one of them may hang. */
const SIZES_MS = 3_000;

export type RebalanceProgress = {
  /** Each step moves one shard of every table, or copies to a new node what every node has. */
  readonly steps_done: number;
  readonly steps: number;
  /** How far the step is that runs; null where nothing is known of it. */
  readonly copying: {
    readonly bytes_done: number;
    readonly bytes: number;
    readonly phase: string;
  } | null;
  /** A step that failed and is tried again. */
  readonly failure: { readonly tries: number; readonly says: string } | null;
};

export type Rebalance = {
  readonly strategy: typeof STRATEGY;
  /** The job of the cluster; null when there was nothing to move. */
  readonly job_id: number | null;
  readonly state: "nothing_to_move" | "finished" | "left_running";
  /** Whether the job ran already, and was only watched. */
  readonly was_running: boolean;
  readonly steps_done: number;
  readonly steps: number;
};

export type RebalanceOptions = {
  readonly onProgress: (progress: RebalanceProgress) => void;
  /** Ends the watching, not the job. */
  readonly signal: AbortSignal;
};

export async function rebalance(
  connection: Connection,
  { onProgress, signal }: RebalanceOptions,
): Promise<Rebalance> {
  const client = await connect(connection, "dues cluster");
  try {
    await checkCoordinator(client);
    const running = await findRunning(client);
    const job_id = running ?? (await start(client, connection));
    const was_running = running !== undefined;
    if (job_id === undefined) {
      const nothing = { job_id: null, state: "nothing_to_move", steps_done: 0, steps: 0 } as const;
      return { strategy: STRATEGY, ...nothing, was_running };
    }
    const watched = await watch(client, job_id, { onProgress, signal }).catch(sayThatItGoesOn);
    return { strategy: STRATEGY, job_id, was_running, ...watched };
  } finally {
    await client.end();
  }
}

async function findRunning(client: pg.Client): Promise<number | undefined> {
  const { rows } = await client.query<{ job_id: string }>(`
    select job_id
      from pg_dist_background_job
     where job_type = 'rebalance' and finished_at is null
       and state in ('scheduled', 'running', 'cancelling', 'failing')
     order by job_id desc
     limit 1`);
  return rows[0] && Number(rows[0].job_id);
}

/** Starts the job; undefined when there is nothing to move. */
async function start(client: pg.Client, connection: Connection): Promise<number | undefined> {
  await checkDistributed(client);
  await checkNodes(client, connection);
  try {
    const { rows } = await client.query<{ job_id: string | null }>(
      "select citus_rebalance_start(rebalance_strategy => $1) as job_id",
      [STRATEGY],
    );
    const job_id = rows[0]?.job_id ?? null;
    return job_id === null ? undefined : Number(job_id);
  } catch (error) {
    // Somebody else started one since we looked.
    const running = await findRunning(client);
    if (running !== undefined) return running;
    throw new ClusterError(failureText(error instanceof Error ? error.message : String(error)));
  }
}

async function checkDistributed(client: pg.Client): Promise<void> {
  const { rows } = await client.query("select 1 from pg_dist_partition where partmethod = 'h'");
  if (rows.length > 0) return;
  throw new ClusterError("Nothing is distributed yet. Run dues cluster distribute first.");
}

/** Refuses what Citus would start, fail at in each step, and try again for long without a word. */
async function checkNodes(client: pg.Client, connection: Connection): Promise<void> {
  const nodes = (await listNodes(client)).filter(({ is_active }) => is_active);
  const health = await askHealth(connection, nodes);
  const levels = nodes.map((node) => {
    const answer = health.get(node.id);
    if (answer?.is_reachable === true) return { ...node, wal_level: answer.wal_level };
    throw new ClusterError(
      `Node ${node.address} does not answer: ${answer?.why}. Start it, then run this again.`,
    );
  });
  const low = lowWalLevels(levels);
  if (low !== undefined) throw new ClusterError(low);
}

type Watched = Pick<Rebalance, "steps_done" | "steps"> & {
  readonly state: "finished" | "left_running";
};

async function watch(
  client: pg.Client,
  job_id: number,
  { onProgress, signal }: RebalanceOptions,
): Promise<Watched> {
  for (;;) {
    const { state, steps, steps_done, failure } = await readJob(client, job_id);
    if (state === "finished") return { state, steps, steps_done };
    if (state === "failed") throw new ClusterError(`The rebalance failed: ${failure?.says}`);
    if (state === "cancelled") {
      throw new ClusterError(
        "The rebalance was stopped. What has moved stays where it is. Run this again to go on.",
      );
    }
    if (signal.aborted) return { state: "left_running", steps, steps_done };
    onProgress({ steps, steps_done, failure, copying: await readCopying(client) });
    await delay(POLL_MS, undefined, { signal }).catch(() => {});
  }
}

function sayThatItGoesOn(error: unknown): never {
  if (error instanceof ClusterError) throw error;
  throw new ClusterError(
    `The coordinator stopped answering (${error instanceof Error ? error.message : error}). The ` +
      "moves go on by themselves once it is back: run this again to watch them.",
  );
}

type Job = Pick<RebalanceProgress, "steps" | "steps_done" | "failure"> & { readonly state: string };

async function readJob(client: pg.Client, job_id: number): Promise<Job> {
  type Row = { state: string; steps: string; done: string; tries: number; message: string | null };
  const { rows } = await client.query<Row>(
    `select j.state::text, count(*) as steps, count(*) filter (where t.status = 'done') as done,
            coalesce(max(t.retry_count) filter (where t.status <> 'done'), 0) as tries,
            max(t.message) filter (where t.status not in ('done', 'cancelled')
                                     and t.message <> '') as message
       from pg_dist_background_job j
       join pg_dist_background_task t on t.job_id = j.job_id
      where j.job_id = $1
      group by j.state`,
    [job_id],
  );
  const { state = "finished", steps = 0, done = 0, tries = 0, message = null } = rows[0] ?? {};
  const failure = message === null ? null : { tries, says: failureText(message) };
  return { state, steps: Number(steps), steps_done: Number(done), failure };
}

/** How far the running step is: only shown, so a node that hangs does not end the watch. */
async function readCopying(client: pg.Client): Promise<RebalanceProgress["copying"]> {
  type Row = { bytes: string | null; bytes_done: string | null; phase: string | null };
  try {
    await client.query(`set statement_timeout = ${SIZES_MS}`);
    const { rows } = await client.query<Row>(`
      select sum(source_shard_size) as bytes, sum(target_shard_size) as bytes_done,
             min(status) as phase
        from get_rebalance_progress()
       where progress = 1`);
    const { bytes = null, bytes_done = null, phase = null } = rows[0] ?? {};
    if (bytes === null || phase === null) return null;
    return { bytes: Number(bytes), bytes_done: Number(bytes_done), phase: phase.toLowerCase() };
  } catch {
    return null;
  } finally {
    // Throws when the connection itself is gone.
    await client.query("set statement_timeout = 0");
  }
}

/** What to do about the failures that an operator can remedy, by Citus' own words. */
const ADVICE: readonly (readonly [RegExp, string])[] = [
  [/wal_level/, "Set wal_level = logical in postgresql.conf there and restart the server."],
  [
    /replication slots|max_wal_senders|requested standby connections/,
    "Raise max_replication_slots and max_wal_senders in postgresql.conf there and restart.",
  ],
  [/worker processes|background worker/, "Raise max_worker_processes there and restart."],
  [/No space left/, "Make room on that node's disk."],
  [
    /connect|terminat|disk stats|shutting down|starting up/,
    "Start the node: dues cluster status names it.",
  ],
  [
    /REPLICA IDENTITY|PRIMARY KEY/,
    "A table that is not dues' own needs a primary key before it can move.",
  ],
];

/** Sentences for `ERROR: ERROR:  …\nCONTEXT: while executing command on host:port\n…`. */
export function failureText(message: string): string {
  const [first = ""] = message.split("\n");
  const says = first.replace(/^(ERROR: *)+/, "").replace(/\.$/, "");
  const [, node] = /while executing command on (\S+)/.exec(message) ?? [];
  const [, advice] = ADVICE.find(([pattern]) => pattern.test(says)) ?? [];
  const where = node === undefined ? "" : ` (node ${node})`;
  return `${says}${where}.${advice === undefined ? "" : ` ${advice}`}`;
}
