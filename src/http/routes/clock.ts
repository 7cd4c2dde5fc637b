// The clock of a sandbox project.

import type { Context } from "../../context.ts";
import { parseTimestamp } from "../../domain/dates.ts";
import { advanceClock, freezeClock } from "../../operations/advance-clock.ts";
import { noteSetAside, type SetAside } from "../../operations/set-aside.ts";
import { Clock, ClockAdvance, ClockFreeze, ClockReport } from "../../schema/clock.ts";
import { Wrapped } from "../../schema/common.ts";
import type { ProjectSettings } from "../../store/tenants.ts";
import { own, type Route, read } from "../route.ts";
import { byCaller } from "../views.ts";

const tag = "Clock";

/** The operator reads of it as when a worker comes across it. */
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
    return { clock: { mode: settings.frozen_at === null ? "real" : "frozen", now } };
  },
});

const freeze = own({
  method: "POST",
  path: "/v1/clock",
  once_by: "frozen_at",
  id: "freezeClock",
  errors: ["live_project", "clock_conflict"],
  tag,
  summary: "Freeze the clock of a sandbox project",
  description: "At any instant while the project has no subscription, afterwards only forward.",
  scope: "write",
  project: "required",
  body: ClockFreeze,
  reply: [200, ClockReport],
  async handle({ context, db, settings, actor, body, now }) {
    const at = parseTimestamp(body.frozen_at) as Date;
    return freezeClock(db, settings, at, byCaller(actor), now, noting(context, settings));
  },
});

const advance = own({
  method: "POST",
  path: "/v1/clock/advance",
  once_by: "to",
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
  async handle({ context, db, settings, actor, body, now }) {
    const to = parseTimestamp(body.to) as Date;
    return advanceClock(db, settings, to, byCaller(actor), now, noting(context, settings));
  },
});

export const clockRoutes: Route[] = [get, freeze, advance];
