// The connections of a server: one request at a time on each, and when there are too many, those
// that ask for nothing go first.

import type { Server } from "node:http";
import type { Socket } from "node:net";
import { monotonicMs } from "../clock.ts";
import { showLevel } from "./bound.ts";

export const CONNECTIONS_MAX = 2_000;
/** Requests that a client may send ahead, without waiting for the answers. */
const AHEAD_MAX = 100;

type Connection = {
  readonly address: string;
  /** A request is under way. */
  busy: boolean;
  /** When it was opened or last answered. */
  idle_since: number;
  /** Requests that were sent ahead, in order. */
  readonly ahead: (() => void)[];
};

export class Connections {
  readonly #open = new Map<Socket, Connection>();

  constructor(server: Server) {
    server.on("connection", (socket) => this.#add(socket));
    showLevel({ name: "connections", level: () => this.#open.size });
  }

  get count(): number {
    return this.#open.size;
  }

  /**
   * Starts a request when those before it on the same connection are answered. Node starts all that
   * are in one piece of 64 KB, about 1,500, and others would wait for them.
   */
  begin(socket: Socket, start: () => void): void {
    const connection = this.#open.get(socket);
    // Without a connection of ours it is a test's injected request.
    if (connection === undefined) start();
    else if (!connection.busy) {
      connection.busy = true;
      start();
    } else if (connection.ahead.length < AHEAD_MAX) {
      connection.ahead.push(start);
      socket.pause();
    } else socket.destroy();
  }

  /** The answer was taken by the network. */
  end(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection === undefined) return;
    const next = connection.ahead.shift();
    if (next !== undefined) {
      next();
      return;
    }
    connection.busy = false;
    connection.idle_since = monotonicMs();
    if (socket.isPaused()) socket.resume();
  }

  #add(socket: Socket): void {
    if (this.#open.size >= CONNECTIONS_MAX) this.#closeIdle();
    if (this.#open.size >= CONNECTIONS_MAX) {
      socket.destroy();
      return;
    }
    const address = socket.remoteAddress ?? "";
    const idle_since = monotonicMs();
    this.#open.set(socket, { address, busy: false, idle_since, ahead: [] });
    socket.once("close", () => this.#open.delete(socket));
  }

  /** Of the address that holds most, the one that has been idle for longest. */
  #closeIdle(): void {
    const held = new Map<string, number>();
    for (const { address } of this.#open.values()) {
      held.set(address, (held.get(address) ?? 0) + 1);
    }
    let found: { socket: Socket; connection: Connection } | undefined;
    for (const [socket, connection] of this.#open) {
      if (!connection.busy && (found === undefined || goesBefore(connection, found.connection))) {
        found = { socket, connection };
      }
    }
    if (found === undefined) return;
    this.#open.delete(found.socket);
    found.socket.destroy();

    function goesBefore(one: Connection, other: Connection): boolean {
      const more = (held.get(one.address) ?? 0) - (held.get(other.address) ?? 0);
      return more === 0 ? one.idle_since < other.idle_since : more > 0;
    }
  }
}
