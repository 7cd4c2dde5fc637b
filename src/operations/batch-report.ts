// What a batch of work came to that had fallen due, whatever the work was.

import type { StartedJobs } from "../schema/jobs.ts";
import type { Fact } from "./emit.ts";

export type SetAside = { readonly id: string; readonly reason: string };

/** What a batch tells of a job that a call has started. */
export type JobNote = {
  readonly kind: StartedJobs["kind"];
  /** The endpoint that a job of webhooks is for. */
  readonly endpoint_id?: string;
  readonly became: "started" | "ended";
  /** Rows that were done so far, of how many; null: they were not counted. */
  readonly done: number;
  readonly total: number | null;
};

export type BatchReport = {
  /** How much was done; 0 where nothing was left to do. What is counted each kind of work says. */
  readonly done: number;
  readonly facts: readonly Fact[];
  /** Subscriptions that could not be billed, for a reason that was not known before. */
  readonly set_aside?: readonly SetAside[];
  readonly jobs?: readonly JobNote[];
};
