// A database that waits for somebody ahead of each of its statements, so that a test can say what
// happens at that moment.

import type { Db, Queryable } from "../../src/store/db/db.ts";
import type { Sql } from "../../src/store/db/sql.ts";

/** Told what the statement says, or COMMIT. */
export type Before = (text: string) => Promise<unknown>;

export const COMMIT = "commit";

/** `ofTransaction` is asked for each transaction, when its statements have to know one another. */
export function attended(db: Db, before: Before, ofTransaction: () => Before = () => before): Db {
  const waiting: Db = {
    ...queries(db, before),
    tx: (work) =>
      db.tx(async (tx) => {
        const own = ofTransaction();
        const beforeCommit = (statements: () => readonly Sql[]) => tx.beforeCommit(statements);
        const result = await work({ ...tx, ...queries(tx, own), beforeCommit });
        await own(COMMIT);
        return result;
      }),
    // Not within a transaction: there a cluster does not hand the call to the project's node.
    alone: async <T>(query: Sql) => {
      await before(query.text);
      return db.alone<T>(query);
    },
    snapshot: (work) => db.snapshot((tx) => work(queries(tx, ofTransaction()))),
    forProject: () => waiting,
    forEveryNode: () => waiting,
  };
  return waiting;
}

function queries(queryable: Queryable, before: Before): Queryable {
  return {
    many: async <T>(query: Sql) => {
      await before(query.text);
      return queryable.many<T>(query);
    },
    maybeOne: async <T>(query: Sql) => {
      await before(query.text);
      return queryable.maybeOne<T>(query);
    },
    one: async <T>(query: Sql) => {
      await before(query.text);
      return queryable.one<T>(query);
    },
    run: async (query) => {
      await before(query.text);
      return queryable.run(query);
    },
  };
}
