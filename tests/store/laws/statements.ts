// The laws of a Citus cluster for one statement.

import { boundTo, isForPart, isFree, isProject, tableBreaches } from "./bindings.ts";
import { insertBreaches } from "./inserts.ts";
import type { Breach, Setting } from "./laws.ts";
import {
  as,
  type Condition,
  columnOf,
  field,
  type Level,
  levelsOf,
  list,
  names,
  parseStatement,
  type Tree,
  walkTree,
} from "./syntax.ts";
import { DISTRIBUTED, REFERENCE } from "./tables.ts";

export function breaches(text: string, setting: Setting): Breach[] {
  const statement = parseStatement(text);
  if (statement === undefined) return [{ law: "dynamic", says: "a statement of another kind" }];
  const levels = levelsOf(statement);
  return [
    ...acrossBreaches(levels, setting),
    ...levels.flatMap((level) => levelBreaches(level, setting)),
    ...wordBreaches(statement, levels, setting),
    ...functionBreaches(statement, levels, setting),
    ...transitionBreaches(levels, setting),
  ];
}

function levelBreaches(level: Level, setting: Setting): Breach[] {
  return [
    ...projectBreaches(level, setting),
    ...referenceBreaches(level, setting),
    ...insertBreaches(level, setting),
    ...changeBreaches(level, setting),
  ];
}

function projectBreaches(level: Level, setting: Setting): Breach[] {
  return level.tables.flatMap((table): Breach[] => {
    const column = DISTRIBUTED[table.name];
    if (column === undefined) return tableBreaches(table, setting);
    const bound = boundTo(level, table, column, setting);
    if (bound === "one") return [];
    const instead = bound === "several" ? "may be one of several" : "is not set to the project";
    return [{ law: "project", says: `${table.alias}.${column} ${instead} (${table.name})` }];
  });
}

/** What holds for statements over several projects too, which have a reason to be such. */
function acrossBreaches(levels: readonly Level[], setting: Setting): Breach[] {
  const free = levels.flatMap((level) =>
    level.tables.filter((table) => isFree(level, table, setting)),
  );
  if (free.length === 0) return [];
  const found: Breach[] = [];
  if (levels.some(({ node }) => list(node, "lockingClause").length > 0)) {
    found.push({ law: "row lock", says: free.map(({ name }) => name).join(", ") });
  }
  const partly = levels.flatMap((level) =>
    level.tables.filter((table) => isForPart(level, table, setting)),
  );
  if (partly.length > 0) {
    const whole = free.filter((table) => !partly.includes(table));
    found.push(...whole.map(({ name }): Breach => ({ law: "part", says: name })));
  }
  const joined = new Set(levels.flatMap(({ conditions }) => conditions.flatMap(joinedAliases)));
  const apart = free.length === 1 ? [] : free.filter(({ alias }) => !joined.has(alias));
  return [...found, ...apart.map(({ name }): Breach => ({ law: "joined", says: name }))];
}

/** The tables of `a.project_id = b.project_id`. */
function joinedAliases({ expression }: Condition): string[] {
  const comparison = as("A_Expr", expression);
  const sides = [field(comparison, "lexpr"), field(comparison, "rexpr")].map(columnOf);
  const [one = [], other = []] = sides;
  const isJoin =
    [one, other].some((side) => side[1] === "project_id") && one.length === other.length;
  return isJoin ? [...one.slice(0, 1), ...other.slice(0, 1)] : [];
}

function referenceBreaches(level: Level, setting: Setting): Breach[] {
  const free = level.tables.filter((table) => isFree(level, table, setting));
  if (free.length === 0) return [];
  for (let outer = level.parent; outer !== undefined; outer = outer.parent) {
    const [first] = outer.tables;
    if (first === undefined || outer.tables.some(({ name }) => name in DISTRIBUTED)) continue;
    const says = `a subquery from ${first.name} into ${free.map(({ name }) => name).join(", ")}`;
    return [{ law: "reference", says }];
  }
  return [];
}

/** What Citus asks of the parts of a statement that it runs beside the rows. */
function changeBreaches(level: Level, setting: Setting): Breach[] {
  const { node, kind } = level;
  if (kind === "SelectStmt") return [];
  const table = String(field(field(node, "relation"), "relname"));
  const changed = list(node, "targetList").map((one) => field(as("ResTarget", one), "name"));
  const found: Breach[] = [];
  if (REFERENCE.includes(table)) found.push({ law: "copies", says: `${table} is written` });
  if (kind === "UpdateStmt" && changed.includes(DISTRIBUTED[table])) {
    found.push({ law: "move", says: `${table}: the project of a row is changed` });
  }
  for (const says of lateParts(node, setting)) {
    found.push({ law: "volatile", says: `${table}: ${says}` });
  }
  const returned = list(field(node, "returningClause"), "exprs");
  const excluded = list(field(node, "onConflictClause"), "targetList");
  for (const [part, name] of [
    [returned, "RETURNING"],
    [excluded, "DO UPDATE SET"],
  ] as const) {
    for (const says of mutableParts(part, setting)) {
      found.push({ law: "volatile", says: `${table}: ${says} in ${name}` });
    }
  }
  return found;
}

function mutableParts(part: readonly unknown[], setting: Setting): string[] {
  const found: string[] = [];
  walkTree(part, (kind, node) => {
    if (kind === "FuncCall") {
      const name = functionName(node);
      if (setting.mutable.has(signature(node))) found.push(`${name}()`);
    }
    if (kind === "A_Expr" && names(list(node, "name")).join() === "||") {
      for (const side of [field(node, "lexpr"), field(node, "rexpr")]) {
        const column = columnOf(side)?.at(-1);
        if (column !== undefined && !setting.joinable.has(column)) found.push(`|| of ${column}`);
      }
    }
  });
  return found;
}

/** The time is put in before a statement is sent, but not where it may not be needed. */
function lateParts(statement: Tree, setting: Setting): string[] {
  const found: string[] = [];
  walkTree(statement, (kind, node) => {
    if (kind !== "CaseExpr" && kind !== "CoalesceExpr") return;
    walkTree(node, (inner, call) => {
      const tellsTime = inner === "FuncCall" && list(call, "args").length === 0;
      if (!tellsTime || !setting.mutable.has(signature(call))) return;
      found.push(`${functionName(call)}() in ${kind === "CaseExpr" ? "case" : "coalesce"}`);
    });
  });
  return found;
}

function functionName(call: Tree): string {
  return names(list(call, "funcname")).at(-1) ?? "";
}

function signature(call: Tree): string {
  return `${functionName(call)}/${list(call, "args").length}`;
}

const SYSTEM_COLUMN = /^(ctid|xmin|xmax|cmin|cmax|tableoid)$/;
const SYSTEM_TYPE = /^(xid|xid8|tid|pg_snapshot|txid_snapshot|pg_lsn)$/;
const SYSTEM_FUNCTION = /^(pg_snapshot|pg_current_snapshot|pg_current_xact|pg_visible_in|txid_)/;

/** Words that are forbidden wherever in a statement they stand. */
function wordBreaches(statement: Tree, levels: readonly Level[], setting: Setting): Breach[] {
  const found: Breach[] = [];
  const changes = levels.some(({ kind }) => kind !== "SelectStmt");
  const reads = levels.some(({ kind, tables }) => kind !== "SelectStmt" || tables.length > 0);
  const system = (says: string) => found.push({ law: "system column", says });
  walkTree(statement, (kind, node) => {
    if (kind === "ColumnRef") {
      const column = names(list(node, "fields")).at(-1) ?? "";
      if (SYSTEM_COLUMN.test(column)) system(column);
    }
    if (kind === "TypeName") {
      const type = names(list(node, "names")).at(-1) ?? "";
      if (SYSTEM_TYPE.test(type)) system(`the type ${type}`);
    }
    if (kind !== "FuncCall") return;
    const name = functionName(node);
    if (SYSTEM_FUNCTION.test(name)) system(`${name}()`);
    if (/advisory/.test(name) && !setting.within?.delegated)
      found.push({ law: "lock", says: `${name}()` });
    if (name === "pg_notify" && reads) found.push({ law: "notify", says: "beside a query" });
    if (changes && setting.volatile.has(signature(node)))
      found.push({ law: "volatile", says: `${name}()` });
  });
  return found;
}

function functionBreaches(statement: Tree, levels: readonly Level[], setting: Setting): Breach[] {
  const calls: string[] = [];
  walkTree(statement, (kind, node) => {
    if (kind === "FuncCall" && setting.own.has(functionName(node))) calls.push(functionName(node));
  });
  const [name] = calls;
  if (name === undefined) return [];
  const [level] = levels;
  const targets = list(level?.node, "targetList").map((one) => field(as("ResTarget", one), "val"));
  const call = as("FuncCall", targets[0]);
  const whole = levels.length === 1 && targets.length === 1 && call !== undefined;
  const bare = ["fromClause", "whereClause"].every(
    (part) => field(level?.node, part) === undefined,
  );
  if (whole && bare && functionName(call) === name && isProject(list(call, "args")[0], setting)) {
    return [];
  }
  return [{ law: "function", says: `a call of ${name} that is not \`select ${name}($1, …)\`` }];
}

function transitionBreaches(levels: readonly Level[], { within }: Setting): Breach[] {
  const read = levels.flatMap(({ tables }) => tables.map(({ name }) => name));
  const written = levels.flatMap(({ kind, node }) =>
    kind === "InsertStmt" ? [String(field(field(node, "relation"), "relname"))] : [],
  );
  const rows = read.find((name) => within?.transitions.has(name));
  const other = [...read, ...written].find((name) => name in DISTRIBUTED);
  if (rows === undefined || other === undefined) return [];
  return [{ law: "transition", says: `${rows} beside ${other}` }];
}
