// One set of messages for what is wrong, and the few that a reader of files gets instead.

import { readdirSync } from "node:fs";
import { expect, test } from "vitest";
import { messageFor } from "../../src/cli/service-file/checking/messages.ts";
import { Email, PageQuery, Uuid } from "../../src/schema/common.ts";
import {
  faultMessage,
  fieldName,
  pointerSteps,
  yearFault,
} from "../../src/schema/fault-messages.ts";

test.each([
  ["maxLength", { limit: 3 }, "must have at most 3 characters"],
  ["minLength", { limit: 1 }, "must not be empty"],
  ["minimum", { limit: 0 }, "must be at least 0"],
  ["maxItems", { limit: 2 }, "must have at most 2 entries"],
  ["multipleOf", { multipleOf: 2 }, "is not valid"],
])("%s is told alike to callers and in files", (keyword, params, message) => {
  expect(faultMessage({ keyword, params })).toBe(message);
  expect(messageFor({ keyword, params })).toBe(message);
});

test.each([
  ["type", { type: ["integer", "null"] }, "must be an integer or null"],
  ["enum", { allowedValues: ["a", "b"] }, "must be one of a, b"],
  ["minItems", { limit: 1 }, "must have at least 1 entries"],
  ["format", { format: "date" }, "must be a date such as 2026-01-31"],
])("%s is told to callers without what they sent", (keyword, params, message) => {
  expect(faultMessage({ keyword, params, data: "secret" })).toBe(message);
});

test.each([
  ["type", { type: "integer" }, 'must be a whole number, not the text "x"'],
  ["enum", { allowedValues: ["a", "b"] }, 'must be one of a, b, not "x"'],
  ["minItems", { limit: 1 }, "must not be empty"],
  ["pattern", { pattern: "^a$" }, 'is "x", which is not of the right form'],
])("%s in a file is told with what is written there", (keyword, params, message) => {
  expect(messageFor({ keyword, params, data: "x" })).toBe(message);
});

test("a field is named as in code", () => {
  expect(pointerSteps("/charges/0/a~1b~0c")).toEqual(["charges", "0", "a/b~c"]);
  expect(fieldName(["charges", 0, "properties", "0"])).toBe("charges[0].properties.0");
  expect(fieldName([])).toBe("");
});

type Shape = { readonly [keyword: string]: unknown };

/** Every schema of a text with a pattern, wherever it stands. */
function patterns(value: unknown, seen: Set<unknown> = new Set()): Shape[] {
  if (typeof value !== "object" || value === null || seen.has(value)) return [];
  seen.add(value);
  const own = typeof (value as Shape).pattern === "string" ? [value as Shape] : [];
  return [...own, ...Object.values(value).flatMap((each) => patterns(each, seen))];
}

test("no pattern is shown to whoever did not meet it", async () => {
  const folder = new URL("../../src/schema/", import.meta.url);
  const modules = await Promise.all(
    readdirSync(folder).map((name) => import(new URL(name, folder).href) as Promise<object>),
  );
  const found = patterns(modules.map((each) => ({ ...each })));
  expect(found.length).toBeGreaterThan(20);
  const unsaid = found.filter((parentSchema) => {
    const { pattern } = parentSchema;
    return faultMessage({ keyword: "pattern", params: { pattern }, parentSchema }).startsWith(
      "is not",
    );
  });
  expect(unsaid).toEqual([]);
});

test.each([
  [PageQuery.limit, "must be a whole number of 1 or more"],
  [Email, "must be an e-mail address"],
  [Uuid, "must be a UUID"],
])("%j is told in words", (schema, message) => {
  const { pattern } = schema as object as { pattern: string };
  const fault = { keyword: "pattern", params: { pattern }, parentSchema: schema };
  expect(faultMessage(fault)).toBe(message);
});

test.each([
  ["1026-07-27T15:29:09Z", "is too early: timestamps are taken from 2000-01-01T00:00:00Z on"],
  ["2201-01-01T00:00:00Z", "is too late: timestamps are taken until 2200-12-31T23:59:59.999Z"],
  ["2026-07-27", undefined],
  ["2026-07-27T15:29:09Z", undefined],
  [5, undefined],
])("of the year of %s it is told what is wrong, and from when on", (data, wanted) => {
  expect(yearFault(data)).toBe(wanted);
});
