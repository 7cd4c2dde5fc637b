// Looks at the wallets that have a threshold: usage that takes one below it is noticed within a
// minute. Recording usage does not look, because it happens far more often.

import type { Context } from "../context.ts";
import { scheduler } from "../operations/emit.ts";
import { lookAtUsage } from "../operations/money/watch-wallets.ts";
import { FIRST_WALLET, type WalletKey } from "../store/money/wallets.ts";
import type { ProjectSettings } from "../store/tenants/tenants.ts";
import * as projects from "../store/work/projects-with-work.ts";
import { ByNode } from "./by-node.ts";
import type { Job } from "./loop.ts";
import { countInvoices } from "./prometheus.ts";

const NAME = "watch_wallets";
/** The pause is half of what is promised: a round over many wallets takes its time too. */
const PAUSE_MS = 30_000;

export function watchWalletsJob(context: Context): Job {
  const byNode = new ByNode(context, NAME);
  return {
    name: NAME,
    description: "Messages and top-ups for wallets that new usage took below their threshold.",
    pause_ms: PAUSE_MS,
    async tick() {
      const now = context.clock.now();
      const report = await byNode.handle(
        (db, filter) => projects.withWork(db, "watched_wallets", now, filter),
        (settings) => watchProject(context, settings),
      );
      // One round looks at every wallet.
      return { ...report, more: false };
    },
    drain: () => byNode.drain(),
  };
}

/** Batch after batch of its wallets, each in a transaction of its own. Returns what it emitted. */
async function watchProject(
  { db, clock, config }: Context,
  settings: ProjectSettings,
): Promise<number> {
  let emitted = 0;
  let after: WalletKey | undefined = FIRST_WALLET;
  while (after !== undefined) {
    const from: WalletKey = after;
    const round = await db
      .forProject(settings.id)
      .tx((tx) => lookAtUsage(tx, settings, from, scheduler(config), clock.now()));
    countInvoices(round);
    emitted += round.facts.length;
    after = round.last;
  }
  return emitted;
}
