// The database goes silent: routes are lost, or its server stands still. Every caller is answered
// in time, who repeats is counted once, and nothing needs a restart.

import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeAll, expect, test } from "vitest";
import { startEmbedded } from "../../src/embedded/start.ts";
import { sql } from "../../src/store/db/sql.ts";
import { migrate } from "../../src/store/migration/migrate.ts";
import { quickFolder } from "../support/folders.ts";
import { Caller, type ServiceProcess, startService, until } from "../support/processes.ts";
import { SilentProxy } from "../support/silent-proxy.ts";
import { Fleet } from "./fleet.ts";

const TEST_MS = 120_000;
const ANSWERED_MS = 5_000;
const GIVEN_UP_MS = 10_000;
const STANDS_STILL_MS = process.env.DUES_DEEP === "1" ? 20_000 : 9_000;
const CALLERS = 70;
/** Who was refused sends the same again after this. */
const AGAIN_MS = 200;

let fleet: Fleet;
let service: ServiceProcess | undefined;
const undo: (() => Promise<unknown>)[] = [];

beforeAll(() => {
  // Signals to the processes of the server are sent by these.
  execFileSync("pgrep", ["-V"]);
});

afterEach(async () => {
  await service?.signal("SIGKILL");
  await fleet.close();
  for (const step of undo.splice(0).reverse()) await step();
});

type Answer = { readonly status: number; readonly at_ms: number; readonly took_ms: number };

/** Calls by turns until told to stop; every answer with its time. */
function load(api: ServiceProcess, callers: number) {
  const answers: Answer[] = [];
  let stopped = false;
  let n = 0;
  const call = async () => {
    const at = performance.now();
    const turn = n++;
    const asked =
      turn % 3 === 0
        ? fleet.caller.call(api, "GET", "/v1/customers/ext:c")
        : turn % 3 === 1
          ? fleet.caller.call(api, "POST", "/v1/events", event(`load ${turn}`))
          : fleet.caller.call(api, "PATCH", "/v1/customers/ext:c", { name: `C ${turn}` });
    const { status } = await asked;
    answers.push({ status, at_ms: at, took_ms: performance.now() - at });
  };
  const running = Array.from({ length: callers }, async () => {
    while (!stopped) {
      await call();
      await pause(20);
    }
  });
  const stop = async () => {
    stopped = true;
    await Promise.all(running);
  };
  return { answers, stop };
}

function event(transaction_id: string) {
  const properties = { n: "1" };
  return { transaction_id, subscription_id: "ext:s1", code: "calls", properties };
}

test("routes that are lost are given up within 10 s", { timeout: TEST_MS }, async () => {
  fleet = await Fleet.open();
  const proxy = await SilentProxy.open(fleet.connection);
  undo.push(() => proxy.close());
  service = await startService({ connection: proxy.connection, role: "all" });
  await fleet.makeSubscriptions(service, 1);
  const { answers, stop } = load(service, 6);
  await until(() => answers.length >= 100);
  proxy.loseRoutes();
  await pause(GIVEN_UP_MS);
  const given_up_ms = performance.now();
  const after = () => answers.filter(({ at_ms }) => at_ms > given_up_ms);
  await until(() => after().length >= 100);
  await stop();
  expect(answers.filter(({ status }) => status !== 503 && status >= 300)).toEqual([]);
  expect(answers.some(({ status }) => status === 503)).toBe(true);
  expect(Math.max(...answers.map(({ took_ms }) => took_ms))).toBeLessThan(ANSWERED_MS);
  expect(after().filter(({ status }) => status >= 300)).toEqual([]);
});

test("a server that stands still: 503 within 5 s, and who repeats is counted once", {
  timeout: TEST_MS,
}, async () => {
  const folder = await mkdtemp(join(quickFolder(), "dues-still-"));
  const embedded = await startEmbedded({ folder, application_name: `still (${process.pid})` });
  undo.push(
    () => rm(folder, { recursive: true, force: true }),
    () => embedded.stop(),
  );
  const { connection } = embedded;
  await migrate(connection);
  fleet = await Fleet.open({ connection, drop: async () => {} });
  service = await startService({ connection, role: "all" });
  await fleet.makeSubscriptions(service, 1);
  // Each with a connection of its own: who waits for one is not waiting for an answer.
  const callers = new Caller(fleet.profile, CALLERS);
  undo.push(() => callers.close());
  const server = await postmaster();
  const api = service;
  signal(server, "STOP");
  undo.push(async () => signal(server, "CONT"));
  const took: number[] = [];
  const refused: number[] = [];
  const insist = async (n: number) => {
    for (;;) {
      const at = performance.now();
      const { status, body } = await callers.call(api, "POST", "/v1/events", event(`e${n}`));
      took.push(performance.now() - at);
      if (status === 200) return;
      const said = { status, ...body.error };
      expect(said).toMatchObject({ status: 503, code: "unavailable", retryable: true });
      refused.push(n);
      await pause(AGAIN_MS);
    }
  };
  const insisting = Promise.all(Array.from({ length: CALLERS }, (_, n) => insist(n)));
  await pause(STANDS_STILL_MS);
  signal(server, "CONT");
  await insisting;
  expect(new Set(refused).size).toBe(CALLERS);
  expect(Math.max(...took)).toBeLessThan(ANSWERED_MS);
  const usage = await fleet.db.one(sql`
    select count(*) as events, count(distinct transaction_id) as sent
      from usage_events
     where project_id = ${fleet.profile.project_id}`);
  expect(usage).toEqual({ events: CALLERS, sent: CALLERS });
  const { count } = await fleet.db.one<{ count: number }>(sql`
    select sum(events)::integer as count
      from usage_days
     where project_id = ${fleet.profile.project_id}`);
  expect(count).toBe(CALLERS);
});

async function postmaster(): Promise<number> {
  const { pid } = await fleet.db.one<{ pid: number }>(sql`select pg_backend_pid() as pid`);
  return Number(execFileSync("ps", ["-o", "ppid=", "-p", String(pid)], { encoding: "utf8" }));
}

/** To the server and all its processes; first to the one that would start more. */
function signal(pid: number, name: "STOP" | "CONT"): void {
  const children = execFileSync("pgrep", ["-P", String(pid)], { encoding: "utf8" });
  for (const each of [pid, ...children.trim().split("\n").map(Number)]) {
    try {
      process.kill(each, `SIG${name}`);
    } catch (error) {
      // One that has ended since.
      if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
    }
  }
}
