// Whether callers are being answered, by whichever process: such connections have their own name.

import { DATABASE_NOW, type Queryable } from "./db.ts";
import { sql } from "./sql.ts";

/** The name of connections that answer requests. */
export const ANSWERING = "dues api";
const LATELY = "250 milliseconds";

/** A worker whose role may not look at the sessions of the others sees nobody. */
export async function areBeingAnswered(db: Queryable): Promise<boolean> {
  const { answered } = await db.one<{ answered: boolean }>(sql`
    select exists (
      select 1
        from pg_stat_activity
       where datname = current_database() and application_name = ${ANSWERING}
         and (state = 'active' or state_change > ${DATABASE_NOW} - ${LATELY}::interval)
    ) as answered`);
  return answered;
}
