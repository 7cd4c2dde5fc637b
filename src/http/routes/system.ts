// Health, metrics and the reference: for operators and newcomers, not for billing.

import { createHash } from "node:crypto";
import Type from "typebox";
import { refuse } from "../../errors.ts";
import { renderDocs } from "../../pages/docs/reference.ts";
import { STYLE } from "../../pages/docs/style.ts";
import { appliedVersion, heldSince } from "../../store/installation.ts";
import { CONTENT_TYPE, renderTelemetry } from "../../telemetry.ts";
import { openApi } from "../openapi/document.ts";
import { JSON_TYPE } from "../responses.ts";
import { Content, point, Reply, type Route, read } from "../route.ts";
import { within } from "../within.ts";

const tag = "System";
const PING_MS = 1_000;
const DOCS_STYLE = createHash("sha256").update(STYLE).digest("base64");
const DOCS_CSP = [
  "default-src 'none'",
  `style-src 'sha256-${DOCS_STYLE}'`,
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

export type Readiness = {
  /** Set when the process has been told to stop. */
  draining: boolean;
  readonly schema_version: number;
  readonly warnings: readonly string[];
  /** Why the database has lately refused writes, though it answers. */
  writeFault?(): string | undefined;
};

/** Where the API is, open to strangers: what is for the operator alone has a port of its own. */
export function systemRoutes(
  readiness: Readiness,
  table: () => readonly Route[],
  hasHealthPort: boolean,
): Route[] {
  const forOperators = hasHealthPort ? [] : [metrics];
  return [healthz, readyz(readiness), ...forOperators, ...referenceRoutes(table)];
}

/** What HEALTH_PORT answers. */
export function healthRoutes(readiness: Readiness): Route[] {
  return [healthz, readyz(readiness, readiness.warnings), metrics];
}

const healthz = read({
  method: "GET",
  path: "/healthz",
  id: "getHealthz",
  always: true,
  tag,
  summary: "The process is alive",
  scope: "public",
  project: "none",
  reply: [200, Type.Object({ status: Type.String() })],
  handle: async () => ({ status: "ok" }),
});

/** By the shared reads, which wait for no connection: a long queue is no reason to be restarted. */
function readyz(readiness: Readiness, warnings?: readonly string[]): Route {
  return point({
    method: "GET",
    path: "/readyz",
    id: "getReadyz",
    always: true,
    errors: ["unavailable"],
    tag,
    summary: "The service can do its work",
    description:
      "503 while the database is away, its schema is older than this version needs, or the " +
      "process drains. The status is held while a restored service waits for dues resume, " +
      "writes_fail while the database answers but takes no writes, because its disk is full for " +
      "example, else ok.",
    scope: "public",
    project: "none",
    reply: [
      200,
      Type.Object({
        status: Type.String(),
        schema_version: Type.Integer(),
        warnings: Type.Optional(Type.Array(Type.String())),
      }),
    ],
    async handle({ db }) {
      if (readiness.draining) throw refuse("unavailable", "The process is shutting down.");
      const { schema_version } = readiness;
      const found = await answered(appliedVersion(db));
      // A newer schema is no fault: a newer version has begun to replace this one, and what it adds
      // does not change what this one uses (CONTRIBUTING, migrations).
      if (found < schema_version) {
        const message = `The schema is at ${found}, this process needs ${schema_version}.`;
        throw refuse("unavailable", message);
      }
      const held = await answered(heldSince(db));
      // Still 200: reads are answered, and what shares the disk fares no better.
      const fault = readiness.writeFault?.();
      const status = fault !== undefined ? "writes_fail" : held === null ? "ok" : "held";
      if (warnings === undefined) return { status, schema_version };
      return { status, schema_version, warnings: [...(fault ? [fault] : []), ...warnings] };
    },
  });
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

/** Both are made of the whole table, once: it does not change while the process runs. */
function referenceRoutes(table: () => readonly Route[]): Route[] {
  let json: string | undefined;
  let html: string | undefined;
  const hidden = {
    method: "GET" as const,
    tag,
    scope: "public" as const,
    project: "none" as const,
    reply: [200, null] as const,
    hidden: true as const,
  };
  const openapi = read({
    ...hidden,
    path: "/openapi.json",
    id: "getOpenApi",
    summary: "The OpenAPI document",
    async handle({ context }) {
      json ??= JSON.stringify(openApi(table(), context.config.base_url));
      return new Reply(200, new Content(JSON_TYPE, json));
    },
  });
  const docs = read({
    ...hidden,
    path: "/docs",
    id: "getDocs",
    summary: "The reference for people",
    async handle({ context }) {
      html ??= renderDocs(openApi(table(), context.config.base_url));
      const content = new Content("text/html; charset=utf-8", html);
      return new Reply(200, content, { "content-security-policy": DOCS_CSP });
    },
  });
  return [openapi, docs];
}

function answered<T>(work: Promise<T>): Promise<T> {
  return within(PING_MS, work, refuse("unavailable", "The database does not answer."));
}
