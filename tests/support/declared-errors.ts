// Holds every error that a test is answered against what its route declares, so that the whole
// suite shows whether the lists of errors in src/http/routes are complete.

import type { Context } from "../../src/context.ts";
import { Bounds } from "../../src/http/admission/bound.ts";
import { errorsOf } from "../../src/http/openapi/errors.ts";
import type { Route } from "../../src/http/route.ts";
import { routeTable } from "../../src/http/table.ts";

type Declared = { readonly route: Route; readonly parts: readonly string[] };

// Describing the routes asks nothing of the context.
const routes = routeTable(
  { db: {}, config: {} } as Context,
  { draining: false, schema_version: 0, warnings: [] },
  new Bounds(),
);
/** Plain paths first, as the router has it: `/v1/keys/me` is not `/v1/keys/:id`. */
const table: readonly Declared[] = routes
  .map((route) => ({ route, parts: route.path.split("/") }))
  .sort((a, b) => params(a.parts) - params(b.parts));

function params(parts: readonly string[]): number {
  return parts.filter((part) => part.startsWith(":")).length;
}

/** The route that answers; undefined when none does, and the answer is a 404 or 405 of no route. */
export function routeOf(method: string, url: string): Route | undefined {
  const given = (url.split("?")[0] ?? "").split("/");
  const found = table.find(
    ({ route, parts }) =>
      route.method === method &&
      parts.length === given.length &&
      parts.every((part, i) => (part.startsWith(":") ? given[i] !== "" : part === given[i])),
  );
  return found?.route;
}

/** Throws when the answer is an error that its route does not declare. */
export function expectDeclared(method: string, url: string, body: unknown): void {
  const code = (body as { error?: { code?: unknown } } | null | undefined)?.error?.code;
  if (typeof code !== "string") return;
  const route = routeOf(method, url);
  if (route === undefined || errorsOf(route).some((declared) => declared === code)) return;
  throw new Error(
    `${method} ${url} answered ${code}, which ${route.id} does not declare. Add it to the route's errors.`,
  );
}
