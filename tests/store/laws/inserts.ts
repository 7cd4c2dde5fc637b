// The laws for INSERT: where it stands, and where its rows come from.

import { isProject, tableBreaches } from "./bindings.ts";
import type { Breach, Setting } from "./laws.ts";
import { aliasOf, as, columnOf, field, type Level, list, type Tree, walkTree } from "./syntax.ts";
import { DISTRIBUTED } from "./tables.ts";

export function insertBreaches(level: Level, setting: Setting): Breach[] {
  if (level.kind !== "InsertStmt") return [];
  const table = String(field(field(level.node, "relation"), "relname"));
  const found: Breach[] = [];
  if (level.in_cte) found.push({ law: "cte", says: `an INSERT into ${table} in a CTE` });
  const column = DISTRIBUTED[table];
  if (column === undefined) {
    return [...found, ...tableBreaches({ name: table, alias: table }, setting)];
  }
  const columns = list(level.node, "cols").map((one) => field(as("ResTarget", one), "name"));
  const place = columns.indexOf(column);
  const rows = as("SelectStmt", field(level.node, "selectStmt"));
  const values = list(rows, "valuesLists").map((row) => list(as("List", row), "items"));
  const says =
    values.length > 0
      ? valuesFault(values, place, setting)
      : selectFault(rows, place, columns.length);
  return says === undefined ? found : [...found, { law: "insert", says: `${table}: ${says}` }];
}

function valuesFault(
  rows: readonly (readonly unknown[])[],
  place: number,
  setting: Setting,
): string | undefined {
  if (place < 0 || rows.some((row) => !isProject(row[place], setting))) {
    return "VALUES without the project as a parameter";
  }
  let queries = 0;
  walkTree(rows, (kind) => {
    if (kind === "SubLink") queries++;
  });
  return queries > 0 ? "a subquery in VALUES" : undefined;
}

/** The project must be a column of a distributed table, so that rows are made where they stay. */
function selectFault(rows: Tree | undefined, place: number, columns: number): string | undefined {
  const advice = "select the project_id of a distributed table, such as project_anchors";
  if (rows === undefined || field(rows, "larg") !== undefined) return advice;
  const targets = list(rows, "targetList").map((target) => field(as("ResTarget", target), "val"));
  const column = place < 0 || place >= columns ? undefined : columnOf(targets[place]);
  return column !== undefined && leadsToTable(rows, column) ? undefined : advice;
}

/** Whether a column of a SELECT is the distribution column of a table, through subqueries too. */
function leadsToTable(rows: Tree, column: readonly string[]): boolean {
  const [alias, name] = column.length === 1 ? [undefined, column[0]] : column;
  const sources = list(rows, "fromClause").flatMap(fromItems);
  return sources.some((source) => {
    const variable = as("RangeVar", source);
    if (variable !== undefined) {
      const table = String(field(variable, "relname"));
      const known = aliasOf(variable) ?? table;
      return DISTRIBUTED[table] === name && (alias === undefined || alias === known);
    }
    const subquery = as("RangeSubselect", source);
    if (subquery === undefined || (alias !== undefined && aliasOf(subquery) !== alias))
      return false;
    const inner = as("SelectStmt", field(subquery, "subquery"));
    if (inner === undefined) return false;
    const targets = list(inner, "targetList").map((one) => as("ResTarget", one));
    const made = targets
      .map((one) => columnOf(field(one, "val")))
      .find((at) => at?.at(-1) === name);
    return made !== undefined && leadsToTable(inner, made);
  });
}

function fromItems(item: unknown): unknown[] {
  const join = as("JoinExpr", item);
  if (join === undefined) return [item];
  return [...fromItems(field(join, "larg")), ...fromItems(field(join, "rarg"))];
}
