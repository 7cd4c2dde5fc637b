// Shards move on a real cluster, and whoever watches may come and go.

import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { distribute } from "../../../src/store/cluster/distribute.ts";
import { type RebalanceProgress, rebalance } from "../../../src/store/cluster/rebalance.ts";
import type { Connection } from "../../../src/store/db/db.ts";
import { addressOf, emptyCluster, hostOf } from "../../support/cluster.ts";
import { admin } from "../../support/database.ts";

const SHARDS = 2;

let cluster: Awaited<ReturnType<typeof emptyCluster>>;
beforeEach(async () => {
  cluster = await emptyCluster();
});
afterEach(() => cluster.drop());

const watching = () => new AbortController().signal;
const run = (onProgress: (progress: RebalanceProgress) => void = () => {}, signal = watching()) =>
  rebalance(cluster.connection, { onProgress, signal });

async function setTakesShards(worker: Connection | undefined, value: boolean): Promise<void> {
  await admin(
    cluster.connection,
    `select citus_set_node_property(${addressOf(worker ?? {})}, 'shouldhaveshards', ${value})`,
  );
}

/** Shards of customers on each node that has some. */
async function shardCounts(): Promise<number[]> {
  const client = new pg.Client({ ...cluster.connection });
  await client.connect();
  const { rows } = await client.query<{ count: string }>(
    `select count(*)
       from pg_dist_shard s join pg_dist_placement p on p.shardid = s.shardid
      where s.logicalrelid = 'customers'::regclass
      group by p.groupid
      order by p.groupid`,
  );
  await client.end();
  return rows.map(({ count }) => Number(count));
}

async function distributeOverOne(): Promise<void> {
  await setTakesShards(cluster.workers[1], false);
  await distribute(cluster.connection, { shards: SHARDS, progress: { starting() {}, done() {} } });
  expect(await shardCounts()).toEqual([SHARDS]);
  await setTakesShards(cluster.workers[1], true);
}

test("who leaves does not end it, who comes again watches it, and then all is even", async () => {
  await distributeOverOne();
  const abort = new AbortController();
  const seen: RebalanceProgress[] = [];
  const left = await run((progress) => {
    seen.push(progress);
    abort.abort();
  }, abort.signal);
  expect(left).toMatchObject({ state: "left_running", was_running: false });
  expect(seen).toHaveLength(1);
  expect(seen[0]).toMatchObject({ steps: left.steps, failure: null });
  const done = await run();
  expect(done).toMatchObject({ state: "finished", was_running: true, job_id: left.job_id });
  expect(done.steps_done).toBe(done.steps);
  expect(await shardCounts()).toEqual([1, 1]);
  expect(await run()).toMatchObject({ state: "nothing_to_move", job_id: null, was_running: false });
});

test("somebody else's stop is told as such", async () => {
  await distributeOverOne();
  let stopped: Promise<void> | undefined;
  const onProgress = () => {
    stopped ??= admin(cluster.connection, "select citus_rebalance_stop()");
  };
  await expect(run(onProgress)).rejects.toThrow(/^The rebalance was stopped\./);
  await stopped;
});

test("is refused before anything is distributed", async () => {
  await expect(run()).rejects.toThrow("Run dues cluster distribute first.");
});

test("is refused at a worker, which names the coordinator", async () => {
  const [worker = {}] = cluster.workers;
  const refused = rebalance(worker, { onProgress() {}, signal: watching() });
  const coordinator = hostOf(cluster.connection);
  await expect(refused).rejects.toThrow(`Point it at the coordinator, ${coordinator}.`);
});

test("is refused while a node is away, which it names", async () => {
  await distributeOverOne();
  await admin(
    cluster.connection,
    "update pg_dist_node set nodename = '127.0.0.1', nodeport = 9 where groupid = 2",
  );
  await expect(run()).rejects.toThrow(/^Node 127\.0\.0\.1:9 does not answer: .*Start it/);
});
