// How subscriptions begin: trials, anchors, first periods.

import { expect, test } from "vitest";
import { begin, trialEnd } from "../../src/domain/starts.ts";

const at = (text: string) => new Date(text.length === 10 ? `${text}T00:00:00.000Z` : text);

const START = "2026-01-17T14:00:00.000Z";
type Row = [string, object, string, string | null, string | null];

test.each<Row>([
  ["calendar", {}, "2026-02-01", null, null],
  ["a trial within the month", { trial_days: 14 }, "2026-01-31", "2026-01-31", null],
  ["a trial of a day ends at midnight", { trial_days: 1 }, "2026-01-18", "2026-01-18", null],
  ["the longest trial", { trial_days: 730 }, "2028-01-17", "2028-01-17", null],
  ["anniversary", { is_anniversary: true }, "2026-02-17", null, "2026-01-17"],
  [
    "anniversary behind a trial",
    { is_anniversary: true, trial_days: 14 },
    "2026-01-31",
    "2026-01-31",
    "2026-01-31",
  ],
  [
    "an anchor that was given stays",
    { is_anniversary: true, trial_days: 3, anchor_date: "2025-05-31" },
    "2026-01-20",
    "2026-01-20",
    "2025-05-31",
  ],
  [
    "a given anchor that has passed",
    { is_anniversary: true, anchor_date: "2025-05-31" },
    "2026-01-31",
    null,
    "2025-05-31",
  ],
  [
    "a given anchor ahead",
    { is_anniversary: true, anchor_date: "2026-01-20" },
    "2026-01-20",
    null,
    "2026-01-20",
  ],
])("%s", (_, terms, next, trial_ends, anchor_date) => {
  const started_at = at(START);
  const plain = { trial_days: 0, interval: "monthly" as const, is_anniversary: false };
  expect(begin({ started_at, ...plain, anchor_date: null, ...terms })).toEqual({
    period: { start: started_at, next: at(next) },
    in_trial: trial_ends !== null,
    trial_ends_at: trial_ends === null ? null : at(trial_ends),
    anchor_date,
  });
});

test("a trial is of whole days, whatever the time of its start", () => {
  expect(trialEnd(at("2026-02-27T23:59:59.999Z"), 2)).toEqual(at("2026-03-01"));
  expect(trialEnd(at("2028-02-28"), 1)).toEqual(at("2028-02-29"));
});
