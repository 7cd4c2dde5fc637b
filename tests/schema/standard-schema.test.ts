// Our schemas as others read them: what only our checkers know is gone, all else stays.

import { expect, test } from "vitest";
import { standardSchema } from "../../src/schema/standard-schema.ts";

test("formats of our own become standard ones or go, at any depth", () => {
  const ours = {
    type: "object",
    properties: {
      at: { type: "string", format: "timestamp" },
      currencies: { type: "array", items: { format: "currency", pattern: "^[A-Z]{3}$" } },
      id: { anyOf: [{ format: "uuid" }, { type: "null" }] },
    },
  };
  expect(standardSchema(ours)).toEqual({
    type: "object",
    properties: {
      at: { type: "string", format: "date-time" },
      currencies: { type: "array", items: { pattern: "^[A-Z]{3}$" } },
      id: { anyOf: [{ format: "uuid" }, { type: "null" }] },
    },
  });
});

test("a keyword of our own is dropped, or what the caller makes of it", () => {
  const ours = { type: "object", "x-max-bytes": 10, properties: { a: { "x-at-least-one": true } } };
  expect(standardSchema(ours)).toEqual({ type: "object", properties: { a: {} } });
  const ownKeyword = (keyword: string) => ({ [`was-${keyword}`]: 1 });
  expect(standardSchema(ours, { ownKeyword })).toEqual({
    type: "object",
    "was-x-max-bytes": 1,
    properties: { a: { "was-x-at-least-one": 1 } },
  });
});

test("fields and data that look like keywords are left alone", () => {
  const ours = {
    properties: { "x-trace": { type: "string" }, format: { enum: ["currency", "timestamp"] } },
    default: { format: "currency", "x-max-bytes": 1 },
    additionalProperties: false,
  };
  expect(standardSchema(ours)).toEqual(ours);
});
