// The HTTP server of a process that only works: health, metrics and the reference. The routes of
// the API are loaded when somebody asks for their reference: a worker starts without them.

import type { Context } from "../context.ts";
import { Bounds } from "../http/admission/bound.ts";
import type { Readiness } from "../http/readiness.ts";
import { homeRoutes } from "../http/routes/home.ts";
import { systemRoutes } from "../http/routes/system.ts";
import { buildServer, type HttpServer } from "../http/server.ts";
import { registry } from "../telemetry.ts";

export function workerServer(context: Context, readiness: Readiness): HttpServer {
  const bounds = new Bounds();
  bounds.showIn(registry);
  const table = async () => {
    const { routeTable } = await import("../http/table.ts");
    return routeTable(context, readiness, new Bounds());
  };
  const routes = [...homeRoutes(readiness), ...systemRoutes(context, readiness, table)];
  return buildServer(context, routes, bounds);
}
