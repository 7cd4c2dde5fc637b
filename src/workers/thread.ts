// The workers' own thread: what `startThread` runs.

import { constants, setPriority } from "node:os";
import { parentPort, workerData } from "node:worker_threads";
import { systemClock } from "../clock.ts";
import { makeLog } from "../log.ts";
import { type Orders, startWork } from "./start.ts";

const { config, connection, secret_key } = workerData as Orders;
// Linux keeps a priority for each thread: this one gives way to those who answer callers.
if (process.platform === "linux") setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
const context = {
  config,
  clock: systemClock,
  log: makeLog(config),
  secret_key: Buffer.from(secret_key),
};
const stop = startWork(context, connection);

parentPort?.once("message", async () => {
  await stop();
  process.exit(0);
});
