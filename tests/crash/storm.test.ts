// A storm of every kind of call on one project, beside scheduled starts, closes and new prices:
// nobody waits in a ring, nobody is told that what is there is not, or to come again later (but for
// usage while too much of it waits, which is sent again), and the books are sound.

import { setTimeout as pause } from "node:timers/promises";
import { expect, test } from "vitest";
import { apiServer } from "../../src/service/api-server.ts";
import { Pool } from "../../src/store/db/db.ts";
import { sql } from "../../src/store/db/sql.ts";
import { billingJob } from "../../src/workers/billing.ts";
import { watchWalletsJob } from "../../src/workers/watch-wallets.ts";
import { type Answer, App, startApp } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { onCluster } from "../support/database.ts";
import { checkInvariants } from "../support/invariants.ts";
import { until } from "../support/processes.ts";
import { runToEnd } from "../support/run-job.ts";
import { CALLS, pick, reprice, Stock } from "./storm-calls.ts";

const deep = process.env.DUES_DEEP === "1";
const STORM_MS = deep ? 40_000 : 6_000;
const CALLERS = 8;
/** In the service's time; every week is closed several times in it. */
const STORM_DAYS = 30;
const START = Date.parse("2026-01-05T00:00:00.000Z");
const PRICE_PAUSE_MS = 100;
const JOB_PAUSE_MS = 20;
const DAY_MS = 86_400_000;
const POOL = { max: 16, statement_timeout_ms: 60_000, lock_timeout_ms: 30_000 };

/** From START on, so many times as fast as the world outside. */
class FastClock {
  #from: number | undefined;

  now(): Date {
    const passed = this.#from === undefined ? 0 : performance.now() - this.#from;
    return new Date(START + Math.min(1, passed / STORM_MS) * STORM_DAYS * DAY_MS);
  }

  start(): void {
    this.#from = performance.now();
  }
}

test("every kind of call at once: no ring, and nothing that is there is missed", {
  timeout: 300_000,
}, async () => {
  const clock = new FastClock();
  const own = await startApp({ mode: "live", clock });
  const pool = new Pool(own.connection, { ...POOL, application_name: "storm" });
  const context = { ...own.context, db: pool, clock };
  const server = apiServer(context, { draining: false, schema_version: 0, warnings: [] });
  const { connection, profile } = own;
  const app = new App({ server, context, connection, profile, close: async () => {} });
  const who = { token: profile.token, project: profile.project_id };
  const stock = await new Stock(new Client(app, who), () => clock.now()).fill();

  const answers = new Map<string, number>();
  const wrong: unknown[] = [];
  const note = (kind: string, { status, body }: Answer) => {
    answers.set(kind, (answers.get(kind) ?? 0) + 1);
    const isMissed = status === 404 || status >= 500;
    if (isMissed) wrong.push([kind, status, body.error]);
  };
  clock.start();
  const end = performance.now() + STORM_MS;
  const whileItLasts = async (work: () => Promise<unknown>) => {
    while (performance.now() < end) await work();
  };
  const kinds = Object.keys(CALLS) as (keyof typeof CALLS)[];
  const jobs = [billingJob(context), billingJob(context), watchWalletsJob(context)];
  await Promise.all([
    ...Array.from({ length: CALLERS }, (_, i) => {
      // All of them are made, however slow the machine is; then chance has it.
      const first = kinds.filter((_, no) => no % CALLERS === i);
      const call = async (kind: keyof typeof CALLS) => note(kind, await CALLS[kind](stock));
      const all = first.reduce((before, kind) => before.then(() => call(kind)), call(pick(kinds)));
      return all.then(() => whileItLasts(() => call(pick(kinds))));
    }),
    whileItLasts(async () => {
      note("price", await reprice(stock));
      await pause(PRICE_PAUSE_MS);
    }),
    ...jobs.map((job) =>
      whileItLasts(async () => {
        await job.tick();
        await pause(JOB_PAUSE_MS);
      }),
    ),
  ]);
  for (const job of jobs) await runToEnd(job);

  expect(wrong).toEqual([]);
  expect(kinds.length).toBeGreaterThan(30);
  expect(kinds.filter((kind) => !answers.has(kind))).toEqual([]);
  expect(await checkInvariants(own.context.db)).toEqual([]);
  await pool.end();
  // On a cluster each node would have to be asked.
  if (!onCluster) expect(await ringsOf(own)).toBe(0);
  await own.close();
});

/** As the database itself counts them, once those who saw them have ended and told it. */
async function ringsOf({ context }: App): Promise<number> {
  const storm = sql`
    select count(*) as count
      from pg_stat_activity
     where application_name = 'storm' and datname = current_database()`;
  await until(async () => (await context.db.one<{ count: number }>(storm)).count === 0);
  const { deadlocks } = await context.db.one<{ deadlocks: number }>(sql`
    select deadlocks
      from pg_stat_database
     where datname = current_database()`);
  return deadlocks;
}
