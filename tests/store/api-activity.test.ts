// A close gives way while the API answers requests, so it must see them, and no other session.

import { afterAll, expect, test } from "vitest";
import { API_CONNECTION_NAME, isApiActive } from "../../src/store/api-activity.ts";
import { Pool } from "../../src/store/db.ts";
import { sql } from "../../src/store/sql.ts";
import { testDatabase } from "../support/database.ts";

const OPTIONS = { max: 1, statement_timeout_ms: 5_000, lock_timeout_ms: 5_000 };

const database = await testDatabase();
const api = new Pool(database.connection, { ...OPTIONS, application_name: API_CONNECTION_NAME });
const worker = new Pool(database.connection, { ...OPTIONS, application_name: "dues worker" });
afterAll(async () => {
  await api.end();
  await worker.end();
  await database.drop();
});

const LONG_AGO = sql`
  select count(*) as count
    from pg_stat_activity
   where datname = current_database() and application_name = ${API_CONNECTION_NAME}
     and state = 'active' and state_change < clock_timestamp() - interval '300 milliseconds'`;

test("the API is active while a request runs, however long, and for a moment after it", async () => {
  await worker.run(sql`select 1`);
  expect(await isApiActive(worker)).toBe(false);
  const asked = api.run(sql`select pg_sleep(1)`);
  const running = async () => (await worker.one<{ count: number }>(LONG_AGO)).count;
  await expect.poll(running, { timeout: 5_000, interval: 10 }).toBe(1);
  expect(await isApiActive(worker)).toBe(true);
  await asked;
  expect(await isApiActive(worker)).toBe(true);
  await expect.poll(() => isApiActive(worker), { timeout: 5_000 }).toBe(false);
});
