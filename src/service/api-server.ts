// The HTTP server of a process that answers callers: with every route there is.

import type { Context } from "../context.ts";
import { Bounds } from "../http/admission/bound.ts";
import type { Readiness } from "../http/readiness.ts";
import { buildServer, type HttpServer } from "../http/server.ts";
import { routeTable } from "../http/table.ts";
import { registry } from "../telemetry.ts";

/** The server before it listens, as tests use it. */
export function apiServer(context: Context, readiness: Readiness): HttpServer {
  const bounds = new Bounds();
  bounds.showIn(registry);
  return buildServer(context, routeTable(context, readiness, bounds), bounds);
}
