// Shares by node, with two nodes that are not there: what hangs for the projects of one is quick
// for those of the other.

import { afterAll, expect, test } from "vitest";
import { ClusterDb, ClusterPointReads } from "../../src/store/cluster-db.ts";
import { Pool } from "../../src/store/db.ts";
import { Pipeline } from "../../src/store/pipeline.ts";
import { sql } from "../../src/store/sql.ts";
import { testDatabase } from "../support/database.ts";
import { fakePlacement } from "../support/fake-placement.ts";

const STATEMENT_MS = 1_500;
const OPTIONS = {
  max: 4,
  statement_timeout_ms: STATEMENT_MS,
  lock_timeout_ms: 1_000,
  application_name: "cluster",
};
/** Far below what a statement that hangs takes. */
const QUICK_MS = 700;
const HANGS = sql`select pg_sleep(60)`;
const ONE = sql`select 1 as one`;
const AWAY = { code: "unavailable", status: 503 };

const database = await testDatabase();
const pool = new Pool(database.connection, OPTIONS);
afterAll(async () => {
  await pool.end();
  await database.drop();
});

function cluster(nodes = 2) {
  const placement = fakePlacement(nodes);
  const db = new ClusterDb(pool, placement, { max: OPTIONS.max, wait_ms: 500 });
  return { db, placement };
}

async function timed(work: Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work;
  return performance.now() - started;
}

test("many that hang at one node leave the other node's projects quick", async () => {
  const { db, placement } = cluster();
  const hanging = Array.from({ length: 20 }, (_, n) =>
    expect(db.forProject(`a-${n}`).many(HANGS)).rejects.toMatchObject(AWAY),
  );
  for (let n = 0; n < 5; n++) {
    const other = db.forProject(`b-${n}`);
    expect(await timed(other.many(ONE))).toBeLessThan(QUICK_MS);
    expect(await timed(other.tx((tx) => tx.many(ONE)))).toBeLessThan(QUICK_MS);
    expect(await timed(other.snapshot((tx) => tx.many(ONE)))).toBeLessThan(QUICK_MS);
  }
  await Promise.all(hanging);
  expect(placement.doubts).toBeGreaterThan(0);
  // It is known by now, so its projects are told at once; and the others are as quick as before.
  const told = expect(db.forProject("a-1").many(HANGS)).rejects.toMatchObject(AWAY);
  expect(await timed(told)).toBeLessThan(QUICK_MS);
  expect(await timed(db.forProject("b-1").many(ONE))).toBeLessThan(QUICK_MS);
});

test("writes that need every node leave connections to the projects", async () => {
  const { db } = cluster();
  const hanging = Array.from({ length: 6 }, () =>
    expect(db.tx((tx) => tx.many(HANGS))).rejects.toMatchObject(AWAY),
  );
  expect(await timed(db.forProject("a-1").many(ONE))).toBeLessThan(QUICK_MS);
  expect(await timed(db.one(ONE))).toBeLessThan(QUICK_MS);
  await Promise.all(hanging);
});

test("a single node may have all connections", async () => {
  const { db } = cluster(1);
  const busy = sql`select pg_sleep(0.4)`;
  const all = Array.from({ length: OPTIONS.max }, (_, n) => db.forProject(`a-${n}`).many(busy));
  expect(await timed(Promise.all(all))).toBeLessThan(2 * 400);
});

test("shared reads that hang at one node leave those of the other, and of none, quick", async () => {
  const options = { ...OPTIONS, max: 1 };
  const open = () => new Pipeline(database.connection, options);
  const shared = open();
  const point = new ClusterPointReads(shared, fakePlacement(2), open);
  try {
    await Promise.all([point.forProject("a-1").many(ONE), point.forProject("b-1").many(ONE)]);
    const hanging = expect(point.forProject("a-1").many(HANGS)).rejects.toMatchObject(AWAY);
    expect(await timed(point.forProject("b-1").many(ONE))).toBeLessThan(QUICK_MS);
    expect(await timed(point.one(ONE))).toBeLessThan(QUICK_MS);
    await hanging;
    expect(await point.forProject("a-1").one(ONE)).toEqual({ one: 1 });
  } finally {
    await point.end();
    await shared.end();
  }
});
