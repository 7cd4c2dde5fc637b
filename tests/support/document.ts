// The OpenAPI document of all routes, as the service answers it.

import type { Context } from "../../src/context.ts";
import { Bounds } from "../../src/http/admission/bound.ts";
import { openApi } from "../../src/http/openapi/document.ts";
import { routeTable } from "../../src/http/table.ts";
import type { OpenApiDocument, Operation, SchemaObject } from "../../src/schema/openapi.ts";

export const BASE_URL = "http://127.0.0.1:8080";

// Describing the routes asks nothing of the context.
export const routes = routeTable(
  { db: {}, config: {} } as Context,
  { draining: false, schema_version: 0, warnings: [] },
  new Bounds(),
);
export const document: OpenApiDocument = openApi(routes, BASE_URL);

export const operations: readonly [path: string, method: string, operation: Operation][] =
  Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(([method, operation]): [string, string, Operation] => {
      return [path, method, operation];
    }),
  );

/** Every schema that the document has outside of other schemas, by where it stands. */
export function outerSchemas(): [at: string, schema: SchemaObject][] {
  const named = Object.entries(document.components.schemas);
  const ofCalls = operations.flatMap(([path, method, { requestBody, responses }]) => {
    const at = `${method} ${path}`;
    const body = requestBody?.content["application/json"].schema;
    const replies = Object.entries(responses)
      .filter(([status]) => status.startsWith("2"))
      .flatMap(([, reply]) => ("$ref" in reply ? [] : Object.values(reply.content ?? {})));
    const answers = replies.map(({ schema }): [string, SchemaObject] => [`${at} answer`, schema]);
    return body === undefined
      ? answers
      : [[`${at} body`, body] as [string, SchemaObject], ...answers];
  });
  return [...named, ...ofCalls];
}
