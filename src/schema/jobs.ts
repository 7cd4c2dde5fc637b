// Background jobs as /readyz tells them: what each did when it last ran.

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
