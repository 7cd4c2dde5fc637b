// A close gives way while callers are being answered, so it must see them, and nobody else.

import { setTimeout as pause } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import { ANSWERING, areBeingAnswered } from "../../src/store/api-activity.ts";
import { Pool } from "../../src/store/db.ts";
import { sql } from "../../src/store/sql.ts";
import { testDatabase } from "../support/database.ts";

const OPTIONS = { max: 1, statement_timeout_ms: 5_000, lock_timeout_ms: 5_000 };

const database = await testDatabase();
const api = new Pool(database.connection, { ...OPTIONS, application_name: ANSWERING });
const worker = new Pool(database.connection, { ...OPTIONS, application_name: "dues worker" });
afterAll(async () => {
  await api.end();
  await worker.end();
  await database.drop();
});

test("callers are seen while they are answered, and forgotten a moment later", async () => {
  await worker.run(sql`select 1`);
  expect(await areBeingAnswered(worker)).toBe(false);
  const asked = api.run(sql`select pg_sleep(1)`);
  await pause(500);
  // It has run for longer than the moment that counts.
  expect(await areBeingAnswered(worker)).toBe(true);
  await asked;
  expect(await areBeingAnswered(worker)).toBe(true);
  await pause(400);
  expect(await areBeingAnswered(worker)).toBe(false);
});
