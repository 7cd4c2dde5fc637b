// A job that fails is tried again, and each failure is counted.

import { expect, test } from "vitest";
import { makeLog } from "../../src/log.ts";
import { jobFailures } from "../../src/telemetry.ts";
import { startLoop } from "../../src/workers/loop.ts";
import { testConfig } from "../support/app.ts";
import { until } from "../support/processes.ts";

async function failuresOf(job: string): Promise<number | undefined> {
  const { values } = await jobFailures.get();
  return values.find(({ labels }) => labels.job === job)?.value;
}

test("a failure is counted, and the job goes on", async () => {
  const name = "a test of loops";
  let ticks = 0;
  const job = {
    name,
    pause_ms: 60_000,
    async tick() {
      ticks += 1;
      if (ticks === 2 || ticks === 3) throw new Error("failed");
      return 0;
    },
  };
  expect(await failuresOf(name)).toBeUndefined();
  const loop = startLoop(job, makeLog(testConfig()));
  expect(await failuresOf(name)).toBe(0);
  await until(() => {
    loop.wake();
    return ticks === 4;
  });
  await loop.stop();
  expect(await failuresOf(name)).toBe(2);
});
