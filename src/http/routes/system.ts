// Health, metrics and the reference: for operators and newcomers, not for billing.

import { createHash } from "node:crypto";
import Type from "typebox";
import { renderDocs } from "../../pages/docs/reference.ts";
import { SCRIPT } from "../../pages/docs/script.ts";
import { STYLE } from "../../pages/docs/style.ts";
import { CONTENT_TYPE, renderTelemetry } from "../../telemetry.ts";
import { openApi } from "../openapi/document.ts";
import { checkReady, HELD, namingCause, type Readiness } from "../readiness.ts";
import { JSON_TYPE } from "../responses.ts";
import { Content, point, Reply, type Route, read } from "../route.ts";

const tag = "System";
const hashOf = (text: string) => `'sha256-${createHash("sha256").update(text).digest("base64")}'`;
const DOCS_CSP = [
  "default-src 'none'",
  `style-src ${hashOf(STYLE)}`,
  `script-src ${hashOf(SCRIPT)}`,
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

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
  description: "Answers as long as the process runs, whatever the database does.",
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
      const { schema_version } = readiness;
      const ready = await checkReady(db, readiness).catch((error) => {
        throw warnings === undefined ? error : namingCause(error);
      });
      const { status, fault, is_held } = ready;
      const held = is_held ? [HELD] : [];
      if (warnings === undefined) {
        return { status, schema_version, ...(is_held && { warnings: held }) };
      }
      const faults = fault === undefined ? [] : [fault];
      return { status, schema_version, warnings: [...faults, ...held, ...warnings] };
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
