// What the log tells of jobs that calls have started: when a worker takes one up, and its end.

import pino from "pino";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "../../src/store/db/sql.ts";
import { billingJob } from "../../src/workers/billing.ts";
import type { Job } from "../../src/workers/loop.ts";
import { webhookJobsJob } from "../../src/workers/webhook-jobs.ts";
import { type App, startApp } from "../support/app.ts";
import { emitPayments, register } from "../support/courier.ts";
import { runToEnd } from "../support/run-job.ts";

const MESSAGES = 1_500;
let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

/** The lines that the job logs, as parsed. */
async function linesOf(job: (context: App["context"]) => Job) {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ level: "info" }, { write: (line) => lines.push(JSON.parse(line)) });
  await runToEnd(job({ ...app.context, log }));
  return lines
    .filter(({ msg }) => String(msg).startsWith("a job that a call asked for"))
    .map(({ level, time, pid, hostname, ...line }) => line);
}

const line = (became: "started" | "ended", fields: object) => ({
  project_id: app.profile.project_id,
  ...fields,
  msg: `a job that a call asked for has ${became}`,
});

test("a replay and a drop in several pieces have a line at each end, with how many", async () => {
  const endpoint = await register(app, "http://127.0.0.1:1025/hook");
  await emitPayments(app, 1, MESSAGES);
  await app.context.db.run(sql`delete from webhook_queue`);
  const path = `/v1/webhooks/${endpoint.id}`;
  await app.post(`${path}/replay`, { since: "2020-01-01T00:00:00Z" });
  const replay = { kind: "replay", endpoint_id: endpoint.id, total: MESSAGES };
  expect(await linesOf(webhookJobsJob)).toEqual([
    line("started", { ...replay, done: 1_000 }),
    line("ended", { ...replay, done: MESSAGES }),
  ]);
  await app.ok("DELETE", path);
  const drop = { kind: "drop", endpoint_id: endpoint.id, total: null };
  expect(await linesOf(webhookJobsJob)).toEqual([
    line("started", { ...drop, done: 0 }),
    line("ended", { ...drop, done: MESSAGES }),
  ]);
});

test("so has a new dunning policy", async () => {
  await app.ok("PUT", "/v1/dunning", {
    enabled: true,
    steps: [{ days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" }],
  });
  const replan = { kind: "replan", total: null };
  expect(await linesOf(billingJob)).toEqual([
    line("started", { ...replan, done: 0 }),
    line("ended", { ...replan, done: 0 }),
  ]);
});
