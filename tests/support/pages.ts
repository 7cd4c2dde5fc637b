// Counts the pages of PostgreSQL that statements touch: a busy machine touches no more.

import type { Queryable, Tx } from "../../src/store/db/db.ts";
import { type Sql, sql } from "../../src/store/db/sql.ts";

type Plan = { readonly "QUERY PLAN": readonly { readonly Plan: Record<string, number> }[] };

/** The same transaction, with the pages that its statements have touched so far. */
export function countingPages(tx: Tx): { readonly tx: Tx; readonly pages: () => number } {
  let pages = 0;
  const explain = async (query: Sql): Promise<number> => {
    const [row] = await tx.many<Plan>(sql`explain (analyze, buffers, format json) ${query}`);
    const plan = row?.["QUERY PLAN"][0]?.Plan ?? {};
    pages += (plan["Shared Hit Blocks"] ?? 0) + (plan["Shared Read Blocks"] ?? 0);
    return plan["Actual Rows"] ?? 0;
  };
  /** Explained, a statement runs and gives no rows: what reads runs once more for them. */
  const read = async <T>(query: Sql, then: Queryable["many"]): Promise<T[]> => {
    await explain(query);
    return then<T>(query);
  };
  const counted = new Proxy(tx, {
    get(target, name) {
      if (name === "run") return explain;
      if (name === "many") return (query: Sql) => read(query, target.many.bind(target));
      if (name === "one" || name === "maybeOne") {
        return async (query: Sql) => (await read(query, target.many.bind(target)))[0];
      }
      const value: unknown = Reflect.get(target, name, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
  return { tx: counted, pages: () => pages };
}
