// How many periods may be closed at once without a word.

import { expect, test } from "vitest";
import { refuseFarBehind, TooFarBehind } from "../../src/domain/far-behind.ts";
import { type Interval, periodAt } from "../../src/domain/periods.ts";

const START = new Date("2020-01-06T00:00:00.000Z");

function behind(interval: Interval, more: { ends_at?: Date; catch_up_to?: Date } = {}) {
  const end = periodAt(START, interval).next;
  const next = periodAt(end, interval);
  return { end, next, interval, anchor_date: null, ends_at: null, catch_up_to: null, ...more };
}

/** Where the period of this number ends, the open one being 1. */
function endOf(interval: Interval, n: number): Date {
  let period = periodAt(START, interval);
  for (let i = 1; i < n; i++) period = periodAt(period.next, interval);
  return period.next;
}

test.each(["weekly", "monthly", "quarterly", "yearly"] as const)(
  "24 %s periods may be, 25 may not",
  (interval) => {
    const at = endOf(interval, 25);
    expect(() => refuseFarBehind(behind(interval), new Date(at.getTime() - 1))).not.toThrow();
    expect(() => refuseFarBehind(behind(interval), at)).toThrow(TooFarBehind);
    expect(() => refuseFarBehind(behind(interval), at)).toThrow(/^too_far_behind: 25 periods have/);
  },
);

test("periods after the end that is set do not count", () => {
  const now = endOf("monthly", 80);
  const ends_at = new Date(endOf("monthly", 24).getTime() + 1);
  expect(() => refuseFarBehind(behind("monthly", { ends_at }), now)).not.toThrow();
});

test("those that have ended by the word given do not count, later ones do", () => {
  const catch_up_to = endOf("monthly", 40);
  const check = (n: number) =>
    refuseFarBehind(behind("monthly", { catch_up_to }), endOf("monthly", n));
  expect(() => check(64)).not.toThrow();
  expect(() => check(65)).toThrow(TooFarBehind);
});
