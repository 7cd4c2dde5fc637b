// The clock of the database, which all processes share, beside the one of this process.

import { DATABASE_NOW, type Queryable } from "./db.ts";
import { sql } from "./sql.ts";

type Clock = { now(): Date };

export async function databaseTime(db: Queryable): Promise<Date> {
  const { at } = await db.one<{ at: Date }>(sql`select ${DATABASE_NOW} as at`);
  return at;
}

/** By how much the process is ahead, at least; below 0 when it is behind. */
export async function aheadOfDatabase(db: Queryable, clock: Clock): Promise<number> {
  const asked_ms = clock.now().getTime();
  const at_ms = (await databaseTime(db)).getTime();
  const answered_ms = clock.now().getTime();
  if (at_ms < asked_ms) return asked_ms - at_ms;
  return Math.min(0, answered_ms - at_ms);
}

/** Why the process does nothing by itself, in words for the operator; undefined when it may. */
export async function clockFault(
  db: Queryable,
  clock: Clock,
  limit_ms: number,
): Promise<string | undefined> {
  if (limit_ms === 0) return undefined;
  const ahead_ms = await aheadOfDatabase(db, clock);
  if (Math.abs(ahead_ms) <= limit_ms) return undefined;
  const seconds = Math.round(Math.abs(ahead_ms) / 1_000);
  return (
    `The clock of this process is ${seconds} s ${ahead_ms > 0 ? "ahead of" : "behind"} the ` +
    `database's, and ${limit_ms / 1_000} s are allowed (CLOCK_SKEW_LIMIT_S): it bills, ends and ` +
    "removes nothing. Set both clocks by NTP."
  );
}
