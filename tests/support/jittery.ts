// A database whose every statement waits a random moment first: what happens to be interleaved
// once in a thousand runs is interleaved here all the time.

import { setTimeout as pause } from "node:timers/promises";
import type { Db, Queryable } from "../../src/store/db.ts";
import type { Sql } from "../../src/store/sql.ts";

type Wait = () => Promise<unknown>;

/** Each by itself, as statements on several connections are. */
function apart(max_ms: number): Wait {
  return () => pause(Math.random() * max_ms);
}

/** One after the other: what a transaction is asked together is done in that order. */
function inTurn(max_ms: number): Wait {
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    last = last.then(() => pause(Math.random() * max_ms));
    return last;
  };
}

function slowed(queryable: Queryable, wait: Wait): Queryable {
  return {
    many: async <T>(query: Sql) => {
      await wait();
      return queryable.many<T>(query);
    },
    maybeOne: async <T>(query: Sql) => {
      await wait();
      return queryable.maybeOne<T>(query);
    },
    one: async <T>(query: Sql) => {
      await wait();
      return queryable.one<T>(query);
    },
    run: async (query) => {
      await wait();
      return queryable.run(query);
    },
  };
}

export function jittery(db: Db, max_ms: number): Db {
  const slow: Db = {
    ...slowed(db, apart(max_ms)),
    portal_auto_invalidate: db.portal_auto_invalidate,
    tx: (work) =>
      db.tx((tx) => {
        const beforeCommit = (statements: () => readonly Sql[]) => tx.beforeCommit(statements);
        return work({ ...tx, ...slowed(tx, inTurn(max_ms)), beforeCommit });
      }),
    // Not within a transaction: there a cluster does not hand the call to the project's node.
    alone: async <T>(query: Sql) => {
      await pause(Math.random() * max_ms);
      return db.alone<T>(query);
    },
    snapshot: (work) => db.snapshot((tx) => work(slowed(tx, inTurn(max_ms)))),
    forProject: () => slow,
    forEveryNode: () => slow,
  };
  return slow;
}
