// The instants that callers report: not more than a day ahead.

import { expect, test } from "vitest";
import { reportedAt } from "../../src/domain/reported-at.ts";

const NOW = new Date("2026-01-10T09:00:00.000Z");

test("it is now unless it is said, and any time before", () => {
  expect(reportedAt("paid_at", undefined, NOW)).toEqual(NOW);
  expect(reportedAt("paid_at", "2001-02-03T04:05:06Z", NOW)).toEqual(
    new Date("2001-02-03T04:05:06.000Z"),
  );
});

test("a day ahead is the last that is taken", () => {
  const last = "2026-01-11T09:00:00.000Z";
  expect(reportedAt("paid_at", last, NOW)).toEqual(new Date(last));
  for (const late of ["2026-01-11T09:00:00.001Z", "2199-01-01T00:00:00Z"]) {
    expect(() => reportedAt("paid_at", late, NOW)).toThrow(
      "paid_at must not lie more than 24 hours in the future.",
    );
  }
});
