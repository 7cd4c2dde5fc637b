// SQL as text: where it may stand, what it may not say, and that it names the project.

import {
  type Fault,
  fault,
  lineAt,
  type Node,
  nameOf,
  type Source,
  textOf,
  walk,
} from "./files.ts";

const STATEMENT =
  /^\s*(select\s|insert\s+into\s|update\s+[\w$?]+(\s+\w+)?\s+set\s|delete\s+from\s|with\s+\w+.*\sas\s)/is;
/** Prose may open with one of these words; SQL goes on with this. */
const READS_LIKE_SQL = /\b(from|into|set|values|pg_\w+)\b/i;

type Text = {
  readonly sql: string;
  readonly at: Node;
  readonly tagged: boolean;
  readonly around: readonly Node[];
};

function sqlTexts(source: Source): Text[] {
  const texts: Text[] = [];
  walk(source, (node, around) => {
    const sql = textOf(node);
    if (sql === undefined) return;
    const tag = around.at(-1);
    const tagged = tag?.type === "TaggedTemplateExpression" && nameOf(tag.tag) === "sql";
    const statement = STATEMENT.test(sql) && READS_LIKE_SQL.test(sql);
    if (tagged || statement) texts.push({ sql, at: node, tagged, around: [...around] });
  });
  return texts;
}

export function strayFaults(source: Source): Fault[] {
  // The embedded server is asked about itself by the room that runs it.
  if (!/^src\/(?!store\/|embedded\/)/.test(source.path)) return [];
  return sqlTexts(source).map(({ at }) =>
    fault(source, at.start, "SQL stands in src/store: give this statement a function there."),
  );
}

const DATABASE_TIME = /\bnow\s*\(\s*\)|\bcurrent_(timestamp|date|time)\b|\bclock_timestamp\s*\(/i;

/** Billing time is handed in; leases read the database's clock, in store/db.ts alone. */
export function databaseTimeFaults(source: Source): Fault[] {
  if (!source.path.startsWith("src/store/")) return [];
  return sqlTexts(source).flatMap(({ sql, at }) => {
    const [said] = DATABASE_TIME.exec(sql) ?? [];
    if (said === undefined) return [];
    if (source.path === "src/store/db.ts" && said.startsWith("clock_timestamp")) return [];
    // The row that says when a migration was applied is written before there is a service.
    if (source.path === "src/store/migrate.ts") return [];
    const advice = "take `now` as a parameter, or DATABASE_NOW of db.ts for a lease.";
    return [fault(source, at.start, `${said} in SQL: ${advice}`)];
  });
}

const ACROSS = "across projects:";
const REASON_LINES = 6;

/**
 * Each table of a project that a statement names brings a project_id with it. The finds of the
 * workers carry a comment `// across projects: <why>` instead.
 */
export function tenancyFaults(source: Source, owned: ReadonlySet<string>): Fault[] {
  if (!source.path.startsWith("src/store/")) return [];
  return sqlTexts(source).flatMap((text) => {
    const tables = tablesIn(text.sql).filter((table) => owned.has(table));
    if (tables.length === 0) return [];
    const named = text.sql.match(/\bproject_id\b/g)?.length ?? 0;
    const whole = STATEMENT.test(text.sql);
    if (whole ? named >= tables.length : named > 0 || aroundNames(source, text)) return [];
    if (hasReason(source, text.at)) return [];
    const advice = `name project_id for each of them, or say why not: // ${ACROSS} …`;
    return [fault(source, text.at.start, `${tables.join(", ")} of every project: ${advice}`)];
  });
}

/** What follows from, join, into or update, and a fragment that is a table for `page`. */
export function tablesIn(sql: string): string[] {
  const text = sql.replace(/--.*$/gm, "");
  const words = text.matchAll(
    /\b(?:from|join|into|update|using|,\s*lateral)\s+(?:only\s+)?(\w+)/gi,
  );
  const bare = /^\s*(\w+)(\s+\w+)?\s*($|\n?\s*(left |inner )?join\b)/.exec(text);
  const found = [...words].map(([, table = ""]) => table.toLowerCase());
  if (bare?.[1] !== undefined && !STATEMENT.test(text)) found.push(bare[1].toLowerCase());
  // `for update`, `on conflict do update set` and `is distinct from` name no table; owned does.
  return found;
}

/** A fragment is fine where the function that builds the statement names the project. */
function aroundNames(source: Source, { around }: Text): boolean {
  const maker = around.find(({ type }) => /^(Export|Function|Variable)/.test(type));
  return maker !== undefined && /\bproject_id\b/.test(source.text.slice(maker.start, maker.end));
}

function hasReason(source: Source, node: Node): boolean {
  const line = lineAt(source.text, node.start);
  return source.comments.some(({ value, start }) => {
    const above = line - lineAt(source.text, start);
    return value.includes(ACROSS) && above >= 0 && above <= REASON_LINES;
  });
}
