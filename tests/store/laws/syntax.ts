// Statements as PostgreSQL's own parser reads them, cut into query levels: each SELECT, INSERT,
// UPDATE and DELETE, in a subquery or not, with the tables and the conditions that are its own.

import { loadModule, parseSync } from "libpg-query";

await loadModule();

/** A node of the syntax tree, without the object around it that says of what kind it is. */
export type Tree = { readonly [field: string]: unknown };

export type Table = { readonly name: string; readonly alias: string };

export type Condition = {
  readonly expression: Tree;
  /** The tables it narrows; undefined when it narrows all. */
  readonly narrows: ReadonlySet<string> | undefined;
};

const LEVELS = ["SelectStmt", "InsertStmt", "UpdateStmt", "DeleteStmt"] as const;
type LevelKind = (typeof LEVELS)[number];

export type Level = {
  readonly kind: LevelKind;
  readonly node: Tree;
  /** Tables that it reads or changes by a condition; not the target of an INSERT. */
  readonly tables: readonly Table[];
  readonly conditions: readonly Condition[];
  readonly in_cte: boolean;
  readonly parent: Level | undefined;
};

/** Undefined for what is not of these kinds. */
export function parseStatement(text: string): Tree | undefined {
  const { stmts = [] } = parseSync(text) as { stmts?: readonly { stmt?: unknown }[] };
  if (stmts.length !== 1) throw new Error(`Expected one statement: ${text}`);
  const statement = stmts[0]?.stmt as Tree;
  return LEVELS.some((kind) => kind in statement) ? statement : undefined;
}

export function field(node: unknown, name: string): unknown {
  return typeof node === "object" && node !== null ? (node as Tree)[name] : undefined;
}

/** The node itself, when it is of this kind. */
export function as(kind: string, node: unknown): Tree | undefined {
  return field(node, kind) as Tree | undefined;
}

export function list(node: unknown, name: string): readonly unknown[] {
  return (field(node, name) as readonly unknown[] | undefined) ?? [];
}

/** `["c", "project_id"]` of `c.project_id`, and `["f"]` of the name of a function or type. */
export function names(parts: readonly unknown[]): string[] {
  return parts.map((part) => String(field(as("String", part), "sval") ?? "*"));
}

export function columnOf(node: unknown): string[] | undefined {
  const reference = as("ColumnRef", node);
  return reference && names(list(reference, "fields"));
}

/** Calls `visit` with the kind and the node of everything below, types included. */
export function walkTree(value: unknown, visit: (kind: string, node: Tree) => void): void {
  if (Array.isArray(value)) {
    for (const one of value) walkTree(one, visit);
    return;
  }
  if (typeof value !== "object" || value === null) return;
  for (const [name, inner] of Object.entries(value)) {
    if (typeof inner !== "object" || inner === null) continue;
    if (/^[A-Z]/.test(name)) visit(name, inner as Tree);
    if (name === "typeName") visit("TypeName", inner as Tree);
    walkTree(inner, visit);
  }
}

type Around = { readonly ctes: ReadonlySet<string>; readonly in_cte: boolean };

export function levelsOf(statement: Tree): Level[] {
  const levels: Level[] = [];
  enter(statement, { ctes: new Set(), in_cte: false }, undefined, levels);
  return levels;
}

function enter(wrapped: unknown, around: Around, parent: Level | undefined, found: Level[]): void {
  const kind = LEVELS.find((one) => as(one, wrapped) !== undefined);
  if (kind === undefined) return;
  const node = as(kind, wrapped) as Tree;
  const expressions = list(field(node, "withClause"), "ctes").map((cte) =>
    as("CommonTableExpr", cte),
  );
  const own = expressions.map((cte) => String(field(cte, "ctename")));
  const ctes = new Set([...around.ctes, ...own]);
  const level = levelOf(kind, node, { ...around, ctes }, parent);
  for (const cte of expressions) {
    enter(field(cte, "ctequery"), { ctes, in_cte: true }, parent, found);
  }
  if (isUnion(node)) {
    for (const side of ["larg", "rarg"]) {
      enter({ SelectStmt: field(node, side) }, { ...around, ctes }, parent, found);
    }
    return;
  }
  found.push(level);
  for (const inner of innerQueries(node)) enter(inner, { ...around, ctes }, level, found);
}

function isUnion(node: Tree): boolean {
  return field(node, "larg") !== undefined;
}

/** The queries right below, not those below them. */
function innerQueries(node: Tree): unknown[] {
  const found: unknown[] = [];
  const step = (value: unknown): void => {
    if (Array.isArray(value)) {
      value.forEach(step);
      return;
    }
    if (typeof value !== "object" || value === null) return;
    if (LEVELS.some((kind) => kind in value)) found.push(value);
    else Object.values(value).forEach(step);
  };
  for (const [name, value] of Object.entries(node)) if (name !== "withClause") step(value);
  return found;
}

function levelOf(kind: LevelKind, node: Tree, around: Around, parent: Level | undefined): Level {
  const tables: Table[] = [];
  const conditions: Condition[] = [];
  const add = (variable: Tree) => {
    const name = String(field(variable, "relname"));
    const isTable = field(variable, "schemaname") !== undefined || !around.ctes.has(name);
    const alias = aliasOf(variable) ?? name;
    if (isTable) tables.push({ name, alias });
    return alias;
  };
  if (kind === "UpdateStmt" || kind === "DeleteStmt") add(field(node, "relation") as Tree);
  for (const name of ["fromClause", "usingClause"]) {
    for (const item of list(node, name)) readFrom(item, add, conditions);
  }
  for (const expression of conjuncts(field(node, "whereClause"))) {
    conditions.push({ expression, narrows: undefined });
  }
  return { kind, node, tables, conditions, in_cte: around.in_cte, parent };
}

export function aliasOf(node: unknown): string | undefined {
  return field(field(node, "alias"), "aliasname") as string | undefined;
}

/** Returns the names under which the columns of this item are known. */
function readFrom(
  item: unknown,
  add: (variable: Tree) => string,
  conditions: Condition[],
): string[] {
  const variable = as("RangeVar", item);
  if (variable !== undefined) return [add(variable)];
  const join = as("JoinExpr", item);
  if (join === undefined) return [];
  const left = readFrom(field(join, "larg"), add, conditions);
  const right = readFrom(field(join, "rarg"), add, conditions);
  // What an outer join asks for narrows only the side that it may leave empty.
  const narrowed: Record<string, string[]> = { JOIN_LEFT: right, JOIN_RIGHT: left, JOIN_FULL: [] };
  const narrows = narrowed[String(field(join, "jointype"))];
  for (const expression of conjuncts(field(join, "quals"))) {
    conditions.push({ expression, narrows: narrows && new Set(narrows) });
  }
  return [...left, ...right];
}

function conjuncts(expression: unknown): Tree[] {
  if (expression === undefined) return [];
  const both = as("BoolExpr", expression);
  if (field(both, "boolop") === "AND_EXPR") return list(both, "args").flatMap(conjuncts);
  return [expression as Tree];
}
