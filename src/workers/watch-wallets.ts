// Looks at the wallets that have a threshold: usage that takes one below it is noticed within a
// minute. Recording usage does not look, because it happens far more often.

import { monotonicMs } from "../clock.ts";
import type { Context } from "../context.ts";
import { scheduler } from "../operations/emit.ts";
import { LOOKED_MAX, lookAtUsage } from "../operations/money/watch-wallets.ts";
import { isPassing } from "../store/db/failures.ts";
import { FIRST_WALLET, nextWatched, type WalletKey } from "../store/money/wallets.ts";
import type { ProjectSettings } from "../store/tenants/tenants.ts";
import * as projects from "../store/work/projects-with-work.ts";
import { watchedBehind } from "../store/work/waiting.ts";
import { BatchLimits } from "./batch-limits.ts";
import { ByNode } from "./by-node.ts";
import type { Job, Turn } from "./loop.ts";
import { countInvoices, dutyBacklog, dutyDone, dutyOldestSeconds } from "./prometheus.ts";

const NAME = "watch_wallets";
const DUTY = { duty: "wallet_usage" };
/** The pause is half of what is promised: a round over many wallets takes its time too. */
const PAUSE_MS = 30_000;

export function watchWalletsJob(context: Context): Job {
  const byNode = new ByNode(context, NAME);
  const rounds = new Rounds(context);
  return {
    name: NAME,
    description: "Messages and top-ups for wallets that new usage took below their threshold.",
    pause_ms: PAUSE_MS,
    async tick() {
      const now = context.clock.now();
      const report = await byNode.handle(
        (db, filter) => projects.withWork(db, "watched_wallets", now, filter),
        (settings) => rounds.turn(settings),
      );
      const more = report.more || rounds.goesOn();
      await rounds.measure();
      if (!more) rounds.end();
      return { ...report, more };
    },
    drain: () => byNode.drain(),
  };
}

/** One look at every wallet of a project. */
type Round = {
  readonly began_ms: number;
  /** The wallet behind which it goes on; undefined when it is over. */
  after: WalletKey | undefined;
};

/** The rounds of all projects. They take turns by batches: no small one waits for a large. */
class Rounds {
  readonly #context: Context;
  readonly #limits = new BatchLimits(LOOKED_MAX);
  readonly #rounds = new Map<ProjectSettings["id"], Round>();
  /** Whether a batch failed that is tried again with less. */
  #again = false;

  constructor(context: Context) {
    this.#context = context;
  }

  /** Does one batch of the project's round. Returns how much it emitted. */
  async turn(settings: ProjectSettings): Promise<Turn> {
    const round = this.#roundOf(settings.id);
    const { after } = round;
    if (after === undefined) return { done: 0, more: false };
    const { done } = await this.#limits.take(settings.id, {
      work: (limit) => this.#batch(settings, round, { after, limit }),
      alone: (error) => this.#passOver(settings, round, after, error),
    });
    return { done, more: round.after !== undefined };
  }

  /** One that is over begins again at its time, though those of others are under way. */
  #roundOf(project: ProjectSettings["id"]): Round {
    const known = this.#rounds.get(project);
    const isUnderWay = known?.after !== undefined;
    if (known && (isUnderWay || monotonicMs() - known.began_ms < PAUSE_MS)) return known;
    const round = { began_ms: monotonicMs(), after: FIRST_WALLET };
    this.#rounds.set(project, round);
    return round;
  }

  async #batch(
    settings: ProjectSettings,
    round: Round,
    batch: { readonly after: WalletKey; readonly limit: number },
  ): Promise<number> {
    const { db, clock, config } = this.#context;
    try {
      const found = await db
        .forProject(settings.id)
        .tx((tx) => lookAtUsage(tx, settings, batch, scheduler(config), clock.now()));
      countInvoices(found);
      dutyDone.inc(DUTY, found.looked);
      round.after = found.last;
      return found.facts.length;
    } catch (error) {
      this.#again ||= batch.limit > 1 && !isPassing(error);
      throw error;
    }
  }

  /** One that fails alone is looked at again in the next round, and holds up none behind it. */
  async #passOver(
    { id: project_id }: ProjectSettings,
    round: Round,
    after: WalletKey,
    error: unknown,
  ): Promise<number> {
    const failed = await nextWatched(this.#context.db.forProject(project_id), project_id, after);
    round.after = failed;
    const about = { err: error, job: NAME, project_id, customer_id: failed?.customer_id };
    this.#context.log.error(about, "a wallet could not be looked at and will be in the next round");
    return 0;
  }

  goesOn(): boolean {
    const again = this.#again;
    this.#again = false;
    return again;
  }

  /** What is left of rounds under way, and for how long the oldest of them has been. */
  async measure(): Promise<void> {
    let backlog = 0;
    let oldest_s = 0;
    for (const [project, { began_ms, after }] of this.#rounds) {
      if (after === undefined) continue;
      backlog += await watchedBehind(this.#context.db.forProject(project), project, after);
      oldest_s = Math.max(oldest_s, (monotonicMs() - began_ms) / 1_000);
    }
    dutyBacklog.set(DUTY, backlog);
    dutyOldestSeconds.set(DUTY, oldest_s);
  }

  /** After this all begin again, but those that failed: they go on where they were. */
  end(): void {
    for (const [project, { after }] of this.#rounds) {
      if (after === undefined) this.#rounds.delete(project);
    }
  }
}
