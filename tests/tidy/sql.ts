// SQL as text: where it may stand and what it may not say. That each statement names its project is
// held by tests/store/db/sql.laws.test.ts, which parses them.

import { type Fault, fault, type Node, nameOf, type Source, textOf, walk } from "./files.ts";

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
  // The embedded server is asked about itself by the folder that runs it.
  if (!/^src\/(?!store\/|embedded\/)/.test(source.path)) return [];
  return sqlTexts(source).map(({ at }) =>
    fault(source, at.start, "SQL stands in src/store: give this statement a function there."),
  );
}

const LOCK = /\bfor\s+(no\s+key\s+update|update|key\s+share|share)\b(\s+of\b)?(\s+skip)?/gi;

/**
 * A row that was waited for may have come to refer to another one: joined with what it referred to
 * before, it drops out. So it is locked alone, and read by the next statement.
 */
export function lockFaults(source: Source): Fault[] {
  if (!source.path.startsWith("src/store/")) return [];
  return sqlTexts(source).flatMap(({ sql, at }) =>
    [...sql.matchAll(LOCK)].flatMap(([, strength = "", of, skips], i, all) => {
      const end = all[i]?.index ?? 0;
      const select = sql.slice(sql.toLowerCase().lastIndexOf("select", end), end);
      const isJoined = of !== undefined || !/\bfrom\s+\w+(\s+\w+)?\s*(where\b|$)/i.test(select);
      const isFull = /^update$/i.test(strength) && skips === undefined;
      return [
        ...(isJoined ? ["a lock in a join: lock the one table alone, then read it."] : []),
        ...(isFull
          ? ["for update: also waits for those who refer to the row; no key update."]
          : []),
      ].map((advice) => fault(source, at.start, advice));
    }),
  );
}

const DATABASE_TIME =
  /\bnow\s*\(\s*\)|\bcurrent_(timestamp|date|time)\b|\b(clock|statement)_timestamp\s*\(/i;

/** Billing time is handed in; leases read the database's clock, in store/db/db.ts alone. */
export function databaseTimeFaults(source: Source): Fault[] {
  if (!source.path.startsWith("src/store/")) return [];
  return sqlTexts(source).flatMap(({ sql, at }) => {
    const [said] = DATABASE_TIME.exec(sql) ?? [];
    if (said === undefined) return [];
    if (source.path === "src/store/db/db.ts" && said.startsWith("statement_timestamp")) return [];
    // The row that says when a migration was applied is written before there is a service.
    if (source.path === "src/store/migration/migrate.ts") return [];
    const advice = "take `now` as a parameter, or DATABASE_NOW of db.ts for a lease.";
    return [fault(source, at.start, `${said} in SQL: ${advice}`)];
  });
}
