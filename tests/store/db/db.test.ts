// Statements of a transaction travel together. Whichever of them fails, the caller hears of that
// one, and what may be tried again is.

import { afterAll, expect, onTestFinished, test } from "vitest";
import { UnknownOutcome } from "../../../src/errors.ts";
import { requestPool } from "../../../src/service/request-pool.ts";
import { Pool } from "../../../src/store/db/db.ts";
import { sql } from "../../../src/store/db/sql.ts";
import { testConfig } from "../../support/app.ts";
import { testDatabase } from "../../support/database.ts";
import { until } from "../../support/processes.ts";

const ONE = sql`select 1 as one`;
const LOCK = sql`select pg_advisory_xact_lock(7)`;
// Also how long a connection may take, which is a while on a machine with much to do.
const LOCK_MS = 1_000;

const database = await testDatabase();
const db = new Pool(database.connection, {
  max: 4,
  statement_timeout_ms: 5_000,
  lock_timeout_ms: LOCK_MS,
  application_name: "transactions",
});
afterAll(async () => {
  await db.end();
  await database.drop();
});

/** The first statement a frame deeper than the second, as it is between folders. */
async function lock(tx: { many(query: typeof LOCK): Promise<unknown> }): Promise<void> {
  await tx.many(LOCK);
}

/** A transaction that has begun with this statement, and goes on until it is released. */
async function held(pool: Pool, statement: typeof LOCK) {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  let ended: Promise<void> = released;
  await new Promise<void>((begun, failed) => {
    ended = pool.tx(async (tx) => {
      await tx.many(statement);
      begun();
      await released;
    });
    ended.catch(failed);
  });
  return { release, ended };
}

test("a lock that is not free in time is waited for again, also with statements behind it", async () => {
  const holder = await held(db, LOCK);
  let attempts = 0;
  const waiting = db.tx(async (tx) => {
    attempts += 1;
    if (attempts === 2) holder.release();
    const [, rows] = await Promise.all([lock(tx), tx.many(sql`select 1 as one`)]);
    return rows;
  });
  expect(await waiting).toEqual([{ one: 1 }]);
  expect(attempts).toBeGreaterThan(1);
  await holder.ended;
});

test("a lock that stays taken is waited for twice, then the caller is told to try again", async () => {
  const holder = await held(db, LOCK);
  let attempts = 0;
  const waiting = db.tx(async (tx) => {
    attempts += 1;
    await lock(tx);
  });
  await expect(waiting).rejects.toMatchObject({ code: "unavailable", retryable: true });
  expect(attempts).toBe(2);
  holder.release();
  await holder.ended;
});

test("a request that waited for long before the lock is not tried again", async () => {
  const requests = requestPool(database.connection, testConfig());
  const holder = await held(db, LOCK);
  onTestFinished(async () => {
    holder.release();
    await holder.ended;
    await requests.end();
  });
  let attempts = 0;
  const waiting = requests.tx(async (tx) => {
    attempts += 1;
    // Stands for the wait for a connection.
    await tx.many(sql`select pg_sleep(0.5)`);
    await lock(tx);
  });
  await expect(waiting).rejects.toMatchObject({ code: "unavailable", retryable: true });
  expect(attempts).toBe(1);
});

test("the error is that of the statement that failed, not of those behind it", async () => {
  const failed = db.tx(async (tx) => {
    const failing = async () => {
      await tx.many(sql`select 1 / 0`);
    };
    await Promise.all([failing(), tx.many(sql`select 1 as one`)]);
  });
  await expect(failed).rejects.toThrow("division by zero");
});

test("a failure that someone swallows cannot be committed, and is told", async () => {
  const swallowed = db.tx(async (tx) => {
    await tx.many(sql`select 1 / 0`).catch(() => {});
  });
  await expect(swallowed).rejects.toThrow("division by zero");
});

test("what is sent with the commit fails with its own error, and is tried again", async () => {
  const failing = () =>
    db.tx(async (tx) => {
      await tx.many(sql`select 1 as one`);
      tx.beforeCommit(() => [sql`select 1 / 0`, sql`select 2 as two`]);
    });
  for (let i = 0; i < 20; i++) await expect(failing()).rejects.toThrow("division by zero");
  let attempts = 0;
  await db.tx(async (tx) => {
    attempts += 1;
    // As PostgreSQL reports a serialization failure.
    const refused = sql`do $$ begin raise exception sqlstate '40001'; end $$`;
    if (attempts < 3) tx.beforeCommit(() => [refused]);
  });
  expect(attempts).toBe(3);
});

const REFUSED = sql`do $$ begin raise exception sqlstate '40001'; end $$`;

test("who is tried again meanwhile leaves the connection to others", async () => {
  const small = new Pool(database.connection, {
    max: 1,
    statement_timeout_ms: 5_000,
    lock_timeout_ms: LOCK_MS,
    application_name: "again",
  });
  let between: Promise<unknown> | undefined;
  const done: string[] = [];
  await small.tx(async (tx) => {
    if (between !== undefined) return done.push("again");
    between = small.one(ONE).then(() => done.push("between"));
    return tx.run(REFUSED);
  });
  await between;
  expect(done).toEqual(["between", "again"]);
  await small.end();
});

function isFull(pool: Pool): boolean {
  try {
    pool.admit();
    return false;
  } catch {
    return true;
  }
}

test("when somebody has waited long for a connection, whoever comes is told so at once", async () => {
  const small = new Pool(database.connection, {
    max: 1,
    statement_timeout_ms: 5_000,
    lock_timeout_ms: 2_000,
    queue_ms: 300,
    application_name: "queue",
  });
  const holder = await held(small, ONE);
  const waiting = small.one(sql`select 1 as one`);
  const also = small.one(sql`select 2 as two`);
  small.admit();
  await until(() => isFull(small));
  const started = performance.now();
  await expect(small.one(sql`select 3`)).rejects.toMatchObject({
    status: 503,
    headers: { "retry-after": "1" },
  });
  expect(performance.now() - started).toBeLessThan(100);
  holder.release();
  await holder.ended;
  expect([await waiting, await also]).toEqual([{ one: 1 }, { two: 2 }]);
  expect(await small.one(sql`select 4 as four`)).toEqual({ four: 4 });
  await small.end();
});

test("of a bounded queue, fifty wait for each connection and the next is refused at once", async () => {
  const small = new Pool(database.connection, {
    max: 1,
    statement_timeout_ms: 5_000,
    lock_timeout_ms: 2_000,
    queue_ms: 1_000,
    application_name: "queue",
  });
  const holder = await held(small, ONE);
  const waiting = Array.from({ length: 50 }, () => small.one(sql`select 1 as one`));
  await expect(small.one(sql`select 2`)).rejects.toMatchObject({
    status: 503,
    message: expect.stringContaining("Too many requests wait"),
  });
  expect(() => small.admit()).toThrow("Too many requests wait");
  expect(small.stats).toMatchObject({ waiting: 50, refused: 2 });
  holder.release();
  await holder.ended;
  expect((await Promise.all(waiting)).length).toBe(50);
  small.admit();
  expect(small.stats).toMatchObject({ waiting: 0, refused: 2 });
  await small.end();
});

test("a statement that fails leaves its connection usable", async () => {
  const pid = async () => (await one.one<{ pid: number }>(sql`select pg_backend_pid() as pid`)).pid;
  const one = new Pool(database.connection, {
    max: 1,
    statement_timeout_ms: 5_000,
    lock_timeout_ms: 2_000,
    application_name: "one",
  });
  const before = await pid();
  await expect(one.many(sql`select 1 / 0`)).rejects.toThrow("division by zero");
  expect(await pid()).toBe(before);
  await one.end();
});

/** A table whose rows make the commit do this. */
function atCommit(act: string) {
  return [
    sql`create temp table last_words (n integer)`,
    {
      text: `create function pg_temp.act() returns trigger language plpgsql
               as 'begin ${act}; return null; end'`,
      values: [],
    },
    sql`create constraint trigger act after insert on last_words deferrable initially deferred
          for each row execute function pg_temp.act()`,
    sql`insert into last_words values (1)`,
  ];
}

test("of a commit whose session ended nobody knows; an error says that nothing was written", async () => {
  const run = (act: string) =>
    db.tx(async (tx) => {
      for (const statement of atCommit(act)) await tx.run(statement);
    });
  const ended = run("perform pg_terminate_backend(pg_backend_pid()); perform pg_sleep(1)");
  await expect(ended).rejects.toThrow(UnknownOutcome);
  const full = run("raise sqlstate ''53100''").catch((error: unknown) => error);
  expect(await full).toMatchObject({ code: "unavailable", retryable: true });
  expect(await full).not.toBeInstanceOf(UnknownOutcome);
});
