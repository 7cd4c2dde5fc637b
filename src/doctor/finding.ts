// What a check comes to: its status, what was seen, and what to do.

import type { Reading } from "../store/work/checks.ts";

export type Status = "ok" | "warn" | "fail" | "skipped";

export type Finding = {
  /** The name of the check, which stays the same over versions. */
  readonly check: string;
  readonly status: Status;
  readonly seen: string;
  /** What to do; null where there is nothing to do. */
  readonly advice: string | null;
};

/** What a check finds, without its name. */
export type Verdict = Omit<Finding, "check">;

export function ok(seen: string): Verdict {
  return { status: "ok", seen, advice: null };
}

export function warn(seen: string, advice: string): Verdict {
  return { status: "warn", seen, advice };
}

export function fail(seen: string, advice: string): Verdict {
  return { status: "fail", seen, advice };
}

export function skipped(seen: string): Verdict {
  return { status: "skipped", seen, advice: null };
}

/** Judges a part of the database's answers; one that could not be read is skipped. */
export function judged<T>(read: Reading<T>, judge: (value: T) => Verdict): Verdict {
  return "why" in read ? skipped(`could not be read: ${read.why}`) : judge(read.value);
}

const UNITS: readonly [string, number][] = [
  ["days", 86_400],
  ["h", 3_600],
  ["min", 60],
];

/** 90 is "90 s", 7,200 is "2 h": one unit, rounded down. */
export function duration(seconds: number): string {
  const unit = UNITS.find(([, size]) => seconds >= 2 * size);
  if (unit === undefined) return `${Math.round(seconds)} s`;
  return `${Math.floor(seconds / unit[1])} ${unit[0]}`;
}

export function gigabytes(bytes: number): string {
  return `${Math.round((bytes / 1024 ** 3) * 10) / 10} GB`;
}
