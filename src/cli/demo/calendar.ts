// The days of the demo: a year that begins on a fixed day, so that its figures are the same
// whenever it is run.

import { DAY_MS } from "../../domain/dates.ts";
import type { Day } from "./usage.ts";

const START = "2025-01-01";

/** The first instant of a day of the month `month`, counted from the demo's first. */
export function dayOf(month: number, day: number): Date {
  return new Date(Date.UTC(2025, month, day));
}

/** Late on the last day of the month: all of its usage is there, and it is not closed yet. */
export function lastEveningOf(month: number): Date {
  return new Date(Date.UTC(2025, month + 1, 1) - 2 * 3_600 * 1_000);
}

export function monthName(month: number): string {
  return dayOf(month, 1).toLocaleString("en", { month: "long", year: "numeric", timeZone: "UTC" });
}

/** Whole days, from the one of `from` up to the one before `to`. */
export function daysBetween(from: Date, to: Date): Day[] {
  const days: Day[] = [];
  for (let at = from.getTime(); at < to.getTime(); at += DAY_MS) {
    const date = new Date(at).toISOString().slice(0, 10);
    const index = Math.round((at - Date.parse(`${START}T00:00:00Z`)) / DAY_MS);
    const month = Math.max(
      0,
      (Number(date.slice(0, 4)) - 2025) * 12 + Number(date.slice(5, 7)) - 1,
    );
    days.push({ date, index, month });
  }
  return days;
}
