// Rows to insert for one project, in the two forms that a cluster sends to its node alone.

import type { ProjectId } from "../../ids.ts";
import { listText } from "./lists.ts";
import { join, json, type Sql, sql } from "./sql.ts";

/** The columns of a table behind project_id, each with its SQL type. */
export type Columns = Readonly<Record<string, string>>;

type Row<C extends Columns> = { readonly [name in keyof C]: unknown };

/** `project_id` and the columns, as `insert into` lists them. */
export function columnsOf(columns: Columns): Sql {
  return raw(`project_id, ${Object.keys(columns).join(", ")}`);
}

/**
 * How many rows are sent as VALUES, as many as a call has. A cluster keeps the plan of those, and
 * locks the shard of their project alone; for a select it plans, and locks, every shard, so that a
 * shard that moves holds up all.
 */
const FEW = 4;

/** Whether VALUES can hold them: without a row there is none. */
export function areFew(rows: readonly unknown[]): boolean {
  return rows.length > 0 && rows.length <= FEW;
}

/** A few rows as VALUES; more as a select that starts from the project's anchor. */
export function rowsOf<C extends Columns>(
  project: ProjectId,
  columns: C,
  rows: readonly Row<C>[],
): Sql {
  if (areFew(rows)) return valuesOf(project, columns, rows);
  return sql`
    select a.project_id, ${raw(selected(columns))}
      from project_anchors a
     cross join ${recordset("r", columns, rows)}
     where a.project_id = ${project}`;
}

/**
 * The rows as a table of this name, whose columns are sent as one list each. As a JSON text of all
 * rows, 5,000 fees took PostgreSQL 61 instead of 35 ms. A list of lists would become one long list,
 * so a column of lists comes as texts.
 */
export function recordset<C extends Columns>(
  name: string,
  columns: C,
  rows: readonly Row<C>[],
): Sql {
  const lists = Object.entries(columns).map(([column, type]) => {
    const values = rows.map((row) => row[column]);
    return sql`${listText(type, values)}::${raw(isList(type) ? type : `${type}[]`)}`;
  });
  return sql`unnest(${join(lists, ", ")}) as ${raw(`${name} (${namesOf(columns, "")})`)}`;
}

function isList(type: string): boolean {
  return type.endsWith("[]");
}

/** The columns of a recordset `r`. */
function selected(columns: Columns): string {
  return Object.entries(columns)
    .map(([name, type]) => (isList(type) ? `r.${name}::${type}` : `r.${name}`))
    .join(", ");
}

/** The names, each behind a table's alias. */
export function namesOf(columns: Columns, prefix: string): string {
  return Object.keys(columns)
    .map((name) => prefix + name)
    .join(", ");
}

export function valuesOf<C extends Columns>(
  project: ProjectId,
  columns: C,
  rows: readonly Row<C>[],
): Sql {
  return sql`values ${join(
    rows.map((row) => oneRow(project, columns, row)),
    ", ",
  )}`;
}

function oneRow<C extends Columns>(project: ProjectId, columns: C, row: Row<C>): Sql {
  const values = Object.entries(columns).map(([name, type]) => {
    const value = row[name] ?? null;
    const sent = type.startsWith("json") && value !== null ? json(value) : value;
    return sql`${sent}::${raw(type)}`;
  });
  return sql`(${project}::uuid, ${join(values, ", ")})`;
}

/** Text that is part of the code, never of the data. */
export function raw(text: string): Sql {
  return { text, values: [] };
}
