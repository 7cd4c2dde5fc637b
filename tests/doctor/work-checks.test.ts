// What the doctor makes of the work that waits, and of the cluster.

import { describe, expect, test } from "vitest";
import {
  checkCluster,
  checkJobs,
  checkPeriods,
  checkSetAside,
  checkStartedJobs,
  checkWebhooks,
  checkWorkers,
} from "../../src/doctor/work-checks.ts";
import type { ClusterStatus } from "../../src/store/cluster/status.ts";

const NOW = new Date("2026-05-15T12:00:00Z");
const secondsAgo = (seconds: number) => new Date(NOW.getTime() - seconds * 1_000);

test.each([
  [{ api: 2, worker: 1, listening: 1 }, "ok"],
  [{ api: 2, worker: 0, listening: 1 }, "ok"],
  [{ api: 0, worker: 0, listening: 0 }, "warn"],
  [{ api: 2, worker: 0, listening: 0 }, "fail"],
])("connections %o mean workers are %s", (names, status) => {
  expect(checkWorkers({ used: 9, max: 100, ...names }).status).toBe(status);
});

test.each([
  [null, "ok"],
  [10, "ok"],
  [901, "warn"],
  [22_000, "fail"],
])("a period that ended %s s ago is %s", (age_s, status) => {
  const oldest_ended_at = age_s === null ? null : new Date(NOW.getTime() - age_s * 1_000);
  expect(checkPeriods({ set_aside: 0, oldest_ended_at, examples: [] }, NOW).status).toBe(status);
});

test("subscriptions that cannot be billed are named with their reasons", () => {
  const none = { set_aside: 0, oldest_ended_at: null, examples: [] };
  expect(checkSetAside(none).status).toBe("ok");
  const examples = [{ project: "live", external_id: "acme-pro", reason: "seats is missing" }];
  expect(checkSetAside({ ...none, set_aside: 2, examples })).toMatchObject({
    status: "fail",
    seen: "2 subscription(s) are not billed; acme-pro of live: seats is missing",
  });
});

test.each([
  [[], "ok", "no call has left work behind that is not done"],
  [
    [{ kind: "replay", jobs: 2, done: 42_000, oldest_s: 180 }],
    "ok",
    "webhooks replayed: 2 job(s), 42000 done, for 3 min",
  ],
  [
    [
      { kind: "replan", jobs: 1, done: 0, oldest_s: 3_600 },
      { kind: "drop", jobs: 1, done: 9, oldest_s: 1 },
    ],
    "warn",
    expect.stringMatching(/^dunning planned anew .*: 1 job\(s\), 0 done, for .*; webhook queues/),
  ],
] as const)("jobs that calls have started, %o, are %s", (found, status, seen) => {
  expect(checkStartedJobs(found)).toMatchObject({ status, seen });
});

describe("jobs", () => {
  const address = "http://127.0.0.1:8080";
  const about = { name: "billing", description: "Periods closed.", pause_ms: 1_000 };
  const run = { ...about, last_run_at: secondsAgo(2), took_ms: 40, done: 12, failures: 0 };
  const never = { ...run, name: "sweep", last_run_at: null, took_ms: null, done: null };

  test("are told with what each did when it last ran", () => {
    expect(checkJobs({ address, jobs: [run, never] }, NOW)).toMatchObject({
      status: "ok",
      seen: `${address}: billing 2 s ago, 12 done in 40 ms; sweep has not ended a run yet`,
    });
  });

  test.each([
    [{ last_run_at: secondsAgo(901) }, "ok"],
    [{ last_run_at: secondsAgo(902) }, "warn"],
    [{ last_run_at: secondsAgo(1_499), pause_ms: 600_000 }, "ok"],
    [{ last_run_at: secondsAgo(1_501), pause_ms: 600_000 }, "warn"],
    [{ last_run_at: secondsAgo(-5) }, "ok"],
    [{ failures: 1 }, "warn"],
    [{ failures: 9, done: null }, "warn"],
    [{ failures: 10 }, "fail"],
  ])("with %o are %s", (change, status) => {
    const found = checkJobs({ address, jobs: [{ ...run, ...change }, never] }, NOW);
    expect(found.status).toBe(status);
  });

  test("of a run that failed have no figure, and how often in a row", () => {
    const { seen } = checkJobs({ address, jobs: [{ ...run, done: null, failures: 3 }] }, NOW);
    expect(seen).toContain("billing 2 s ago, failed after 40 ms, failed 3 time(s) in a row");
  });

  test("of a service that does not answer are not known, which is no fault", () => {
    expect(checkJobs({ address, why: "connect ECONNREFUSED" }, NOW)).toMatchObject({
      status: "skipped",
      seen: expect.stringContaining(`${address} was asked what its jobs did: connect ECONNREFUSED`),
    });
    expect(checkJobs({ address, jobs: [] }, NOW).status).toBe("skipped");
  });
});

const failing = {
  id: "e1",
  url: "https://hooks.example.com/secret-path?key=1",
  enabled: true,
  waiting: 4,
  tries: 2,
};

test.each([
  [0, [], "ok"],
  [59, [], "ok"],
  [60, [], "warn"],
  [3_600, [], "fail"],
  [0, [failing], "warn"],
  [0, [{ ...failing, enabled: false }], "warn"],
])("messages due for %d s, with %o in trouble, are %s", (oldest_due_s, waiting, status) => {
  const found = checkWebhooks({ due: 3, oldest_due_s, waiting });
  expect(found.status).toBe(status);
  expect(found.seen).not.toContain("secret");
});

test("what dues cluster status finds wrong is told", () => {
  expect(checkCluster({ kind: "plain" }).status).toBe("skipped");
  expect(checkCluster({ kind: "away", why: "gone" })).toMatchObject({ status: "fail" });
  const problems = [{ code: "node_away", says: "Node b does not answer." }];
  const cluster = { kind: "cluster", nodes: [{}, {}], problems } as unknown as ClusterStatus;
  expect(checkCluster(cluster)).toMatchObject({ status: "fail", seen: "Node b does not answer." });
  expect(checkCluster({ ...cluster, problems: [] } as ClusterStatus)).toMatchObject({
    status: "ok",
    seen: "all 2 nodes answer",
  });
});
