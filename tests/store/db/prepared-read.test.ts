// Reads whose columns are asked for once on a connection: the rows are those that the driver itself
// would have made, whatever came before.

import pg from "pg";
import { afterAll, expect, test } from "vitest";
import { PIPELINED, Pool } from "../../../src/store/db/db.ts";
import { Pipeline } from "../../../src/store/db/pipeline.ts";
import { PreparedRead } from "../../../src/store/db/prepared-read.ts";
import { streamOf } from "../../../src/store/db/silence.ts";
import { type Sql, sql } from "../../../src/store/db/sql.ts";
import { testDatabase } from "../../support/database.ts";

const OPTIONS = { max: 1, statement_timeout_ms: 5_000, lock_timeout_ms: 2_000 };

const database = await testDatabase();
const pool = new Pool(database.connection, { ...OPTIONS, application_name: "driver" });
const point = new Pipeline(database.connection, { ...OPTIONS, application_name: "described once" });
afterAll(async () => {
  await point.end();
  await pool.end();
  await database.drop();
});

const valuesOf = (n: number): Sql => sql`
  select ${n}::integer as whole, ${n}::bigint as big, 1.50::numeric as exact, null::text as nothing,
         'text' as text, '' as empty, true as flag, date '2026-02-03' as day,
         timestamptz '2026-02-03 04:05:06.789+00' as at, '{"a": [1]}'::jsonb as json,
         '{x,y}'::text[] as list, '\\x00ff'::bytea as bytes`;

test("are the same for the first, those sent with it, and all later ones", async () => {
  const wanted = await Promise.all([1, 2, 3].map((n) => pool.many(valuesOf(n))));
  expect(await Promise.all([1, 2, 3].map((n) => point.many(valuesOf(n))))).toEqual(wanted);
  for (const n of [1, 2, 3]) expect(await point.many(valuesOf(n))).toEqual(wanted[n - 1]);
});

test("are none, several, or counted alone", async () => {
  const upTo = (n: number) => sql`select * from generate_series(1, ${n}::integer) as n`;
  for (const n of [0, 1, 3, 0]) {
    expect(await point.many(upTo(n))).toEqual(Array.from({ length: n }, (_, i) => ({ n: i + 1 })));
    expect(await point.run(upTo(n))).toBe(n);
  }
});

test("come without a description from the second on", async () => {
  const client = new pg.Client({ ...database.connection, ...PIPELINED });
  await client.connect();
  const long = { text: "a_name_of_forty_characters_of_one_column", values: [] };
  const received = async () => {
    const before = streamOf(client).bytesRead;
    const read = await new Promise<PreparedRead>((resolve, reject) => {
      const sent = new PreparedRead(sql`select 1 as ${long}`, (error) =>
        error === null ? resolve(sent) : reject(error),
      );
      client.query(sent);
    });
    expect(read.found).toEqual([{ [long.text]: 1 }]);
    return streamOf(client).bytesRead - before;
  };
  const first = await received();
  expect(await received()).toBeLessThan(first - long.text.length);
  await client.end();
});

test("that cannot be read fail alone", async () => {
  const tooLarge = sql`select 9007199254740993::bigint as big`;
  for (let turn = 0; turn < 2; turn++) {
    const asked = [point.one(valuesOf(1)), point.one(tooLarge), point.one(valuesOf(2))];
    const told = await Promise.allSettled(asked);
    expect(told.map(({ status }) => status)).toEqual(["fulfilled", "rejected", "fulfilled"]);
  }
});

test("of a table that changed are refused, never mistaken", async () => {
  await pool.run(sql`create table changing (a integer, b text)`);
  await pool.run(sql`insert into changing values (1, 'one')`);
  const all = sql`select * from changing`;
  expect(await point.one(all)).toEqual({ a: 1, b: "one" });
  await pool.run(sql`alter table changing add column c integer`);
  await expect(point.one(all)).rejects.toThrow("cached plan must not change result type");
  expect(await point.one(sql`select a, b, c from changing`)).toEqual({ a: 1, b: "one", c: null });
});
