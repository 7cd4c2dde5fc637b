// `dues serve`: starts everything in order, from the database to the last loop, and stops it in
// reverse. What is started stands in the files beside this one.

import { constants, setPriority } from "node:os";
import { ApiActivity } from "../api-activity.ts";
import { systemClock } from "../clock.ts";
import { type Config, type Role, warningsOf } from "../config.ts";
import type { Context } from "../context.ts";
import { HELD, type Readiness } from "../http/readiness.ts";
import type { HttpServer } from "../http/server.ts";
import { makeLog } from "../log.ts";
import type { JobRun } from "../schema/jobs.ts";
import { holdIfMoved } from "../store/backup/home.ts";
import { heldSince } from "../store/backup/installation.ts";
import { isSpread } from "../store/cluster/placement.ts";
import type { Connection } from "../store/db/db.ts";
import { schemaVersion } from "../store/migration/migrate.ts";
import { type Job, startLoop, type Workers } from "../workers/loop.ts";
import { startWorkerThread } from "../workers/start-thread.ts";
import { firstTenant } from "./first-tenant.ts";
import { drain, listen, listenForHealth } from "./listen.ts";
import { migrateStore, openKey, openStore } from "./open-store.ts";
import { keepProfile, type Profile } from "./profile.ts";
import { requestAccess, requestPool } from "./request-pool.ts";

const LAST_USED_PAUSE_MS = 30_000;

export type Running = {
  readonly base_url: string;
  readonly profile: Profile | undefined;
  /** True when this start made the token: it is printed, and never again. */
  readonly first: boolean;
  stop(): Promise<void>;
};

export type ServeOptions = {
  readonly config: Config;
  readonly role: Role;
  readonly say: (line: string) => void;
  /** The embedded database ended unexpectedly: the service must stop. */
  readonly onLost: (why: string) => void;
};

/** Starts everything, and returns when the service answers requests. */
export async function serve({ config, role, say, onLost }: ServeOptions): Promise<Running> {
  const log = makeLog(config);
  const store = await openStore(config, { hold: true, verb: "serve", say, onLost });
  const undo: (() => Promise<unknown>)[] = [() => store.stop()];
  try {
    const { connection } = store;
    await migrateStore(store, say);
    const pool = requestPool(connection, config);
    undo.push(() => pool.end());
    const secret_key = await openKey(pool, config, systemClock.now());
    const health = {
      draining: false,
      starting: true,
      schema_version: await schemaVersion(),
      warnings: warningsOf(config),
    };
    for (const warning of health.warnings) log.warn(warning);
    await holdIfMoved(connection, systemClock.now());
    if ((await heldSince(pool)) !== null) say(HELD);
    const spread = await isSpread(pool);
    const { end, writeFaults, ...access } = requestAccess(pool, connection, config, spread);
    const running: (() => readonly JobRun[])[] = [];
    const jobs = () => running.flatMap((lastRuns) => lastRuns());
    const readiness = { ...health, writeFaults, jobs };
    undo.push(end);
    const api_activity = new ApiActivity();
    const context = { config, clock: systemClock, log, secret_key, api_activity, ...access };
    if (role !== "api") {
      const workers = await workersFor(role, context, connection, spread);
      undo.push(workers.stop);
      running.push(workers.jobs);
    }
    undo.push(await listenForHealth(context, readiness));
    const server = await serverFor(role, context, readiness);
    const base_url = await listen(server, config);
    undo.push(() => drain(server, readiness));
    const lastUsed = startLoop(lastUsedJob(server), context);
    undo.push(lastUsed.stop);
    running.push(() => [lastUsed.lastRun()]);
    // Behind whatever can fail: a token that nobody was shown would be lost.
    const made = await firstTenant(pool, config, systemClock.now());
    const profile = keepProfile(config, base_url, made);
    readiness.starting = false;
    return { base_url, profile, first: made !== undefined, stop: () => unwind(undo) };
  } catch (error) {
    await unwind(undo);
    throw error;
  }
}

/** A role loads what it needs: the API takes half of the time in which a process starts. */
async function serverFor(role: Role, context: Context, readiness: Readiness): Promise<HttpServer> {
  if (role === "worker") {
    const { workerServer } = await import("./worker-server.ts");
    return workerServer(context, readiness);
  }
  const { apiServer } = await import("./api-server.ts");
  return apiServer(context, readiness);
}

/** Beside callers the workers have a thread of their own, which alone loads what they need. */
async function workersFor(
  role: "all" | "worker",
  context: Context,
  connection: Connection,
  spread: boolean,
): Promise<Workers> {
  if (role === "all") {
    const { config, secret_key, api_activity } = context;
    const activity = api_activity.shared;
    return startWorkerThread({ config, connection, spread, secret_key, activity });
  }
  const { startWorkersWithPool } = await import("../workers/start.ts");
  // Yields to API processes on the same machine.
  setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
  return startWorkersWithPool(context, connection, spread);
}

/** Writes down which tokens were used. */
function lastUsedJob({ gate }: HttpServer): Job {
  return {
    name: "last_used",
    description: "Tokens whose last use was written.",
    pause_ms: LAST_USED_PAUSE_MS,
    tick: async () => ({ done: await gate.flushLastUsed(), more: false }),
  };
}

/** Runs the clean-up steps in reverse order of the start. */
async function unwind(undo: (() => Promise<unknown>)[]): Promise<void> {
  for (const step of undo.splice(0).reverse()) await step();
}
