// The entry point of the workers' thread: see start-thread.ts.

import { constants, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { ApiActivity } from "../api-activity.ts";
import { systemClock } from "../clock.ts";
import { makeLog } from "../log.ts";
import { takeSnapshot } from "../telemetry.ts";
import { startWorkersWithPool } from "./start.ts";
import type { ThreadData } from "./start-thread.ts";
import { JOBS_MS, type ThreadReport, type ThreadRequest } from "./thread-messages.ts";

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
const workers = startWorkersWithPool(context, connection, spread);
const report = (about: ThreadReport) => parentPort?.postMessage(about);
const reportJobs = () => report({ jobs: workers.jobs() });
// At once as well: whoever asks in the first second learns which jobs there are.
reportJobs();
setInterval(reportJobs, JOBS_MS);

parentPort?.on("message", async (request: ThreadRequest) => {
  if (request === "metrics") {
    report({ metrics: await takeSnapshot() });
    return;
  }
  await workers.stop();
  process.exit(0);
});
