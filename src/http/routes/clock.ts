// The clock of a sandbox project.

import type { Context } from "../../context.ts";
import { instant } from "../../domain/reported-at.ts";
import type { SetAside } from "../../operations/batch-report.ts";
import { advanceClock, freezeClock } from "../../operations/clock/advance.ts";
import { noteSetAside } from "../../operations/closing/set-aside.ts";
import { Clock, ClockAdvance, ClockFreeze, ClockReport } from "../../schema/clock.ts";
import { Wrapped } from "../../schema/common.ts";
import type { ProjectSettings } from "../../store/tenants/tenants.ts";
import { ownTransactions, type Route, read } from "../route.ts";

const tag = "Clock";

/** Tells the operator of what is set aside, as a worker does that comes across it. */
function noting({ log }: Context, { id }: ProjectSettings) {
  return (found: SetAside) => noteSetAside(log, id, found);
}

const get = read({
  method: "GET",
  path: "/v1/clock",
  id: "getClock",
  tag,
  summary: "What time it is in this project",
  description: "A live project has the real time, a sandbox may have its own.",
  scope: "read",
  project: "required",
  reply: [200, Wrapped("clock", Clock)],
  async handle({ settings, now }) {
    const mode: "real" | "frozen" = settings.frozen_at === null ? "real" : "frozen";
    return { clock: { mode, now } };
  },
});

const freeze = ownTransactions({
  method: "POST",
  path: "/v1/clock",
  once_by: "frozen_at",
  replays: "after",
  id: "freezeClock",
  errors: ["live_project", "clock_conflict"],
  tag,
  summary: "Freeze the clock of a sandbox project",
  description:
    "At any instant while the project has no subscription, invoice or grant; afterwards only forward, and what falls due until then is done.",
  scope: "write",
  project: "required",
  body: ClockFreeze,
  reply: [200, ClockReport],
  async handle({ context, db, settings, by, body, now }) {
    const at = instant(body.frozen_at, "frozen_at");
    return freezeClock(db, settings, at, by, now, noting(context, settings));
  },
});

const advance = ownTransactions({
  method: "POST",
  path: "/v1/clock/advance",
  once_by: "to",
  replays: "after",
  id: "advanceClock",
  errors: ["live_project", "clock_conflict"],
  tag,
  summary: "Travel forward in time",
  description:
    "Everything that falls due up to and including that instant happens, in the order of time; the answer lists it.",
  scope: "write",
  project: "required",
  body: ClockAdvance,
  reply: [200, ClockReport],
  async handle({ context, db, settings, by, body, now }) {
    const to = instant(body.to, "to");
    return advanceClock(db, settings, to, by, now, noting(context, settings));
  },
});

export const clockRoutes: Route[] = [get, freeze, advance];
