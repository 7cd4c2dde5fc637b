// A migration that changes many rows does so in portions, each a transaction of its own, so that it
// holds nothing for long and goes on where it was cut short. Its first line says of which table.

import pg from "pg";

const FIRST_LINE = /^-- In portions of (\w+), by id\.\n/;
const PORTION_ROWS = 20_000;

/** The table whose rows it takes in portions; undefined for a migration that is one transaction. */
export function portionedTable({ text }: { readonly text: string }): string | undefined {
  return FIRST_LINE.exec(text)?.[1];
}

/**
 * Runs the statement for the rows of each project, portion by portion: $1 is the project, $2 and $3
 * are the ids before and at the last of the portion. `within` makes each a transaction, or not.
 */
export async function runInPortions(
  client: pg.ClientBase,
  statement: string,
  table: string,
  within: (work: () => Promise<unknown>) => Promise<unknown>,
): Promise<void> {
  const { rows: projects } = await client.query<{ project_id: string }>(
    "select project_id from project_anchors order by project_id",
  );
  for (const { project_id } of projects) {
    let after = FIRST_ID;
    for (;;) {
      const last = await lastOfPortion(client, table, project_id, after);
      if (last === undefined) break;
      const portion = [project_id, after, last];
      await within(() => client.query(statement, portion));
      after = last;
    }
  }
}

const FIRST_ID = "00000000-0000-0000-0000-000000000000";

async function lastOfPortion(
  client: pg.ClientBase,
  table: string,
  project_id: string,
  after: string,
): Promise<string | undefined> {
  const { rows } = await client.query<{ id: string }>(
    `select p.id
       from (select t.id
               from ${pg.escapeIdentifier(table)} t
              where t.project_id = $1 and t.id > $2
              order by t.id
              limit ${PORTION_ROWS}) p
      order by p.id desc
      limit 1`,
    [project_id, after],
  );
  return rows[0]?.id;
}
