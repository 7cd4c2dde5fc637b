// A process whose clock is not the database's: it bills and removes nothing, and says why.

import pino from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { apiServer } from "../../src/service/api-server.ts";
import { sql } from "../../src/store/db/sql.ts";
import { schemaVersion } from "../../src/store/migration/migrate.ts";
import { ClockGuard } from "../../src/workers/clock-guard.ts";
import type { Job } from "../../src/workers/loop.ts";
import { idempotencySweepJob, webhookSweepJob } from "../../src/workers/sweep.ts";
import { type App, startApp, testConfig } from "../support/app.ts";

const DAY_S = 86_400;

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

/** The context of a process whose clock is so many seconds ahead. */
function contextAhead(seconds: number, env: Record<string, string> = {}) {
  const clock = { now: () => new Date(Date.now() + seconds * 1_000) };
  return { ...app.context, clock, config: testConfig(env) };
}

/** A job that does so much in each tick. */
function doing(done: number): Job {
  const tick = async () => ({ done, more: false });
  return { name: "any", description: "Nothing.", pause_ms: 1, tick };
}

async function ticksOf(context: ReturnType<typeof contextAhead>): Promise<number> {
  const guard = new ClockGuard({ ...context, log: pino({ level: "silent" }) });
  return (await guard.whileRight(doing(1)).tick()).done;
}

test.each([
  [40 * DAY_S, 0],
  [-40 * DAY_S, 0],
  [62, 0],
  [-62, 0],
  [50, 1],
  [-50, 1],
])("with a clock that is %d s ahead a job runs %d times", async (seconds, ticks) => {
  expect(await ticksOf(contextAhead(seconds))).toBe(ticks);
});

test("the limit is a setting, and 0 switches it off", async () => {
  expect(await ticksOf(contextAhead(5, { CLOCK_SKEW_LIMIT_S: "2" }))).toBe(0);
  expect(await ticksOf(contextAhead(40 * DAY_S, { CLOCK_SKEW_LIMIT_S: "0" }))).toBe(1);
});

test("it is told when it begins and when it is over, and goes on then", async () => {
  const lines: string[] = [];
  const log = pino({ level: "info" }, { write: (line) => lines.push(JSON.parse(line).msg) });
  let seconds = 3_600;
  const clock = { now: () => new Date(Date.now() + seconds * 1_000) };
  const guard = new ClockGuard({ ...contextAhead(0), clock, log });
  const job = guard.whileRight(doing(7));
  expect([(await job.tick()).done, (await job.tick()).done]).toEqual([0, 0]);
  seconds = 0;
  expect((await job.tick()).done).toBe(7);
  expect(lines).toEqual([
    expect.stringMatching(/^The clock of this process is 3600 s ahead of the database's/),
    "the clocks agree again",
  ]);
});

test.each([
  [40 * DAY_S, /3456000 s ahead of the database's, and 60 s are allowed/],
  [-26 * 3_600, /93600 s behind the database's/],
])("/readyz with a clock that is %d s ahead is 503 and says by how much", async (seconds, text) => {
  const readiness = { draining: false, schema_version: await schemaVersion(), warnings: [] };
  const { fastify } = apiServer(contextAhead(seconds), readiness);
  const answer = await fastify.inject({ url: "/readyz" });
  expect(answer.statusCode).toBe(503);
  expect(answer.json().error.message).toMatch(text);
});

test("what is kept for a time is removed by the database's clock", async () => {
  const key = { "idempotency-key": "kept" };
  const body = { external_id: "c", name: "C" };
  await app.post("/v1/customers", body, key);
  const context = contextAhead(400 * DAY_S);
  expect(await idempotencySweepJob(context).tick()).toMatchObject({ done: 0 });
  expect(await webhookSweepJob(context).tick()).toMatchObject({ done: 0 });
  const again = await app.call("POST", "/v1/customers", body, key);
  expect(again.headers["idempotent-replayed"]).toBe("true");
  await app.context.db.run(sql`
    update idempotency_keys
       set created_at = created_at - interval '31 days'`);
  const behind = contextAhead(-400 * DAY_S);
  expect(await idempotencySweepJob(behind).tick()).toMatchObject({ done: 1 });
});
