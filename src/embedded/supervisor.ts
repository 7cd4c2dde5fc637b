// Starts a server again that has ended by itself, on the same socket, so that whoever is connected
// to it only has to connect again. After a few times in vain it gives up and says so.

import { setTimeout as delay } from "node:timers/promises";
import type { StartedServer } from "./server.ts";

/** How long each try waits: five of them within a minute, for a disk that is full for a moment. */
const PAUSES_MS = [0, 1_000, 4_000, 15_000, 30_000];
/** A server that ran for so long has all tries again. */
const STEADY_MS = 60_000;

export type SupervisorOptions = {
  /** Starts a server; undefined when another process has one on the data meanwhile. */
  start(): Promise<StartedServer | undefined>;
  say(line: string): void;
  onGivenUp(why: string): void;
  readonly pauses_ms?: readonly number[];
};

export class ServerSupervisor {
  readonly #options: SupervisorOptions;
  readonly #pauses_ms: readonly number[];
  readonly #stopping = new AbortController();
  readonly #watching: Promise<void>;
  #server: StartedServer;
  #tries = 0;

  constructor(server: StartedServer, options: SupervisorOptions) {
    this.#server = server;
    this.#options = options;
    this.#pauses_ms = options.pauses_ms ?? PAUSES_MS;
    this.#watching = this.#watch();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#server.stop();
    await this.#watching;
  }

  async #watch(): Promise<void> {
    for (;;) {
      const watched_since_ms = performance.now();
      const reason = (await this.#server.ended) || "it was told to stop";
      if (this.#stopping.signal.aborted) return;
      if (performance.now() - watched_since_ms > STEADY_MS) this.#tries = 0;
      const next = await this.#startAgain(reason);
      if (next === undefined) return;
      this.#server = next;
    }
  }

  /** The new server; undefined when it was given up, or stopped meanwhile. */
  async #startAgain(reason: string): Promise<StartedServer | undefined> {
    const { start, say, onGivenUp } = this.#options;
    let why = `it ended (${reason})`;
    while (this.#tries < this.#pauses_ms.length) {
      const pause_ms = this.#pauses_ms[this.#tries++] ?? 0;
      say(
        `The embedded PostgreSQL is away: ${brief(why)}. It is started again in ` +
          `${pause_ms / 1_000} s (${this.#tries} of ${this.#pauses_ms.length}); calls are ` +
          "answered 503 meanwhile.",
      );
      try {
        await delay(pause_ms, undefined, { signal: this.#stopping.signal });
        const next = await start();
        if (this.#stopping.signal.aborted) {
          await next?.stop();
          return undefined;
        }
        if (next === undefined) why = "another process has started one on the same folder";
        else {
          say("The embedded PostgreSQL runs again.");
          return next;
        }
      } catch (error) {
        if (this.#stopping.signal.aborted) return undefined;
        why = error instanceof Error ? error.message : String(error);
      }
    }
    onGivenUp(why);
    return undefined;
  }
}

/** One line that says why. The log's last lines may stand behind it: they are told at the end. */
function brief(why: string): string {
  const [, reason] = /(?:FATAL|PANIC): +(.*)/.exec(why) ?? [];
  return reason ?? why.split("\n")[0] ?? "";
}
