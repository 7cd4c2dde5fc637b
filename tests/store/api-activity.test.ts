// A close gives way while the API answers requests, so it must see them, and no other session.

import { setTimeout as pause } from "node:timers/promises";
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

test("the API is active while a request runs, and for a moment after it", async () => {
  await worker.run(sql`select 1`);
  expect(await isApiActive(worker)).toBe(false);
  const asked = api.run(sql`select pg_sleep(1)`);
  await pause(500);
  // It has run for longer than the moment that counts.
  expect(await isApiActive(worker)).toBe(true);
  await asked;
  expect(await isApiActive(worker)).toBe(true);
  await pause(400);
  expect(await isApiActive(worker)).toBe(false);
});
