// Rows to insert for one project, in the two forms that a cluster sends to its node alone.

import { join, json, type Sql, sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

/** The columns of a table behind project_id, each with its SQL type. */
export type Columns = Readonly<Record<string, string>>;

type Row<C extends Columns> = { readonly [name in keyof C]: unknown };

/** `project_id` and the columns, as `insert into` lists them. */
export function columnsOf(columns: Columns): Sql {
  return raw(`project_id, ${Object.keys(columns).join(", ")}`);
}

/**
 * One row as VALUES, whose plan a cluster keeps from call to call; several as a select that starts
 * from the project's anchor.
 */
export function rowsOf<C extends Columns>(
  project: ProjectId,
  columns: C,
  rows: readonly Row<C>[],
): Sql {
  const [row] = rows;
  if (rows.length === 1 && row !== undefined) return oneRow(project, columns, row);
  return sql`
    select a.project_id, ${raw(namesOf(columns, "r."))}
      from project_anchors a
     cross join ${recordset("r", columns, rows)}
     where a.project_id = ${project}`;
}

/**
 * The rows as a table of this name, with the columns and their types. Only what these hold is sent:
 * with all that rows carry, PostgreSQL computed 6 % longer in a close.
 */
export function recordset<C extends Columns>(
  name: string,
  columns: C,
  rows: readonly Row<C>[],
): Sql {
  const typed = Object.entries(columns).map(([column, type]) => `${column} ${type}`);
  const sent = json(rows.map((row) => filled(columns, row)));
  return sql`json_to_recordset(${sent}::json) as ${raw(`${name} (${typed.join(", ")})`)}`;
}

/** The columns of a row that are not null. */
function filled<C extends Columns>(columns: C, row: Row<C>): Readonly<Record<string, unknown>> {
  const values: Record<string, unknown> = {};
  for (const column in columns) {
    const value = row[column];
    if (value !== null && value !== undefined) values[column] = value;
  }
  return values;
}

/** The names, each behind a table's alias. */
export function namesOf(columns: Columns, prefix: string): string {
  return Object.keys(columns)
    .map((name) => prefix + name)
    .join(", ");
}

function oneRow<C extends Columns>(project: ProjectId, columns: C, row: Row<C>): Sql {
  const values = Object.entries(columns).map(([name, type]) => {
    const value = row[name] ?? null;
    const sent = type.startsWith("json") && value !== null ? json(value) : value;
    return sql`${sent}::${raw(type)}`;
  });
  return sql`values (${project}, ${join(values, ", ")})`;
}

/** Text that is part of the code, never of the data. */
export function raw(text: string): Sql {
  return { text, values: [] };
}
