// Health and metrics, and with them the reference: for operators and newcomers, not for billing.

import Type from "typebox";
import type { Context } from "../../context.ts";
import { JobRun, StartedJobs } from "../../schema/jobs.ts";
import type { Queryable } from "../../store/db/db.ts";
import { isUnavailable } from "../../store/db/failures.ts";
import { startedJobs } from "../../store/work/waiting.ts";
import { CONTENT_TYPE, renderTelemetry } from "../../telemetry.ts";
import { checkReady, HELD, namingCause, type Readiness } from "../readiness.ts";
import { Content, point, Reply, type Route, read } from "../route.ts";
import { referenceRoutes, type Table } from "./reference.ts";

const tag = "System";

/** What the API's port answers strangers: what is for the operator alone has a port of its own. */
export function systemRoutes(
  { config }: Pick<Context, "config">,
  readiness: Readiness,
  table: Table,
): Route[] {
  const reference = referenceRoutes(table);
  if (config.health_port !== undefined) return [healthz, readyz(readiness, {}), ...reference];
  return [healthz, readyz(readiness, { jobs: true }), metrics, ...reference];
}

/** What HEALTH_PORT answers. */
export function healthRoutes(readiness: Readiness): Route[] {
  return [healthz, readyz(readiness, { jobs: true, warnings: true }), metrics];
}

const healthz = read({
  method: "GET",
  path: "/healthz",
  id: "getHealthz",
  always: true,
  tag,
  summary: "The process is alive",
  description: "Answers as long as the process runs, whatever the database does.",
  scope: "public",
  project: "none",
  reply: [200, Type.Object({ status: Type.String() })],
  handle: async () => ({ status: "ok" }),
});

/** What /readyz tells beside the status. */
type Shown = { readonly jobs?: true; readonly warnings?: true };

/** Asks by the shared reads, which wait for no connection: a queue is no reason to be restarted. */
function readyz(readiness: Readiness, shown: Shown): Route {
  return point({
    method: "GET",
    path: "/readyz",
    id: "getReadyz",
    always: true,
    errors: ["unavailable"],
    tag,
    summary: "The service can do its work",
    description:
      "503 while the database is away, its schema is older than this version needs, the clock of " +
      "the process is not the database's, or the process drains. The status is held while a restored service waits for dues resume, " +
      "writes_fail while the database answers but takes no writes, because its disk is full for " +
      "example, else ok. Where /metrics is, jobs are the background jobs of this process, with what " +
      "each did when it last ran: those of the workers are told by processes that have workers; and " +
      "started_jobs is what calls have asked for and is not done yet, of all projects (on a cluster " +
      "dues doctor tells).",
    scope: "public",
    project: "none",
    reply: [
      200,
      Type.Object({
        status: Type.String(),
        schema_version: Type.Integer(),
        warnings: Type.Optional(Type.Array(Type.String())),
        jobs: Type.Optional(Type.Array(JobRun)),
        started_jobs: Type.Optional(Type.Array(StartedJobs)),
      }),
    ],
    async handle({ db, context }) {
      const { schema_version } = readiness;
      const ready = await checkReady(db, readiness, context).catch((error) => {
        throw shown.warnings ? namingCause(error) : error;
      });
      const { status, faults, is_held } = ready;
      const held = is_held ? [HELD] : [];
      const warnings = shown.warnings ? [...faults, ...held, ...readiness.warnings] : held;
      return {
        status,
        schema_version,
        ...((shown.warnings || is_held) && { warnings }),
        ...(shown.jobs && readiness.jobs && { jobs: [...readiness.jobs()] }),
        ...(shown.jobs && context.placement.nodes === 1 && (await startedBy(db))),
      };
    },
  });
}

/** Left out while the database is away. No cluster is asked for it: `dues doctor` does that. */
async function startedBy(db: Queryable): Promise<{ started_jobs?: StartedJobs[] }> {
  try {
    return { started_jobs: await startedJobs(db) };
  } catch (error) {
    if (isUnavailable(error)) return {};
    throw error;
  }
}

const metrics = read({
  method: "GET",
  path: "/metrics",
  id: "getPrometheusMetrics",
  always: true,
  tag,
  summary: "Prometheus metrics",
  scope: "public",
  project: "none",
  reply: [200, null],
  hidden: true,
  async handle() {
    return new Reply(200, new Content(CONTENT_TYPE, await renderTelemetry()));
  },
});
