// Checks of the work itself: whether somebody does it, what is late, and what needs a person.

import { RETRIES_MAX, RETRY_HOURS } from "../domain/webhooks.ts";
import type { JobRun, StartedJobs } from "../schema/jobs.ts";
import type { ClusterStatus } from "../store/cluster/status.ts";
import type { DatabaseReadings, Sessions } from "../store/work/checks.ts";
import type { Asked } from "./ask-service.ts";
import { duration, fail, ok, skipped, type Verdict, warn } from "./finding.ts";

/** Finds workers by their connections: they look for work about once a second. */
export function checkWorkers({ api, worker, listening }: Sessions): Verdict {
  if (worker + listening > 0) return ok(`${listening} process(es) with workers are connected`);
  if (api === 0) {
    return warn(
      "no process of dues is connected to this database",
      "Start the service: while none runs, no period closes and no message is sent.",
    );
  }
  return fail(
    "processes answer callers, but none with workers is connected",
    "Start one with dues serve --role worker (or all): no period closes, no message is sent.",
  );
}

const JOB_FAILURES_FAIL = 10;
/** How much later than its pause a job may end its next run before that is worth a word. */
const JOB_LATE_S = 900;

/** Judges the process that answers here; others on the same database may have more jobs. */
export function checkJobs(asked: Asked, now: Date): Verdict {
  const at = asked.address ?? "the service";
  if ("why" in asked) return skipped(`${at} was asked what its jobs did: ${asked.why}`);
  const { jobs } = asked;
  if (jobs.length === 0) return skipped(`no job of ${at} has been told yet`);
  const seen = `${at}: ${jobs.map((job) => runOf(job, now)).join("; ")}`;
  const most = Math.max(0, ...jobs.map(({ failures }) => failures));
  if (most > 0) {
    const advice = "Look into its log, where each failure of a job stands with its reason.";
    return most >= JOB_FAILURES_FAIL ? fail(seen, advice) : warn(seen, advice);
  }
  const late = jobs.filter((job) => (ageOf(job, now) ?? 0) > job.pause_ms / 1_000 + JOB_LATE_S);
  if (late.length === 0) return ok(seen);
  return warn(
    seen,
    `Look what ${late.map(({ name }) => name).join(", ")} waits for: a lock or a transaction ` +
      "that somebody left open, a node of a cluster, or more work than the process can do.",
  );
}

function ageOf({ last_run_at }: JobRun, now: Date): number | undefined {
  return last_run_at === null ? undefined : (now.getTime() - last_run_at.getTime()) / 1_000;
}

/** "billing 2 s ago, 12 done in 40 ms" */
function runOf(job: JobRun, now: Date): string {
  const { name, took_ms, done, failures } = job;
  const age_s = ageOf(job, now);
  if (age_s === undefined) return `${name} has not ended a run yet`;
  const did = done === null ? `failed after ${took_ms} ms` : `${done} done in ${took_ms} ms`;
  const row = failures > 0 ? `, failed ${failures} time(s) in a row` : "";
  return `${name} ${duration(Math.max(0, age_s))} ago, ${did}${row}`;
}

export function checkHeld(since: Date | null | undefined): Verdict {
  if (since === null || since === undefined) return ok("no restored backup waits for a word");
  return warn(
    `restored from a backup and held since ${since.toISOString()}: no period closes`,
    "Look at what is about to happen and let it go on: dues resume.",
  );
}

type Value<Name extends keyof DatabaseReadings> = Extract<
  DatabaseReadings[Name],
  { readonly value: unknown }
>["value"];

const PERIOD_S = { warn: 900, fail: 6 * 3_600 };

export function checkPeriods({ oldest_ended_at }: Value<"closes">, now: Date): Verdict {
  if (oldest_ended_at === null) return ok("no ended period waits to be closed");
  const age_s = Math.max(0, (now.getTime() - oldest_ended_at.getTime()) / 1_000);
  const seen = `the oldest ended period has waited for ${duration(age_s)} to be closed`;
  const advice =
    "Look whether workers run and what they log. After a large close, such as the first of a " +
    "month, it may take some minutes.";
  if (age_s >= PERIOD_S.fail) return fail(seen, advice);
  return age_s >= PERIOD_S.warn ? warn(seen, advice) : ok(seen);
}

export function checkSetAside({ set_aside, examples }: Value<"closes">): Verdict {
  if (set_aside === 0) return ok("every subscription can be billed");
  const named = examples.map(
    ({ project, external_id, reason }) => `${external_id} of ${project}: ${reason}`,
  );
  return fail(
    `${set_aside} subscription(s) are not billed; ${named.join("; ")}`,
    "Mend what the reason names (also shown as billing_error of the subscription); they are " +
      "tried again by themselves, but for those that are too_far_behind: these wait for catch-up.",
  );
}

const DUE_S = { warn: 60, fail: 3_600 };

export function checkWebhooks({ due, oldest_due_s, waiting }: Value<"webhooks">): Verdict {
  const endpoints = waiting.map(({ id, url, enabled, waiting: count, tries }) => {
    const state = enabled ? `failed ${tries} time(s)` : "switched off";
    return `${originOf(url)} (${id}): ${count} waiting, ${state}`;
  });
  const trouble = endpoints.length === 0 ? "" : `; ${endpoints.join("; ")}`;
  const seen = `${due} message(s) are due, the oldest for ${duration(oldest_due_s)}${trouble}`;
  if (oldest_due_s >= DUE_S.warn) {
    const advice =
      "Look whether workers run, and whether the endpoints answer quickly: one that is slow " +
      "delays its own messages.";
    return oldest_due_s >= DUE_S.fail ? fail(seen, advice) : warn(seen, advice);
  }
  if (endpoints.length === 0) return ok(seen);
  return warn(
    seen,
    `Ask whoever runs these endpoints. Failed messages are tried ${RETRIES_MAX} times over ` +
      `${RETRY_HOURS} hours and then given up; those of an endpoint that is switched off wait ` +
      "until it is on again.",
  );
}

const STARTED: Readonly<Record<StartedJobs["kind"], string>> = {
  replan: "dunning planned anew after a new policy",
  resume: "webhook queues made due for endpoints that are on again",
  replay: "webhooks replayed",
  drop: "webhook queues of removed endpoints dropped",
};
const STARTED_S = 3_600;

/** Jobs that calls have asked for: they are done in pieces behind the call's answer. */
export function checkStartedJobs(found: readonly StartedJobs[]): Verdict {
  if (found.length === 0) return ok("no call has left work behind that is not done");
  const each = found.map(
    ({ kind, jobs, done, oldest_s }) =>
      `${STARTED[kind]}: ${jobs} job(s), ${done} done, for ${duration(oldest_s)}`,
  );
  const seen = each.join("; ");
  if (found.every(({ oldest_s }) => oldest_s < STARTED_S)) return ok(seen);
  return warn(
    seen,
    "Look whether workers run and what they log: each piece of such a job takes a second or less, " +
      "and dues_duty_done_total shows whether it moves.",
  );
}

/** The origin alone: a path or query of an endpoint may hold a secret. */
function originOf(url: string): string {
  return URL.canParse(url) ? new URL(url).origin : "an endpoint";
}

export function checkCluster(status: ClusterStatus): Verdict {
  if (status.kind === "plain") return skipped("one PostgreSQL, no cluster");
  if (status.kind === "away") return fail(status.why, "Start the database of DATABASE_URL.");
  const { nodes, problems } = status;
  if (problems.length === 0) return ok(`all ${nodes.length} nodes answer`);
  return fail(
    problems.map(({ says }) => says).join(" "),
    "dues cluster status shows the nodes, and docs/SCALING.md what to do.",
  );
}
