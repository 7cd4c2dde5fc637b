// Whether the schemas of requests and of the service file are schemas: the service takes them as
// they are.

import { Ajv } from "ajv";
import { expect, test } from "vitest";
import { ServiceFile } from "../../../src/schema/service-file.ts";
import { routes } from "../../support/document.ts";

const ajv = new Ajv({ strict: false });

const schemas = routes.flatMap(({ id, query, body }) => [
  [`${id} query`, query] as const,
  [`${id} body`, body] as const,
]);

test("every schema that something is checked against is one by JSON Schema's own", () => {
  const given = [...schemas, ["the service file", ServiceFile] as const];
  const wrong = given.filter(([, schema]) => schema !== undefined && !ajv.validateSchema(schema));
  expect(wrong.map(([of]) => of)).toEqual([]);
});

test("one that is none is noticed", () => {
  expect(ajv.validateSchema({ type: "object", required: "name" })).toBe(false);
});
