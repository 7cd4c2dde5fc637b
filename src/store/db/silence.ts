// Gives up connections that have gone silent: something was asked and nothing at all comes, because
// the route is lost, the server hangs, or a node behind it does.

import type { Socket } from "node:net";
import type pg from "pg";

const TICK_MS = 200;
/** Room for the server's own cancel, which tells more and usually comes first. */
const GRACE_MS = 100;

type Watched = {
  readonly stream: Socket;
  /** Bytes that had been written when the last answer was complete. */
  answered: number;
  read: number;
  silent_ticks: number;
};

/**
 * Looks at its connections five times a second, so a statement costs nothing to watch. Only
 * complete silence counts: a connection with many statements under way, or with a long answer, is
 * left alone while anything comes. Time is counted in looks: a process that itself was stopped does
 * not find all its connections silent when it goes on.
 */
export class SilenceWatch {
  readonly #ticks_max: number;
  readonly #onSilent: () => void;
  readonly #watched = new Map<pg.ClientBase, Watched>();
  #timer: NodeJS.Timeout | undefined;

  /** `statement_ms` is how long the server lets a statement run. */
  constructor(statement_ms: number, onSilent: () => void = () => {}) {
    this.#ticks_max = Math.ceil((statement_ms + GRACE_MS) / TICK_MS);
    this.#onSilent = onSilent;
  }

  /** Watches a connection that was just made, until it ends. */
  add(client: pg.ClientBase): void {
    const stream = streamOf(client);
    const watched: Watched = {
      stream,
      answered: stream.bytesWritten,
      read: stream.bytesRead,
      silent_ticks: 0,
    };
    this.#watched.set(client, watched);
    client.on("drain", () => {
      watched.answered = stream.bytesWritten;
    });
    client.once("end", () => this.#remove(client));
    this.#timer ??= setInterval(() => this.#look(), TICK_MS).unref();
  }

  #remove(client: pg.ClientBase): void {
    this.#watched.delete(client);
    if (this.#watched.size > 0) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
  }

  #look(): void {
    for (const watched of this.#watched.values()) {
      const { stream } = watched;
      if (stream.bytesWritten === watched.answered || stream.bytesRead !== watched.read) {
        watched.read = stream.bytesRead;
        watched.silent_ticks = 0;
        continue;
      }
      watched.silent_ticks += 1;
      if (watched.silent_ticks <= this.#ticks_max) continue;
      giveUp(stream);
      this.#onSilent();
    }
  }
}

/** Ends a connection at once: what was asked on it fails as a server that cannot be reached. */
export function giveUp(stream: Socket): void {
  const silent = new Error("The connection to the database has gone silent.");
  stream.destroy(Object.assign(silent, { code: "ETIMEDOUT" }));
}

export function streamOf(client: pg.ClientBase): Socket {
  return (client as unknown as { connection: { stream: Socket } }).connection.stream;
}
