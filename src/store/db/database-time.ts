// The clock of the database, which all processes share, beside the one of this process.

import { DATABASE_NOW, type Queryable } from "./db.ts";
import { sql } from "./sql.ts";

/** The clock of the process, as far as it is asked here. */
type Clock = { now(): Date };

export async function databaseTime(db: Queryable): Promise<Date> {
  const { at } = await db.one<{ at: Date }>(sql`select ${DATABASE_NOW} as at`);
  return at;
}

/**
 * The least difference of the clocks that explains the answer: above 0 the process is ahead, below
 * 0 behind. A time between the question and its answer is explained without any.
 */
export async function leastDifference(db: Queryable, clock: Clock): Promise<number> {
  const asked_ms = clock.now().getTime();
  const database_ms = (await databaseTime(db)).getTime();
  const answered_ms = clock.now().getTime();
  if (database_ms < asked_ms) return asked_ms - database_ms;
  if (database_ms > answered_ms) return answered_ms - database_ms;
  return 0;
}

/** Why the process may do nothing by itself, in words for the operator; undefined when it may. */
export async function clockFault(
  db: Queryable,
  clock: Clock,
  limit_ms: number,
): Promise<string | undefined> {
  if (limit_ms === 0) return undefined;
  const ahead_ms = await leastDifference(db, clock);
  if (Math.abs(ahead_ms) <= limit_ms) return undefined;
  const seconds = Math.round(Math.abs(ahead_ms) / 1_000);
  return (
    `The clock of this process is ${seconds} s ${ahead_ms > 0 ? "ahead of" : "behind"} the ` +
    `database's, and ${limit_ms / 1_000} s are allowed (CLOCK_SKEW_LIMIT_S): it bills, ends and ` +
    "removes nothing. Set both clocks by NTP."
  );
}
