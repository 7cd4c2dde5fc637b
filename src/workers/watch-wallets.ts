// Looks at the wallets that have a threshold: usage that takes one below it is noticed within a
// minute. Recording usage does not look, because it happens far more often.

import type { Context } from "../context.ts";
import { lookAtUsage } from "../operations/watch-wallets.ts";
import * as projects from "../store/projects-with-work.ts";
import type { ProjectSettings } from "../store/tenants.ts";
import { FIRST_WALLET, type WalletKey } from "../store/wallets.ts";
import { ByNode } from "./by-node.ts";
import type { Job } from "./loop.ts";

const NAME = "watch_wallets";
/** Half of what is promised: a round over many wallets takes its time too. */
const PAUSE_MS = 30_000;

export function watchWalletsJob(context: Context): Job {
  const byNode = new ByNode(context, NAME);
  return {
    name: NAME,
    pause_ms: PAUSE_MS,
    async tick() {
      await byNode.handle(
        (db, filter) => projects.withWatchedWallets(db, context.clock.now(), filter),
        (settings) => watchProject(context, settings),
      );
      // 0, so that the loop sleeps the full pause.
      return 0;
    },
    drain: () => byNode.drain(),
  };
}

/** Batch after batch of its wallets, each in a transaction of its own. Returns what it emitted. */
async function watchProject({ db, clock }: Context, settings: ProjectSettings): Promise<number> {
  let emitted = 0;
  let after: WalletKey | undefined = FIRST_WALLET;
  while (after !== undefined) {
    const from: WalletKey = after;
    const round = await db
      .forProject(settings.id)
      .tx((tx) => lookAtUsage(tx, settings, from, clock.now()));
    emitted += round.facts.length;
    after = round.last;
  }
  return emitted;
}
