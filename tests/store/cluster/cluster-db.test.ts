// Shares by node, with two nodes that are not there: what hangs for the projects of one is quick
// for those of the other.

import { afterAll, expect, test } from "vitest";
import { ClusterDb, ClusterPointReads, Nodes } from "../../../src/store/cluster/cluster-db.ts";
import { Pool } from "../../../src/store/db/db.ts";
import { Pipeline } from "../../../src/store/db/pipeline.ts";
import { sql } from "../../../src/store/db/sql.ts";
import { testDatabase } from "../../support/database.ts";
import { fakePlacement } from "../../support/fake-placement.ts";

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
  const limits = { max: OPTIONS.max, wait_ms: 500 };
  const shares = new Nodes(placement, limits);
  return { db: new ClusterDb(pool, shares, limits), placement };
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

test("who is tried again meanwhile leaves the node's slot to others", async () => {
  const limits = { max: 2, wait_ms: 500 };
  const db = new ClusterDb(pool, new Nodes(fakePlacement(2), limits), limits);
  const refused = sql`do $$ begin raise exception sqlstate '40001'; end $$`;
  let between: Promise<unknown> | undefined;
  const done: string[] = [];
  await db.forProject("a-1").tx(async (tx) => {
    if (between !== undefined) return done.push("again");
    between = db
      .forProject("a-2")
      .tx((other) => other.many(ONE))
      .then(() => done.push("between"));
    return tx.run(refused);
  });
  await between;
  expect(done).toEqual(["between", "again"]);
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
  const nodes = new Nodes(fakePlacement(2), { max: OPTIONS.max, wait_ms: 500 });
  const point = new ClusterPointReads(shared, nodes, open);
  try {
    await Promise.all([point.forProject("a-1").many(ONE), point.forProject("b-1").many(ONE)]);
    const hanging = expect(point.forProject("a-1").many(HANGS)).rejects.toMatchObject(AWAY);
    expect(await timed(point.forProject("b-1").many(ONE))).toBeLessThan(QUICK_MS);
    expect(await timed(point.one(ONE))).toBeLessThan(QUICK_MS);
    await hanging;
    // It is known by now: its projects are told at once until it has been tried again.
    const told = expect(point.forProject("a-2").many(HANGS)).rejects.toMatchObject(AWAY);
    expect(await timed(told)).toBeLessThan(QUICK_MS);
    await expect
      .poll(() =>
        point
          .forProject("a-1")
          .one(ONE)
          .catch(() => undefined),
      )
      .toEqual({
        one: 1,
      });
  } finally {
    await point.end();
    await shared.end();
  }
});

test("a node that takes no writes is named until it takes one, whatever the others take", async () => {
  const { db } = cluster();
  const readOnly = sql`set transaction read only`;
  const write = sql`create table if not exists written (n integer)`;
  const refused = db.forProject("a-1").tx(async (tx) => {
    await tx.run(readOnly);
    await tx.run(write);
  });
  await expect(refused).rejects.toMatchObject(AWAY);
  await db.forProject("b-1").tx((tx) => tx.run(write));
  expect(db.writeFaults).toEqual([{ node: "a", why: expect.stringContaining("read-only") }]);
  await db.forProject("a-2").tx((tx) => tx.run(write));
  expect(db.writeFaults).toEqual([]);
});
