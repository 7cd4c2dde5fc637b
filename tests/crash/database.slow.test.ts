// The database's server crashes under load, and clocks disagree by a day: what was acknowledged is
// there, each thing happens once, and nothing needs a restart.

import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, expect, test } from "vitest";
import { startEmbedded } from "../../src/embedded/start.ts";
import { sql } from "../../src/store/db/sql.ts";
import { migrate } from "../../src/store/migration/migrate.ts";
import { quickFolder } from "../support/folders.ts";
import { checkInvariants } from "../support/invariants.ts";
import { type ServiceProcess, until } from "../support/processes.ts";
import { Fleet, monthsAhead } from "./fleet.ts";

const deep = process.env.DUES_DEEP === "1";
const TEST_MS = deep ? 600_000 : 180_000;
const CRASHES = deep ? 20 : 3;
const JUMPS = deep ? 21 : 5;
const BACK_MS = 5_000;
const DAY_AND_AN_HOUR_MS = 25 * 3_600_000;
/** Nothing more may be closed for so long. */
const STAYS_MS = 1_500;

let fleet: Fleet;
const undo: (() => Promise<unknown>)[] = [];

afterEach(async () => {
  await fleet.close();
  for (const step of undo.splice(0).reverse()) await step();
});

/** A server of its own, because all that use it lose their connections. */
async function openServer(): Promise<Fleet> {
  const folder = await mkdtemp(join(quickFolder(), "dues-crash-"));
  const embedded = await startEmbedded({ folder, application_name: `crash (${process.pid})` });
  undo.push(
    () => rm(folder, { recursive: true, force: true }),
    () => embedded.stop(),
  );
  await migrate(embedded.connection);
  return Fleet.open({ connection: embedded.connection, drop: async () => {} });
}

/** Sends events until told to stop; keeps what was acknowledged. */
function load(api: ServiceProcess, callers: number) {
  const acknowledged = new Set<string>();
  const others: number[] = [];
  let stopped = false;
  let n = 0;
  const running = Array.from({ length: callers }, async () => {
    while (!stopped) {
      const transaction_id = `e${n++}`;
      const event = { transaction_id, subscription_id: "ext:s1", code: "calls" };
      const body = { ...event, properties: { n: "1" } };
      const { status } = await fleet.caller.call(api, "POST", "/v1/events", body);
      if (status === 200) acknowledged.add(transaction_id);
      else if (status !== 503) others.push(status);
    }
  });
  const stop = async () => {
    stopped = true;
    await Promise.all(running);
    return { acknowledged, others };
  };
  return { acknowledged, stop };
}

/** A server has one, and another after each crash; none while it cannot be asked. */
async function checkpointers(): Promise<number[]> {
  const asked = fleet.db.many<{ pid: number }>(sql`
    select pid
      from pg_stat_activity
     where backend_type = 'checkpointer'`);
  const rows = await asked.catch(() => []);
  return rows.map(({ pid }) => pid);
}

test("a server that crashes again and again: 503 meanwhile, nothing acknowledged is lost", {
  timeout: TEST_MS,
}, async () => {
  fleet = await openServer();
  const [api] = await fleet.start("all");
  await fleet.makeSubscriptions(api, 1);
  const sending = load(api, 8);
  const goesOn = async () => {
    const before = sending.acknowledged.size;
    await until(() => sending.acknowledged.size > before + 50, BACK_MS);
  };
  await goesOn();
  for (let crash = 0; crash < CRASHES; crash++) {
    const [before] = await checkpointers();
    // The server ends all its processes and recovers when one of them is killed.
    const { pid } = await fleet.db.one<{ pid: number }>(sql`
      select pid
        from pg_stat_activity
       where application_name = 'dues api'
       limit 1`);
    process.kill(pid, "SIGKILL");
    await until(async () => {
      const [after] = await checkpointers();
      return after !== undefined && after !== before;
    }, BACK_MS);
    await goesOn();
  }
  const { acknowledged, others } = await sending.stop();
  expect(others).toEqual([]);
  const rows = await fleet.db.many<{ transaction_id: string }>(sql`
    select transaction_id
      from usage_events
     where project_id = ${fleet.profile.project_id}`);
  const stored = new Set(rows.map(({ transaction_id }) => transaction_id));
  expect([...acknowledged].filter((id) => !stored.has(id))).toEqual([]);
  expect(await checkInvariants(fleet.db)).toEqual([]);
});

test("two instances a day and an hour apart, whose clocks jump, close each period once", {
  timeout: TEST_MS,
}, async () => {
  const many = 100;
  fleet = await Fleet.open();
  const [api] = await fleet.start("api");
  await fleet.makeSubscriptions(api, many);
  const [early] = await fleet.start("worker");
  const [late] = await fleet.start("worker");
  for (let month = 1; month <= JUMPS; month++) {
    const [first, second] = month % 2 === 0 ? [early, late] : [late, early];
    first.moveClock(monthsAhead(month) + DAY_AND_AN_HOUR_MS);
    second.moveClock(monthsAhead(month));
    await until(async () => (await fleet.count("invoices")) >= many * month, TEST_MS);
    // And back again: what is closed stays closed.
    first.moveClock(monthsAhead(month) - DAY_AND_AN_HOUR_MS);
  }
  await pause(STAYS_MS);
  expect(await fleet.count("invoices")).toBe(many * JUMPS);
  expect(await checkInvariants(fleet.db)).toEqual([]);
});
