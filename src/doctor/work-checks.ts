// Checks of the work itself: whether somebody does it, what is late, and what needs a person.

import type { DatabaseReadings, Sessions } from "../store/checks.ts";
import type { ClusterStatus } from "../store/cluster-status.ts";
import { duration, fail, ok, skipped, type Verdict, warn } from "./finding.ts";

/** Workers are known by their connections: they look for work about once a second. */
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
      "tried again by themselves.",
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
    "Ask whoever runs these endpoints. Failed messages are tried 12 times over 69 hours and then " +
      "given up; those of an endpoint that is switched off wait until it is on again.",
  );
}

/** A path or query of an endpoint may hold a secret. */
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
