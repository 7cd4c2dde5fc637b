// Background jobs as /readyz tells them: what each did when it last ran, and those that calls have
// started.

import Type, { type Static } from "typebox";
import { Nullable, Timestamp } from "./common.ts";

export const JobRun = Type.Object(
  {
    name: Type.String(),
    description: Type.String(),
    pause_ms: Type.Integer(),
    last_run_at: Nullable(Timestamp),
    took_ms: Nullable(Type.Integer()),
    done: Nullable(Type.Integer()),
    failures: Type.Integer(),
  },
  { title: "JobRun" },
);
export type JobRun = Static<typeof JobRun>;

/** Jobs of one kind that calls have asked for and that are not done yet. */
export const StartedJobs = Type.Object(
  {
    kind: Type.Union([
      Type.Literal("replan"),
      Type.Literal("resume"),
      Type.Literal("replay"),
      Type.Literal("drop"),
    ]),
    jobs: Type.Integer(),
    done: Type.Integer(),
    oldest_s: Type.Number(),
  },
  { title: "StartedJobs" },
);
export type StartedJobs = Static<typeof StartedJobs>;
