// What must be done before a transaction, in transactions of its own, and was only found in it: the
// transaction is given up, that is done, and it is begun again.

import { setTimeout as delay } from "node:timers/promises";
import type { Db } from "../store/db/db.ts";
import { unavailable } from "../store/db/failures.ts";

/** Thrown by an operation. `work` says whether it did anything; else somebody is in the way. */
export class Beforehand extends Error {
  readonly work: (db: Db) => Promise<boolean>;

  constructor(what: string, work: Beforehand["work"]) {
    super(what);
    this.work = work;
  }
}

/** No try is begun that would end behind the time in which a request is answered. */
const PATIENCE_MS = 4_000;
const PAUSE_MS = 50;

/** Runs it, and again behind what it finds that must be done first. */
export async function withBeforehand<T>(db: Db, attempt: () => Promise<T>): Promise<T> {
  const until_ms = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof Beforehand)) throw error;
      const moved = await error.work(db);
      if (performance.now() >= until_ms) throw unavailable(error.message, error);
      if (!moved) await delay(PAUSE_MS);
    }
  }
}
