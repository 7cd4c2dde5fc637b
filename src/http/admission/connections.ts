// The connections of a server: one request at a time on each. At the maximum, idle connections are
// closed first.

import type { Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import { monotonicMs } from "../../clock.ts";
import type { Bounds } from "./bound.ts";

export const CONNECTIONS_MAX = 2_000;
/** Requests that a client may send ahead, without waiting for the answers. */
const AHEAD_MAX = 100;

type Waiting = { readonly response: ServerResponse; readonly start: () => void };

type Connection = {
  readonly address: string;
  /** The response to the request that was started last. */
  response: ServerResponse | undefined;
  /** When it was opened, or a request was last started or answered. */
  used_at: number;
  /** Requests that were sent ahead, in order. */
  readonly ahead: Waiting[];
};

export class Connections {
  readonly #bounds: Bounds;
  readonly #open = new Map<Socket, Connection>();

  constructor(server: Server, bounds: Bounds) {
    this.#bounds = bounds;
    server.on("connection", (socket) => this.#add(socket));
    bounds.addLevel({ name: "connections", level: () => this.#open.size });
    bounds.addLevel({ name: "sent_ahead", level: () => this.#countAhead() });
  }

  get count(): number {
    return this.#open.size;
  }

  /**
   * Starts a request when those before it on the same connection are answered. Node starts all that
   * are in one piece of 64 KB, about 1,500, and others would wait for them.
   */
  begin(socket: Socket, request: Waiting): void {
    const connection = this.#open.get(socket);
    // Without a connection of ours it is a test's injected request.
    if (connection === undefined) request.start();
    else if (!isBusy(connection)) start(connection, request);
    else if (connection.ahead.length >= AHEAD_MAX) {
      // Requests behind it in the same piece come here too.
      if (!socket.destroyed) this.#bounds.countRefusal("sent_ahead");
      socket.destroy();
    } else {
      const isFirst = connection.ahead.push(request) === 1;
      if (isFirst) connection.response?.once("finish", () => startNext(socket, connection));
      socket.pause();
    }
  }

  /** The connection is idle from now on, however long ago its request was started. */
  end(socket: Socket): void {
    const connection = this.#open.get(socket);
    if (connection !== undefined) connection.used_at = monotonicMs();
  }

  #countAhead(): number {
    let count = 0;
    for (const { ahead } of this.#open.values()) count += ahead.length;
    return count;
  }

  #add(socket: Socket): void {
    if (this.#open.size >= CONNECTIONS_MAX) this.#closeIdle();
    if (this.#open.size >= CONNECTIONS_MAX) {
      this.#bounds.countRefusal("connections");
      socket.destroy();
      return;
    }
    const address = socket.remoteAddress ?? "";
    const used_at = monotonicMs();
    this.#open.set(socket, { address, response: undefined, used_at, ahead: [] });
    socket.once("close", () => this.#open.delete(socket));
  }

  /** Closes the connection used longest ago, of the address that holds most. */
  #closeIdle(): void {
    const held = new Map<string, number>();
    for (const { address } of this.#open.values()) {
      held.set(address, (held.get(address) ?? 0) + 1);
    }
    let found: { socket: Socket; connection: Connection } | undefined;
    for (const [socket, connection] of this.#open) {
      if (
        !isBusy(connection) &&
        (found === undefined || goesBefore(connection, found.connection))
      ) {
        found = { socket, connection };
      }
    }
    if (found === undefined) return;
    this.#bounds.countRefusal("connections");
    this.#open.delete(found.socket);
    found.socket.destroy();

    function goesBefore(one: Connection, other: Connection): boolean {
      const more = (held.get(one.address) ?? 0) - (held.get(other.address) ?? 0);
      return more === 0 ? one.used_at < other.used_at : more > 0;
    }
  }
}

/** A request is under way until the network has taken its answer. */
function isBusy({ response }: Connection): boolean {
  return response !== undefined && !response.writableFinished;
}

function start(connection: Connection, request: Waiting): void {
  connection.response = request.response;
  connection.used_at = monotonicMs();
  request.start();
}

function startNext(socket: Socket, connection: Connection): void {
  const next = connection.ahead.shift();
  if (next !== undefined) {
    next.response.once("finish", () => startNext(socket, connection));
    start(connection, next);
  } else if (socket.isPaused()) socket.resume();
}
