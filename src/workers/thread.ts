// The entry point of the workers' thread: see `startWorkerThread`.

import { constants, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { ApiActivity } from "../api-activity.ts";
import { systemClock } from "../clock.ts";
import { makeLog } from "../log.ts";
import { takeSnapshot } from "../telemetry.ts";
import { startWorkersWithPool, type ThreadData } from "./start.ts";
import type { ThreadRequest } from "./thread-messages.ts";

const { config, connection, spread, secret_key, activity } = workerData as ThreadData;
// On Linux priority is per thread: this one yields to the thread that answers callers.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
const context = {
  config,
  clock: systemClock,
  log: makeLog(config),
  secret_key: Buffer.from(secret_key),
  api_activity: new ApiActivity(activity),
};
const stop = startWorkersWithPool(context, connection, spread);

parentPort?.on("message", async (request: ThreadRequest) => {
  if (request === "metrics") {
    parentPort?.postMessage(await takeSnapshot());
    return;
  }
  await stop();
  process.exit(0);
});
