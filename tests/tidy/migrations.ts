// The schema as its migrations write it: a project's rows are keyed by project_id first, so that
// none can point into another tenant.

import { type Fault, fault } from "./files.ts";

export type Migration = { readonly path: string; readonly text: string };

/** Tables that belong to no project, each for a reason that its migration gives. */
const SHARED = new Set([
  "installation",
  "organizations",
  "workspaces",
  "projects",
  "tokens",
  "idempotency_keys",
]);
/** What a project's row may point at without naming the project. */
const TENANTS = new Set(["organizations", "workspaces", "projects"]);

type Table = {
  readonly name: string;
  readonly at: number;
  /** Column and constraint definitions. */
  readonly parts: readonly { readonly text: string; readonly at: number }[];
};

/** Comments and quoted text blanked out, so that every offset stays. */
function plain(text: string): string {
  return text.replace(/--.*$|'(?:[^']|'')*'/gm, (piece) => piece.replace(/[^\n]/g, " "));
}

function tablesOf(text: string): Table[] {
  const found: Table[] = [];
  for (const match of text.matchAll(/create table (?:if not exists )?(\w+)\s*\(/gi)) {
    const open = match.index + match[0].length;
    found.push({ name: match[1] ?? "", at: match.index, parts: partsFrom(text, open) });
  }
  for (const match of text.matchAll(/alter table (?:only )?(\w+)\s+([^;]+)/gi)) {
    const [, name = "", clauses = ""] = match;
    const added = clauses.split(/,\s*(?=add\b)/i).filter((clause) => /^add\s/i.test(clause));
    const parts = added.map((clause) => {
      const at = match.index + match[0].indexOf(clause);
      return { text: clause.replace(/^add\s+(column\s+(if not exists\s+)?)?/i, "").trim(), at };
    });
    found.push({ name, at: match.index, parts });
  }
  return found;
}

/** Splits at the commas of the outermost parenthesis. */
function partsFrom(text: string, open: number): { text: string; at: number }[] {
  const parts: { text: string; at: number }[] = [];
  let depth = 1;
  let start = open;
  for (let i = open; depth > 0 && i < text.length; i++) {
    const char = text[i];
    if (char === "(") depth++;
    if (char === ")") depth--;
    if ((char === "," && depth === 1) || depth === 0) {
      const part = text.slice(start, i);
      parts.push({ text: part.trim(), at: start + part.length - part.trimStart().length });
      start = i + 1;
    }
  }
  return parts;
}

/** By every name they had: migrations go on naming a table as it was called at the time. */
function projectTables(migrations: readonly Migration[]): ReadonlySet<string> {
  const owned = new Set<string>();
  for (const migration of migrations) {
    const text = plain(migration.text);
    for (const { name, parts } of tablesOf(text)) {
      if (parts.some((part) => /^project_id\s/i.test(part.text))) owned.add(name);
    }
    for (const [, old = "", name = ""] of text.matchAll(RENAMED)) {
      if (owned.has(old)) owned.add(name);
    }
  }
  return owned;
}

const RENAMED = /alter table (?:only )?(\w+)\s+rename to (\w+)/gi;

export function keyFaults(migrations: readonly Migration[]): Fault[] {
  const owned = projectTables(migrations);
  return migrations.flatMap((migration) => {
    const text = plain(migration.text);
    const tables = tablesOf(text).flatMap((table) => {
      if (owned.has(table.name)) return table.parts.flatMap((part) => partFaults(migration, part));
      return SHARED.has(table.name)
        ? []
        : [fault(migration, table.at, `${table.name} has no project_id: whose rows are these?`)];
    });
    return [...tables, ...indexFaults(migration, text, owned)];
  });
}

const KEY = /^(?:constraint \w+ )?(primary key|unique)(?: nulls not distinct)?\s*\(\s*(\w+)/i;
const FOREIGN_KEY =
  /^(?:constraint \w+ )?foreign key\s*\(\s*(\w+)[^)]*\)\s*references (\w+)\s*(?:\(\s*(\w+))?/i;

function partFaults(migration: Migration, part: { text: string; at: number }): Fault[] {
  const say = (advice: string) => [fault(migration, part.at, advice)];
  const key = KEY.exec(part.text);
  if (key !== null) {
    return key[2] === "project_id" ? [] : say(`${key[1]} starts with ${key[2]}: project_id first.`);
  }
  const foreign = FOREIGN_KEY.exec(part.text);
  if (foreign !== null) {
    const [, own, table = "", theirs] = foreign;
    if (own === "project_id" && (theirs === "project_id" || TENANTS.has(table))) return [];
    return say(`a foreign key to ${table} without project_id can point into another tenant.`);
  }
  if (/^(?:constraint \w+ )?(check|exclude)\b/i.test(part.text)) return [];
  if (/\b(primary key|unique)\b/i.test(part.text) && !/^project_id\s/i.test(part.text)) {
    return say("a key of one column is unique over all tenants: (project_id, …) below instead.");
  }
  const [, table] = /\breferences (\w+)/i.exec(part.text) ?? [];
  if (table === undefined || TENANTS.has(table)) return [];
  return say(`references ${table} by one column: foreign key (project_id, …) below instead.`);
}

function indexFaults(migration: Migration, text: string, owned: ReadonlySet<string>): Fault[] {
  const pattern =
    /create unique index (?:concurrently )?(?:if not exists )?(\w+) on (\w+)\s*\(\s*(\w+)/gi;
  return [...text.matchAll(pattern)].flatMap(({ 1: name, 2: table = "", 3: first, index }) => {
    if (!owned.has(table) || first === "project_id") return [];
    return [fault(migration, index, `${name} is unique over all tenants: project_id first.`)];
  });
}

const INDEX = /create (?:unique )?index (if not exists )?(\w+)\s+on (\w+)/gi;

/** An index that may be there already can be built beforehand, while everybody writes. */
export function lateIndexFaults(migrations: readonly Migration[]): Fault[] {
  return migrations.flatMap((migration) => {
    const text = plain(migration.text);
    const made = new Set([...text.matchAll(/create table (\w+)/gi)].map(([, name]) => name));
    return [...text.matchAll(INDEX)].flatMap(({ 1: may, 2: name, 3: table = "", index }) => {
      if (may !== undefined || made.has(table)) return [];
      const advice = `${name} on a table that is there already: "create index if not exists".`;
      return [fault(migration, index, advice)];
    });
  });
}
