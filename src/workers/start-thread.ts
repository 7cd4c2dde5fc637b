// Starts and stops the thread of the workers, for a process that also answers callers. What the
// workers do is loaded in the thread alone.

import { Worker } from "node:worker_threads";
import { ENTRIES } from "../built.ts";
import type { Config } from "../config.ts";
import type { Connection } from "../store/db/db.ts";
import { includeThread } from "../telemetry.ts";
import type { Workers } from "./loop.ts";
import { jobsOf, snapshotsOf, type ThreadRequest } from "./thread-messages.ts";

/** Caps the young generation of the thread's heap: same speed, and the process holds 40 MB less. */
const LIMITS = { maxYoungGenerationSizeMb: 6 };

/** What the thread is started with; it opens its own connections. */
export type ThreadData = {
  readonly config: Config;
  readonly connection: Connection;
  /** Whether the projects are spread over the nodes of a cluster. */
  readonly spread: boolean;
  readonly secret_key: Uint8Array;
  readonly activity: SharedArrayBuffer;
};

/**
 * Runs the workers in a thread of their own, for processes that also answer callers: a close
 * computes for tens of milliseconds at a time, and on one thread the p99 of callers was nearly 20
 * times its idle value (decision 9). If the thread fails, the process fails, as with any other
 * unexpected error.
 */
export function startWorkerThread(data: ThreadData): Workers {
  const thread = new Worker(ENTRIES.workers, { workerData: data, resourceLimits: LIMITS });
  const excludeThread = includeThread(snapshotsOf(thread));
  const jobs = jobsOf(thread);
  let stopping = false;
  const exited = new Promise<void>((resolve) => thread.once("exit", () => resolve()));
  thread.on("error", (error) => {
    throw error;
  });
  thread.on("exit", (code) => {
    if (!stopping) throw new Error(`The workers' thread ended by itself (${code}).`);
  });
  const stop = async () => {
    stopping = true;
    excludeThread();
    thread.postMessage("stop" satisfies ThreadRequest);
    await exited;
  };
  return { jobs, stop };
}
