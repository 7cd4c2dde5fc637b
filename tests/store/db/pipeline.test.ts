// Reads that share connections: each gets its own answer, and what befalls one befalls no other.

import { afterAll, expect, test } from "vitest";
import { Pool } from "../../../src/store/db/db.ts";
import { Pipeline } from "../../../src/store/db/pipeline.ts";
import { sql } from "../../../src/store/db/sql.ts";
import { testDatabase } from "../../support/database.ts";

const OPTIONS = {
  max: 2,
  statement_timeout_ms: 5_000,
  lock_timeout_ms: 2_000,
  application_name: "pipeline",
};

const database = await testDatabase();
const point = new Pipeline(database.connection, OPTIONS);
const pool = new Pool(database.connection, { ...OPTIONS, application_name: "beside" });
afterAll(async () => {
  await point.end();
  await pool.end();
  await database.drop();
});

const number = (n: number) => point.one<{ n: number }>(sql`select ${n}::integer as n`);

test("a thousand at once are answered each with its own", async () => {
  const wanted = Array.from({ length: 1_000 }, (_, n) => n);
  expect(await Promise.all(wanted.map(number))).toEqual(wanted.map((n) => ({ n })));
  const { count } = await pool.one<{ count: number }>(sql`
    select count(*) from pg_stat_activity
     where application_name = 'pipeline' and datname = current_database()`);
  expect(count).toBeLessThanOrEqual(OPTIONS.max);
});

test("who comes one after the other never waits behind a slow one", async () => {
  let isAnswered = false;
  const slow = point.many(sql`select pg_sleep(0.5)`).then(() => {
    isAnswered = true;
  });
  for (let n = 0; n < 10; n++) expect(await number(n)).toEqual({ n });
  expect(isAnswered).toBe(false);
  await slow;
});

test("who reads alone stays on a connection that is open, also when another one broke", async () => {
  const backend = async () =>
    (await point.one<{ pid: number }>(sql`select pg_backend_pid() as pid`)).pid;
  const [first, second] = await Promise.all([backend(), backend()]);
  expect(second).not.toBe(first);
  expect(await backend()).toBe(first);
  await pool.run(sql`select pg_terminate_backend(${first}::integer)`);
  await expect.poll(() => backend().catch(() => first)).toBe(second);
  for (let n = 0; n < 5; n++) expect(await backend()).toBe(second);
});

test("one that fails is told so, and those before and behind it are not", async () => {
  const asked = await Promise.allSettled([
    number(1),
    point.many(sql`select 1 / 0`),
    number(2),
    point.many(sql`select * from nowhere`),
    number(3),
  ]);
  expect(asked.map(({ status }) => status)).toEqual([
    ...["fulfilled", "rejected", "fulfilled", "rejected", "fulfilled"],
  ]);
});

test("a connection that is cut is a 503 for who waits on it, and replaced for who comes after", async () => {
  await Promise.all([number(1), number(2)]);
  const waiting = expect(point.many(sql`select pg_sleep(5)`)).rejects.toMatchObject({
    code: "unavailable",
    status: 503,
  });
  await pool.run(sql`
    select pg_terminate_backend(pid) from pg_stat_activity
     where application_name = 'pipeline' and datname = current_database()`);
  await waiting;
  await expect.poll(() => number(7).catch(() => undefined)).toEqual({ n: 7 });
  expect(await Promise.all([number(8), number(9)])).toEqual([{ n: 8 }, { n: 9 }]);
});
