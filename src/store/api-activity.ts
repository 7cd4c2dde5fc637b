// Whether the API is answering requests, in whichever process: its connections have a name of their
// own, and PostgreSQL lists them. The billing worker then closes one batch at a time (decision 9).

import { DATABASE_NOW, type Queryable } from "./db.ts";
import { sql } from "./sql.ts";

/** The application_name of connections that answer requests. */
export const API_CONNECTION_NAME = "dues api";
const ACTIVE_WITHIN = "250 milliseconds";

/**
 * True while a connection of the API runs a statement, or did a moment ago. Always false for a role
 * that may not see other sessions in pg_stat_activity.
 */
export async function isApiActive(db: Queryable): Promise<boolean> {
  const { active } = await db.one<{ active: boolean }>(sql`
    select exists (
      select 1
        from pg_stat_activity
       where datname = current_database() and application_name = ${API_CONNECTION_NAME}
         and (state = 'active' or state_change > ${DATABASE_NOW} - ${ACTIVE_WITHIN}::interval)
    ) as active`);
  return active;
}
