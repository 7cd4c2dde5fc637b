// How long a closed period is corrected: full periods count, however many parts they have.

import { expect, test } from "vitest";
import {
  fullPeriodOf,
  isStillCorrected,
  type PartOfPeriod,
} from "../../src/domain/full-periods.ts";

function part(day: string, more: Partial<PartOfPeriod> = {}): PartOfPeriod {
  const starts_at = new Date(`${day}T00:00:00.000Z`);
  return { starts_at, interval: "monthly", anchor_date: null, is_trial: false, ...more };
}

/** Newest first. */
const closed = [
  part("2026-04-20"),
  part("2026-04-01"),
  part("2026-03-15"),
  part("2026-03-01"),
  part("2026-02-01"),
  part("2026-01-20"),
  part("2026-01-05", { is_trial: true }),
];
const [, , , march, february, january, trial] = closed;
const open = fullPeriodOf(part("2026-04-25"));

test.each([
  ["a part of the open one, always", part("2026-04-20"), 0, true],
  ["the last full one", march, 1, true],
  ["not even that at 0", march, 0, false],
  ["the one before it", february, 1, false],
  ["the one before it, within two", february, 2, true],
  ["a first period that started late", january, 3, true],
  ["a trial is a full period", trial, 3, false],
  ["a trial, within four", trial, 4, true],
])("%s", (_, period, most, isCorrected) => {
  if (period === undefined) throw new Error("No such period.");
  expect(isStillCorrected(closed, period, open, most)).toBe(isCorrected);
});

test("without an open period the newest closed one is the first", () => {
  const [newest] = closed;
  if (newest === undefined || march === undefined) throw new Error("No such period.");
  expect(isStillCorrected(closed, newest, undefined, 1)).toBe(true);
  expect(isStillCorrected(closed, march, undefined, 1)).toBe(false);
});

test("parts have one name when they are of one schedule", () => {
  const anniversary = { anchor_date: "2025-12-15" };
  const names = [
    part("2026-01-16", anniversary),
    part("2026-02-14", anniversary),
    part("2026-02-15", anniversary),
    part("2026-01-16"),
    part("2026-01-16", { interval: "quarterly" }),
    part("2026-01-16", { is_trial: true }),
  ].map(fullPeriodOf);
  expect(names[0]).toBe(names[1]);
  expect(new Set(names).size).toBe(5);
});
