// A database whose every statement waits a random moment first: what happens to be interleaved
// once in a thousand runs is interleaved here all the time.

import { setTimeout as pause } from "node:timers/promises";
import type { Db } from "../../src/store/db/db.ts";
import { attended, type Before } from "./attended.ts";

/** Each by itself, as statements on several connections are. */
function apart(max_ms: number): Before {
  return () => pause(Math.random() * max_ms);
}

/** One after the other: what a transaction is asked together is done in that order. */
function inTurn(max_ms: number): Before {
  let last: Promise<unknown> = Promise.resolve();
  return () => {
    last = last.then(() => pause(Math.random() * max_ms));
    return last;
  };
}

export function jittery(db: Db, max_ms: number): Db {
  return attended(db, apart(max_ms), () => inTurn(max_ms));
}
