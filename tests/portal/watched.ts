// A database whose snapshots are watched: each is one computation of a portal view.

import type { Db } from "../../src/store/db/db.ts";

/** Counts computations, and holds each after it has read and before it is kept. */
export class Watched {
  computed = 0;
  fails = false;
  hold: Promise<void> | undefined;
  readonly db: Db;

  constructor(db: Db) {
    const stats = { get: () => db.stats };
    this.db = Object.assign(Object.create(Object.getPrototypeOf(db), { stats }), {
      admit: db.admit?.bind(db),
      many: db.many.bind(db),
      maybeOne: db.maybeOne.bind(db),
      one: db.one.bind(db),
      run: db.run.bind(db),
      tx: db.tx.bind(db),
      alone: db.alone.bind(db),
      forProject: () => this.db,
      forEveryNode: () => this.db,
      snapshot: async (work: Parameters<Db["snapshot"]>[0]) => {
        const seen = await db.snapshot(work);
        this.computed += 1;
        await this.hold;
        if (this.fails) throw new Error("the database went away");
        return seen;
      },
    }) as Db;
  }
}
