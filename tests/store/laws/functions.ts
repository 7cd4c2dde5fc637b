// The statements inside the functions that the migrations made, as PL/pgSQL reads them.

import { loadModule, parsePlPgSQLSync } from "libpg-query";
import type { Breach, Catalog } from "./laws.ts";
import { breaches } from "./statements.ts";
import { as, field, list, parseStatement, type Tree, walkTree } from "./syntax.ts";

await loadModule();

/** Run on the node of the project that is their first argument. A new function must be added. */
export const DELEGATED: readonly string[] = [
  "add_analytics_deltas",
  "lock_usage",
  "record_usage",
  "try_lock",
  "try_locks",
];

/** Called within statements, so every node has them. They name no table. */
export const PARTS: readonly string[] = ["sent_days", "sent_events"];

export type StoredFunction = {
  readonly name: string;
  /** As `create function` would make it. */
  readonly definition: string;
  readonly language: string;
  readonly of_trigger: boolean;
  /** The names under which triggers hand it the rows that changed. */
  readonly transitions: readonly string[];
};

export type InnerStatement = { readonly text: string; readonly breaches: readonly Breach[] };

export function innerStatements(stored: StoredFunction, catalog: Catalog): InnerStatement[] {
  if (stored.language !== "plpgsql") {
    const says = `written in ${stored.language}, which is not looked at`;
    return [{ text: stored.definition, breaches: [{ law: "dynamic", says }] }];
  }
  const tree = parsePlPgSQLSync(stored.definition) as unknown as Tree;
  const within = {
    variables: variablesOf(tree),
    transitions: new Set(stored.transitions),
    delegated: DELEGATED.includes(stored.name),
  };
  const found: InnerStatement[] = [];
  walkTree(tree, (kind, node) => {
    if (kind === "PLpgSQL_stmt_dynexecute") {
      const dynamic: Breach = { law: "dynamic", says: "EXECUTE" };
      found.push({ text: stored.name, breaches: [dynamic] });
    }
    if (kind !== "PLpgSQL_expr") return;
    const text = asStatement(String(field(node, "query")), Number(field(node, "parseMode") ?? 0));
    const named = PARTS.includes(stored.name) ? tablesNamed(text) : [];
    const selected = stored.of_trigger ? rowsSelected(text) : [];
    const broken = [...breaches(text, { ...catalog, within }), ...named, ...selected];
    found.push({ text, breaches: broken });
  });
  return found;
}

function tablesNamed(text: string): Breach[] {
  const found: Breach[] = [];
  walkTree(parseStatement(text), (kind, node) => {
    if (kind !== "RangeVar") return;
    found.push({ law: "table", says: `a part names ${String(field(node, "relname"))}` });
  });
  return found;
}

/**
 * Citus locks every shard of the table for such an INSERT. A trigger does that on the project's
 * node in the middle of a transaction, which is then in a ring with any shard that moves.
 */
function rowsSelected(text: string): Breach[] {
  const found: Breach[] = [];
  walkTree(parseStatement(text), (kind, node) => {
    if (kind !== "InsertStmt") return;
    const rows = as("SelectStmt", field(node, "selectStmt"));
    if (list(rows, "valuesLists").length > 0) return;
    found.push({ law: "insert", says: "a trigger's INSERT takes VALUES, row by row" });
  });
  return found;
}

/** Arguments, declared variables, the records of loops, and `new` and `old` of a trigger. */
function variablesOf(tree: Tree): Set<string> {
  const [made] = list(tree, "plpgsql_funcs");
  const datums = list(as("PLpgSQL_function", made), "datums") as readonly Tree[];
  return new Set(datums.flatMap(Object.values).map((datum) => String(field(datum, "refname"))));
}

const STATEMENT_MODE = 0;
const EXPRESSION_MODE = 2;

/** An expression, or the right side of an assignment, as the query that PL/pgSQL makes of it. */
function asStatement(text: string, mode: number): string {
  if (mode === STATEMENT_MODE) return text;
  return mode === EXPRESSION_MODE ? `select ${text}` : `select ${text.replace(/^.*?:?=/s, "")}`;
}
