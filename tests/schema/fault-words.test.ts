// One set of words for what is wrong, and the few that a reader of files gets instead.

import { expect, test } from "vitest";
import { messageFor } from "../../src/cli/fault-words.ts";
import { fieldName, pointerSteps, wordsFor } from "../../src/schema/fault-words.ts";

test.each([
  ["maxLength", { limit: 3 }, "must have at most 3 characters"],
  ["minLength", { limit: 1 }, "must not be empty"],
  ["minimum", { limit: 0 }, "must be at least 0"],
  ["maxItems", { limit: 2 }, "must have at most 2 entries"],
  ["multipleOf", { multipleOf: 2 }, "is not valid"],
])("%s is told alike to callers and in files", (keyword, params, words) => {
  expect(wordsFor({ keyword, params })).toBe(words);
  expect(messageFor({ keyword, params })).toBe(words);
});

test.each([
  ["type", { type: ["integer", "null"] }, "must be an integer or null"],
  ["enum", { allowedValues: ["a", "b"] }, "must be one of a, b"],
  ["minItems", { limit: 1 }, "must have at least 1 entries"],
  ["format", { format: "date" }, "must be a date such as 2026-01-31"],
])("%s is told to callers without what they sent", (keyword, params, words) => {
  expect(wordsFor({ keyword, params, data: "secret" })).toBe(words);
});

test.each([
  ["type", { type: "integer" }, 'must be a whole number, not the text "x"'],
  ["enum", { allowedValues: ["a", "b"] }, 'must be one of a, b, not "x"'],
  ["minItems", { limit: 1 }, "must not be empty"],
  ["pattern", { pattern: "^a$" }, 'is "x", which is not of the right form'],
])("%s in a file is told with what is written there", (keyword, params, words) => {
  expect(messageFor({ keyword, params, data: "x" })).toBe(words);
});

test("a field is named as in code", () => {
  expect(pointerSteps("/charges/0/a~1b~0c")).toEqual(["charges", "0", "a/b~c"]);
  expect(fieldName(["charges", 0, "properties", "0"])).toBe("charges[0].properties.0");
  expect(fieldName([])).toBe("");
});
