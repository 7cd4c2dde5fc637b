// UTC days and instants. A day is a `YYYY-MM-DD` string, an instant a Date; the time zone of the
// machine is never used.

import { TIMESTAMP_YEARS } from "../schema/fault-messages.ts";

export const DAY_MS = 86_400_000;

const { min: YEAR_MIN, max: YEAR_MAX } = TIMESTAMP_YEARS;
const CANONICAL = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$/;
const ZERO = 0x30;
/** Every month has at least so many days. */
const DAYS_MIN = 28;
const TIMESTAMP = new RegExp(
  "^(?<year>[0-9]{4})-(?<month>[0-9]{2})-(?<day>[0-9]{2})" +
    "T(?<hour>[0-9]{2}):(?<minute>[0-9]{2})" +
    "(?::(?<second>[0-9]{2})(?:\\.(?<fraction>[0-9]{1,9}))?)?" +
    "(?:Z|(?<sign>[+-])(?<zone_hour>[0-9]{2}):(?<zone_minute>[0-9]{2}))$",
);

/** The UTC day that holds an instant. */
export function utcDate(at: Date): string {
  return at.toISOString().slice(0, 10);
}

export function startOfDay(date: string): Date {
  const at = new Date(`${date}T00:00:00.000Z`);
  // The engine reads 30 February as 1 March: only the round trip tells.
  if (Number.isNaN(at.getTime()) || utcDate(at) !== date) {
    throw new RangeError(`"${date}" is not a date.`);
  }
  return at;
}

export function addDays(date: string, days: number): string {
  return utcDate(new Date(startOfDay(date).getTime() + days * DAY_MS));
}

/** How many days `b` lies after `a`; negative when before. */
export function daysBetween(a: string, b: string): number {
  return (startOfDay(b).getTime() - startOfDay(a).getTime()) / DAY_MS;
}

/** The first midnight after `at`; an instant that is a midnight gives the following one. */
export function nextMidnight(at: Date): Date {
  return new Date((Math.floor(at.getTime() / DAY_MS) + 1) * DAY_MS);
}

/**
 * Reads a full ISO 8601 timestamp with zone, of a real calendar day. Digits beyond the millisecond
 * are cut off, never rounded, so that no event slips over the end of its period.
 */
export function parseTimestamp(text: string): Date | undefined {
  return canonical(text) ?? anyForm(text);
}

/** `YYYY-MM-DDTHH:MM:SS.mmmZ`, the form of most events, whose digits stand at known places. */
function canonical(text: string): Date | undefined {
  if (!CANONICAL.test(text)) return undefined;
  const year = number(text, 0, 4);
  const month = number(text, 5, 7);
  const day = number(text, 8, 10);
  const hour = number(text, 11, 13);
  const minute = number(text, 14, 16);
  const second = number(text, 17, 19);
  if (year < YEAR_MIN || year > YEAR_MAX || month < 1 || month > 12 || day < 1) return undefined;
  if (hour > 23 || minute > 59 || second > 59) return undefined;
  const at = new Date(Date.UTC(year, month - 1, day, hour, minute, second, number(text, 20, 23)));
  // The engine reads 30 February as 2 March.
  return day <= DAYS_MIN || at.getUTCDate() === day ? at : undefined;
}

function number(text: string, from: number, to: number): number {
  let value = 0;
  for (let i = from; i < to; i++) value = value * 10 + text.charCodeAt(i) - ZERO;
  return value;
}

function anyForm(text: string): Date | undefined {
  const parts = TIMESTAMP.exec(text)?.groups;
  if (parts === undefined) return undefined;
  const read = (name: string) => Number(parts[name] ?? 0);
  const [hour, zoneHour] = [read("hour"), read("zone_hour")];
  const [minute, second, zoneMinute] = [read("minute"), read("second"), read("zone_minute")];
  // 24:00 and the leap second 60 are refused: they are other names of the next instant.
  if (Math.max(hour, zoneHour) > 23 || Math.max(minute, second, zoneMinute) > 59) return undefined;

  const day = Date.UTC(read("year"), read("month") - 1, read("day"));
  if (utcDate(new Date(day)) !== text.slice(0, 10)) return undefined;

  const ms = Number((parts.fraction ?? "").slice(0, 3).padEnd(3, "0"));
  const ofDayMs = ((hour * 60 + minute) * 60 + second) * 1000 + ms;
  const zoneMs = (zoneHour * 60 + zoneMinute) * 60_000 * (parts.sign === "-" ? -1 : 1);
  return withinYears(new Date(day + ofDayMs - zoneMs));
}

function withinYears(at: Date): Date | undefined {
  const year = at.getUTCFullYear();
  return year >= YEAR_MIN && year <= YEAR_MAX ? at : undefined;
}

/** The first instant behind this one: instants are whole milliseconds. */
export function justAfter(at: Date): Date {
  return new Date(at.getTime() + 1);
}
