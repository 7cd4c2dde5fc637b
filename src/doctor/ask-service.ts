// Asks the running service, at the address where it tells how it is. Another process answers, or
// none: then the reason is told, and nothing of it is wrong by itself.

import type { JobRun } from "../schema/jobs.ts";

const ANSWER_MS = 3_000;

/** What the service said of its jobs, or why it said nothing. */
export type Asked = {
  /** Undefined: it is not known where the service would answer. */
  readonly address: string | undefined;
} & ({ readonly jobs: readonly JobRun[] } | { readonly why: string });

/** An answer of /readyz, as far as it is used here. */
type Answer = {
  readonly jobs?: readonly (Omit<JobRun, "last_run_at"> & { last_run_at: string | null })[];
  readonly error?: { readonly message: string };
};

export async function askService(address: string | undefined): Promise<Asked> {
  if (address === undefined) return { address, why: "PORT is 0, and no start has told its port" };
  let answer: Answer;
  try {
    const signal = AbortSignal.timeout(ANSWER_MS);
    const response = await fetch(`${address}/readyz`, { signal });
    answer = (await response.json()) as Answer;
  } catch (error) {
    return { address, why: reasonOf(error) };
  }
  if (answer.error !== undefined) return { address, why: answer.error.message };
  if (!Array.isArray(answer.jobs)) return { address, why: "what answers there tells of no jobs" };
  const jobs = answer.jobs.map((job) => {
    return { ...job, last_run_at: job.last_run_at === null ? null : new Date(job.last_run_at) };
  });
  return { address, jobs };
}

/** Finds why in the cause of what fetch says, which is "fetch failed"; a name has several. */
function reasonOf(error: unknown): string {
  if (error instanceof SyntaxError) return "what answers there is no service of dues";
  const { cause } = error as { cause?: unknown };
  const [first] = cause instanceof AggregateError ? cause.errors : [cause ?? error];
  return first instanceof Error ? first.message : String(first);
}
