// A job that fails is tried again, and each failure is counted; what its last run did is told.

import { expect, test } from "vitest";
import { makeLog } from "../../src/log.ts";
import { jobFailures, jobLastRun } from "../../src/telemetry.ts";
import { type Job, type Loop, startLoop, type TickReport } from "../../src/workers/loop.ts";
import { testConfig } from "../support/app.ts";
import { until } from "../support/processes.ts";

const NOW = new Date("2026-03-01T00:00:00.000Z");
const NOTHING: TickReport = { done: 0, more: false };
const about = { description: "Tests passed.", pause_ms: 60_000 };

function start(name: string, tick: Job["tick"]): Loop {
  return startLoop(
    { name, ...about, tick },
    { clock: { now: () => NOW }, log: makeLog(testConfig()) },
  );
}

/** A job whose ticks are these, one each time that it is woken. */
function told(name: string, ticks: readonly (() => TickReport)[]) {
  let ran = 0;
  const loop = start(name, async () => {
    const tick = ticks[ran];
    ran += 1;
    return tick?.() ?? NOTHING;
  });
  const hasRun = (count: number) =>
    until(() => {
      if (ran < count) loop.wake();
      return ran >= count;
    });
  return { loop, hasRun };
}

function fail(): never {
  throw new Error("failed");
}

async function metricOf(metric: typeof jobFailures | typeof jobLastRun, job: string) {
  const { values } = await metric.get();
  return values.find(({ labels }) => labels.job === job)?.value;
}

test("a failure is counted, and the job goes on", async () => {
  const name = "a test of loops";
  expect(await metricOf(jobFailures, name)).toBeUndefined();
  const { loop, hasRun } = told(name, [() => NOTHING, fail, fail, () => NOTHING]);
  expect(await metricOf(jobFailures, name)).toBe(0);
  await hasRun(4);
  await loop.stop();
  expect(await metricOf(jobFailures, name)).toBe(2);
});

test("while more may wait the loop goes on at once, whatever was done", async () => {
  let ticks = 0;
  const loop = start("a test of more", async () => {
    ticks += 1;
    return { done: 0, more: ticks < 5 };
  });
  await until(() => ticks === 5);
  await loop.stop();
  expect(loop.lastRun().done).toBe(0);
});

test("what the last run did is known, and before the first that there was none", async () => {
  const name = "a test of runs";
  const { loop, hasRun } = told(name, [() => ({ done: 7, more: false })]);
  const never = { last_run_at: null, took_ms: null, done: null, failures: 0 };
  expect(loop.lastRun()).toEqual({ name, ...about, ...never });
  await hasRun(1);
  await until(() => loop.lastRun().done === 7);
  const took_ms = expect.any(Number);
  expect(loop.lastRun()).toMatchObject({ last_run_at: NOW, took_ms, failures: 0 });
  expect(await metricOf(jobLastRun, name)).toBe(NOW.getTime() / 1_000);
  await loop.stop();
});

test("failures in a row are counted, those of a part too, until a run has none", async () => {
  const name = "a test of failures in a row";
  const inPart = () => ({ done: 3, more: false, failed: 2 });
  const { loop, hasRun } = told(name, [fail, inPart, inPart, () => NOTHING]);
  await until(() => loop.lastRun().failures === 1);
  expect(loop.lastRun()).toMatchObject({ done: null, last_run_at: NOW });
  await hasRun(2);
  await until(() => loop.lastRun().failures === 2);
  expect(loop.lastRun().done).toBe(3);
  await hasRun(3);
  await until(() => loop.lastRun().failures === 3);
  await hasRun(4);
  await until(() => loop.lastRun().failures === 0);
  await loop.stop();
});
