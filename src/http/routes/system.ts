// Health, metrics and the reference: for operators and newcomers, not for billing.

import Type from "typebox";
import { refuse } from "../../errors.ts";
import { sql } from "../../store/sql.ts";
import { renderDocs } from "../docs-page.ts";
import { renderMetrics } from "../metrics.ts";
import { openApi } from "../openapi.ts";
import { type Route, read } from "../route.ts";

const tag = "System";
const PING_MS = 1_000;

export type Readiness = {
  /** Set when the process has been told to stop. */
  draining: boolean;
  readonly schema_version: number;
  readonly warnings: readonly string[];
};

export function systemRoutes(readiness: Readiness, table: () => readonly Route[]): Route[] {
  const healthz = read({
    method: "GET",
    path: "/healthz",
    tag,
    summary: "The process is alive",
    scope: "public",
    project: "none",
    reply: [200, Type.Object({ status: Type.String() })],
    handle: async () => ({ status: "ok" }),
  });

  const readyz = read({
    method: "GET",
    path: "/readyz",
    tag,
    summary: "The service can do its work",
    description:
      "503 while the database is away, its schema is another one, or the process drains.",
    scope: "public",
    project: "none",
    reply: [
      200,
      Type.Object({
        status: Type.String(),
        schema_version: Type.Integer(),
        warnings: Type.Array(Type.String()),
      }),
    ],
    async handle({ db }) {
      if (readiness.draining) throw refuse("unavailable", "The process is shutting down.");
      const found = await within(
        PING_MS,
        db.one<{ version: number }>(sql`select max(version) as version from schema_migrations`),
      );
      if (found.version !== readiness.schema_version) {
        throw refuse(
          "unavailable",
          `The schema is at ${found.version}, this process needs ${readiness.schema_version}.`,
        );
      }
      return { status: "ok", schema_version: found.version, warnings: readiness.warnings };
    },
  });

  const metrics = read({
    method: "GET",
    path: "/metrics",
    tag,
    summary: "Prometheus metrics",
    scope: "public",
    project: "none",
    reply: [200, null],
    hidden: true,
    async handle(_call, reply) {
      return reply.type("text/plain; version=0.0.4").send(renderMetrics());
    },
  });

  const openapi = read({
    method: "GET",
    path: "/openapi.json",
    tag,
    summary: "This document",
    scope: "public",
    project: "none",
    reply: [200, null],
    hidden: true,
    async handle({ context }, reply) {
      const document = openApi(table(), context.config.base_url);
      return reply.type("application/json; charset=utf-8").send(JSON.stringify(document));
    },
  });

  const docs = read({
    method: "GET",
    path: "/docs",
    tag,
    summary: "The reference for people",
    scope: "public",
    project: "none",
    reply: [200, null],
    hidden: true,
    async handle({ context }, reply) {
      reply.header(
        "content-security-policy",
        "default-src 'none'; style-src 'unsafe-inline'; img-src data:",
      );
      const document = openApi(table(), context.config.base_url);
      return reply.type("text/html; charset=utf-8").send(renderDocs(document));
    },
  });

  return [healthz, readyz, metrics, openapi, docs];
}

async function within<T>(ms: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(refuse("unavailable", "The database does not answer.")), ms);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}
