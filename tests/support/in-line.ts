// Calls that queue up for one row, one behind the other, while somebody else holds it: who waited
// finds what those before have made of it.

import type { Connection } from "../../src/store/db/db.ts";
import { sql } from "../../src/store/db/sql.ts";
import type { Answer } from "./app.ts";
import { countOnNodes, onClient } from "./database.ts";
import { until } from "./processes.ts";

const WAITING = sql`
  select count(*)
    from pg_stat_activity
   where wait_event_type = 'Lock' and datname = current_database()`;

/** How many sessions wait for a lock at this moment. */
export function countWaiting(connection: Connection): Promise<number> {
  return countOnNodes(connection, WAITING);
}

export type Row = { readonly table: string; readonly project: string; readonly id: string };

/** Each begins once the one before it waits for the row, which is released behind the last one. */
export function inLine(
  connection: Connection,
  { table, project, id }: Row,
  calls: readonly (() => Promise<Answer>)[],
): Promise<Answer[]> {
  return onClient(connection, async (holder) => {
    await holder.query("begin");
    const held = `select 1 from ${table} where project_id = $1 and id = $2 for update`;
    await holder.query(held, [project, id]);
    const answers: Promise<Answer>[] = [];
    for (const call of calls) {
      answers.push(call());
      await until(async () => (await countWaiting(connection)) >= answers.length);
    }
    await holder.query("commit");
    return Promise.all(answers);
  });
}
