// An entry of the log says what an update has changed, and nothing else.

import { expect, test } from "vitest";
import { changedFields } from "../../src/domain/changed-fields.ts";

test("what is as it was is left out, whatever the order of its keys", () => {
  const before = { name: "A", metadata: { a: 1, b: 2 }, tax_codes: ["x"], until: null };
  const after = { name: "B", metadata: { b: 2, a: 1 }, tax_codes: ["y"], until: null };
  expect(changedFields(before, after, Object.keys(before))).toEqual({
    name: "B",
    tax_codes: ["y"],
  });
  expect(changedFields(before, before, Object.keys(before))).toEqual({});
  expect(changedFields(before, after, ["metadata", "unknown"])).toEqual({});
});

test("instants are compared by their time, and null is a value", () => {
  const at = (text: string | null) => ({ ends_at: text === null ? null : new Date(text) });
  const names = ["ends_at"];
  const noon = at("2026-01-01T12:00:00Z");
  expect(changedFields(noon, at("2026-01-01T12:00:00.000Z"), names)).toEqual({});
  expect(changedFields(noon, at(null), names)).toEqual({ ends_at: null });
});
