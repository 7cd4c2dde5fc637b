// A database that counts the statements it is asked for.

import type { Db, Queryable, Tx } from "../src/store/db/db.ts";

export type Counting = { readonly db: Db; readonly statements: () => number };

/** Begin and commit count as well. */
export function countStatements(db: Db): Counting {
  let statements = 0;
  // Whatever a connection offers: each call is a statement, also of a kind that is new.
  const counted = <T extends Queryable>(inner: T): T =>
    new Proxy(inner, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name, target);
        if (typeof value !== "function") return value;
        return (...given: unknown[]) => {
          statements += 1;
          return value.apply(target, given);
        };
      },
    });
  const opened = () => {
    statements += 2;
  };
  const own = {
    tx<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
      opened();
      return db.tx((tx) => work(counted(tx)));
    },
    snapshot<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
      opened();
      return db.snapshot((tx) => work(counted(tx)));
    },
    // On one server these are the database itself, and must not lead past the count.
    forProject: (): Db => outer,
    forEveryNode: (): Db => outer,
  };
  const outer: Db = new Proxy(counted(db), {
    get: (target, name) => Reflect.get(Object.hasOwn(own, name) ? own : target, name),
  });
  return { db: outer, statements: () => statements };
}
