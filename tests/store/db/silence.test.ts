// Connections that go silent are given up in time and replaced; busy ones are left alone.

import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { Pool } from "../../../src/store/db/db.ts";
import { listen } from "../../../src/store/db/listen.ts";
import { Pipeline } from "../../../src/store/db/pipeline.ts";
import { sql } from "../../../src/store/db/sql.ts";
import { admin, testDatabase } from "../../support/database.ts";
import { SilentProxy } from "../../support/silent-proxy.ts";

const STATEMENT_MS = 1_000;
/** Room for the looks, which come five times a second, and for a machine with much to do. */
const GIVEN_UP_MS = STATEMENT_MS + 2_000;
const OPTIONS = {
  max: 4,
  statement_timeout_ms: STATEMENT_MS,
  lock_timeout_ms: 1_000,
  application_name: "silence",
};
const ONE = sql`select 1 as one`;
const PID = sql`select pg_backend_pid() as pid`;
const AWAY = { code: "unavailable", status: 503 };

let database: Awaited<ReturnType<typeof testDatabase>>;
let proxy: SilentProxy;
let db: Pool;
beforeEach(async () => {
  database = await testDatabase();
  proxy = await SilentProxy.open(database.connection);
  db = new Pool(proxy.connection, OPTIONS);
});
afterEach(async () => {
  await db.end();
  await proxy.close();
  await database.drop();
});

async function timed<T>(work: Promise<T>): Promise<number> {
  const started = performance.now();
  await work;
  return performance.now() - started;
}

/** So many connections that are open and wait for work. */
async function warmUp(): Promise<void> {
  const asleep = sql`select pg_sleep(0.1)`;
  await Promise.all(Array.from({ length: OPTIONS.max }, () => db.many(asleep)));
}

test("a statement on a silent connection is a 503 in time", async () => {
  await warmUp();
  proxy.loseRoutes();
  const asked = expect(db.many(ONE)).rejects.toMatchObject(AWAY);
  expect(await timed(asked)).toBeLessThan(GIVEN_UP_MS);
});

test("one silent connection has those that nobody uses asked, and they are replaced too", async () => {
  await warmUp();
  proxy.loseRoutes();
  await db.many(ONE).catch(() => {});
  // Well before the pool itself closes what nobody has used for ten seconds. One is opened anew.
  await expect.poll(() => db.stats, { timeout: 5_000 }).toMatchObject({ total: 1, idle: 1 });
  const all = Promise.all(Array.from({ length: OPTIONS.max }, () => db.many(ONE)));
  expect(await timed(all)).toBeLessThan(STATEMENT_MS);
});

test("a transaction is given up where it stands, and is not waited for again", async () => {
  const inside = db.tx(async (tx) => {
    await tx.many(ONE);
    proxy.loseRoutes();
    await tx.many(ONE);
  });
  expect(await timed(expect(inside).rejects.toMatchObject(AWAY))).toBeLessThan(GIVEN_UP_MS);
});

test("a commit without an answer is a 503 in time", async () => {
  const committing = db.tx(async (tx) => {
    await tx.many(ONE);
    proxy.loseRoutes();
  });
  expect(await timed(expect(committing).rejects.toMatchObject(AWAY))).toBeLessThan(GIVEN_UP_MS);
  expect(await db.many(ONE)).toEqual([{ one: 1 }]);
});

test("a statement that the server cancels does not leave its transaction's connection behind", async () => {
  let pid = 0;
  const slow = db.tx(async (tx) => {
    pid = (await tx.one<{ pid: number }>(PID)).pid;
    await tx.many(sql`select pg_sleep(10)`);
  });
  await expect(slow).rejects.toMatchObject(AWAY);
  expect(await db.one(PID)).not.toEqual({ pid });
});

test("who computes for long within a transaction is not given up", async () => {
  const computed = await db.tx(async (tx) => {
    await tx.many(ONE);
    // Real time, because it is what would give it up: here, and at the server, which has its own.
    await pause(STATEMENT_MS + 800);
    return tx.many(ONE);
  });
  expect(computed).toEqual([{ one: 1 }]);
});

test("shared reads are given up together and go on with a new connection", async () => {
  const point = new Pipeline(proxy.connection, { ...OPTIONS, max: 1 });
  try {
    await point.one(ONE);
    proxy.loseRoutes();
    const asked = Promise.all(
      Array.from({ length: 3 }, () => expect(point.one(ONE)).rejects.toMatchObject(AWAY)),
    );
    expect(await timed(asked)).toBeLessThan(GIVEN_UP_MS);
    expect(await point.one(ONE)).toEqual({ one: 1 });
  } finally {
    await point.end();
  }
});

test("shared reads that queue for longer than one may take are all answered", async () => {
  const point = new Pipeline(proxy.connection, { ...OPTIONS, max: 1 });
  try {
    const reads = Array.from({ length: 12 }, () => point.one(sql`select 1 as one, pg_sleep(0.2)`));
    expect(await Promise.all(reads)).toHaveLength(12);
    expect(proxy.opened).toBe(1);
  } finally {
    await point.end();
  }
});

test("a read that the server cancels does not hold up those behind it for as long again", async () => {
  const point = new Pipeline(proxy.connection, { ...OPTIONS, max: 1 });
  try {
    const slow = Array.from({ length: 3 }, () =>
      expect(point.one(sql`select pg_sleep(10)`)).rejects.toMatchObject(AWAY),
    );
    expect(await timed(Promise.all(slow))).toBeLessThan(GIVEN_UP_MS);
  } finally {
    await point.end();
  }
});

test("a listener that nobody talks to finds out, and hears again", {
  timeout: 30_000,
}, async () => {
  const heard: string[] = [];
  const listener = listen(proxy.connection, "news", (payload) => heard.push(payload));
  const tell = async (payload: string) => {
    await expect
      .poll(
        async () => {
          await admin(database.connection, `notify news, '${payload}'`);
          return heard;
        },
        { timeout: 10_000 },
      )
      .toContain(payload);
  };
  try {
    await tell("before");
    proxy.loseRoutes();
    await tell("after");
  } finally {
    await listener.stop();
  }
});
