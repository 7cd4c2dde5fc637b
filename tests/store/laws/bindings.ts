// Whether a statement says of which project the rows of a table are, and whether it may name it.

import type { Breach, Setting } from "./laws.ts";
import { as, columnOf, field, type Level, list, names, type Table } from "./syntax.ts";
import { DISTRIBUTED, REFERENCE } from "./tables.ts";

/** Whether the level itself says of which project, or projects, the rows of a table are. */
export function boundTo(
  level: Level,
  { alias }: Table,
  column: string,
  setting: Setting,
): "one" | "several" | "no" {
  const alone = level.tables.length === 1;
  const asked = level.conditions.filter(
    ({ narrows }) => narrows === undefined || narrows.has(alias),
  );
  const found = asked.flatMap(({ expression }) => {
    const comparison = as("A_Expr", expression);
    if (names(list(comparison, "name")).join() !== "=") return [];
    const sides = [field(comparison, "lexpr"), field(comparison, "rexpr")];
    const own = sides.find((side) => {
      const fields = columnOf(side)?.join(".");
      return fields === `${alias}.${column}` || (alone && fields === column);
    });
    const other = sides.find((side) => side !== own);
    if (own === undefined) return [];
    if (field(comparison, "kind") === "AEXPR_OP_ANY") {
      return isValue(other, setting) ? ["several" as const] : [];
    }
    return isProject(other, setting) ? ["one" as const] : [];
  });
  return found.includes("one") ? "one" : (found[0] ?? "no");
}

/** A parameter, or in a function one of its variables; also with a cast. */
export function isValue(node: unknown, { within }: Setting): boolean {
  const given = withoutCast(node);
  if (as("ParamRef", given) !== undefined) return true;
  const [variable] = columnOf(given) ?? [];
  return variable !== undefined && (within?.variables.has(variable) ?? false);
}

/** The same, and where the values are known it is the project and not another value. */
export function isProject(node: unknown, setting: Setting): boolean {
  const parameter = as("ParamRef", withoutCast(node));
  if (parameter === undefined || setting.sent === undefined) return isValue(node, setting);
  const { values, project } = setting.sent;
  return values[Number(field(parameter, "number")) - 1] === project;
}

function withoutCast(node: unknown): unknown {
  const cast = as("TypeCast", node);
  return cast === undefined ? node : withoutCast(field(cast, "arg"));
}

export function isFree(level: Level, table: Table, setting: Setting): boolean {
  const column = DISTRIBUTED[table.name];
  return column !== undefined && boundTo(level, table, column, setting) !== "one";
}

/** Whether the rows of a table are asked for by a list of projects. */
export function isForPart(level: Level, table: Table, setting: Setting): boolean {
  const column = DISTRIBUTED[table.name];
  return column !== undefined && boundTo(level, table, column, setting) === "several";
}

export function tableBreaches({ name }: Table, { within }: Setting): Breach[] {
  if (REFERENCE.includes(name) || within?.transitions.has(name)) return [];
  return [{ law: "table", says: `${name} is in no list of tables` }];
}
