// A process that serves has a connection, also when nobody calls it: by its name others see that it
// is there, such as `dues cluster distribute`, which refuses then.

import { afterAll, expect, test, vi } from "vitest";
import { Pool } from "../../../src/store/db/db.ts";
import { sql } from "../../../src/store/db/sql.ts";
import { startApp } from "../../support/app.ts";

const app = await startApp();
afterAll(() => app.close());

const NAME = "dues idle";

async function pids(): Promise<number[]> {
  const rows = await app.context.db.many<{ pid: number }>(sql`
    select pid
      from pg_stat_activity
     where application_name = ${NAME}`);
  return rows.map(({ pid }) => pid);
}

test("the last connection is opened again when it ends", async () => {
  const pool = new Pool(app.connection, {
    max: 2,
    statement_timeout_ms: 5_000,
    lock_timeout_ms: 2_000,
    application_name: NAME,
  });
  await pool.one(sql`select 1 as one`);
  const [first] = await pids();
  await app.context.db.many(sql`select pg_terminate_backend(${first}::integer)`);
  await vi.waitFor(async () => {
    const after = await pids();
    expect(after).toHaveLength(1);
    expect(after).not.toContain(first);
  });
  await pool.end();
  await vi.waitFor(async () => expect(await pids()).toEqual([]));
});
