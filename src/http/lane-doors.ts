// The two ways into the hot lane: straight off the socket, as long as a connection carries nothing
// but plain requests for it; and from Node's own server, once it has carried anything else.

import type { IncomingMessage, Server, ServerResponse } from "node:http";
import type { Socket } from "node:net";
import type { Exit, HotLane } from "./fast-routes.ts";
import { PlainReader, writePlain } from "./plain-http.ts";

/** On the way out every answer is the last one of its connection. */
type Leaving = { readonly now: boolean };

export function openLaneDoors(server: Server, lane: HotLane, leaving: Leaving): void {
  goBefore<[IncomingMessage, ServerResponse]>(server, "request", (request, response, ordinary) => {
    if (!fromServer(lane, leaving, request, response)) ordinary();
  });
  const plain = new Set<PlainConnection>();
  goBefore<[Socket]>(server, "connection", (socket, ordinary) => {
    const connection = new PlainConnection(server, lane, leaving, socket, ordinary);
    plain.add(connection);
    connection.onEnd(() => plain.delete(connection));
  });
  // Node's server knows its own connections only.
  const { closeIdleConnections, closeAllConnections } = server;
  server.closeIdleConnections = () => {
    for (const connection of plain) if (!connection.busy) connection.close();
    closeIdleConnections.call(server);
  };
  server.closeAllConnections = () => {
    for (const connection of plain) connection.close();
    closeAllConnections.call(server);
  };
}

/** Puts a listener before the one that Node or the framework has set; `next` calls that one. */
function goBefore<Of extends unknown[]>(
  server: Server,
  event: "request" | "connection",
  listener: (...of: [...Of, next: () => void]) => void,
): void {
  const [next, ...others] = server.listeners(event);
  if (next === undefined || others.length > 0) {
    throw new Error(`The server should have one listener for "${event}".`);
  }
  server.removeAllListeners(event);
  server.on(event, (...of: unknown[]) => {
    listener(...(of as Of), () => next.apply(server, of));
  });
}

function fromServer(
  lane: HotLane,
  leaving: Leaving,
  request: IncomingMessage,
  response: ServerResponse,
): boolean {
  const ride = lane.find(request);
  if (ride === undefined) return false;
  const exit: Exit = (status, fields, body) => {
    if (response.destroyed) return;
    response.writeHead(status, leaving.now ? { ...fields, connection: "close" } : fields);
    response.end(body);
  };
  if (request.method === "GET") ride(undefined, exit);
  else readBody(request, (bytes) => ride(bytes, exit));
  return true;
}

function readBody(request: IncomingMessage, go: (bytes: Buffer) => void): void {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => go(Buffer.concat(chunks)));
  // Whoever leaves in the middle of a body gets no answer.
  request.on("error", () => {});
}

/** A connection that has carried plain requests only. The first other one makes it Node's. */
class PlainConnection {
  readonly #server: Server;
  readonly #lane: HotLane;
  readonly #leaving: Leaving;
  readonly #socket: Socket;
  readonly #handOver: () => void;
  readonly #reader = new PlainReader();
  #state: "idle" | "answering" | "leaving" = "idle";
  /** Something came while a request was being answered: Node's to read, after the answer. */
  #early = false;
  /** The other side will send nothing more. */
  #ended = false;

  constructor(
    server: Server,
    lane: HotLane,
    leaving: Leaving,
    socket: Socket,
    handOver: () => void,
  ) {
    this.#server = server;
    this.#lane = lane;
    this.#leaving = leaving;
    this.#socket = socket;
    this.#handOver = handOver;
    for (const [event, listener] of this.#listeners) socket.on(event, listener);
    socket.setTimeout(server.headersTimeout);
  }

  readonly #listeners: readonly [event: string, (chunk: Buffer) => void][] = [
    ["data", (chunk) => this.#take(chunk)],
    ["drain", () => this.#socket.resume()],
    ["end", () => this.#end()],
    ["timeout", () => this.#state === "answering" || this.close()],
    ["error", () => this.close()],
    ["close", () => this.#forget()],
  ];
  #forget = () => {};

  /** When it is closed, or has become Node's. */
  onEnd(forget: () => void): void {
    this.#forget = forget;
  }

  /** Its answer is being made, or not yet with its reader. */
  get busy(): boolean {
    return this.#state !== "idle" || this.#socket.writableLength > 0;
  }

  close(): void {
    this.#socket.destroy();
  }

  #take(chunk: Buffer): void {
    if (this.#state !== "idle") {
      this.#early = true;
      this.#putBack(chunk);
      return;
    }
    const message = this.#reader.read(chunk);
    const ride = message && this.#lane.find(message.request);
    if (ride === undefined) {
      this.#putBack(chunk);
      this.#giveUp();
      return;
    }
    this.#state = "answering";
    ride(message?.body, this.#answer);
  }

  readonly #answer: Exit = (status, fields, body) => {
    const socket = this.#socket;
    if (socket.destroyed) return;
    this.#state = this.#leaving.now || this.#ended ? "leaving" : "idle";
    const keep_ms = this.#state === "leaving" ? 0 : this.#server.keepAliveTimeout;
    const text = writePlain(status, fields, body, keep_ms);
    if (this.#state === "leaving") {
      socket.write(text);
      socket.destroySoon();
      return;
    }
    // Who does not read what was answered may not ask for more.
    if (!socket.write(text)) socket.pause();
    if (socket.timeout !== keep_ms) socket.setTimeout(keep_ms);
    if (this.#early) this.#giveUp();
  };

  #end(): void {
    this.#ended = true;
    if (this.#state === "idle") this.#socket.end();
  }

  #putBack(chunk: Buffer): void {
    this.#socket.pause();
    this.#socket.unshift(chunk);
  }

  #giveUp(): void {
    const socket = this.#socket;
    this.#forget();
    for (const [event, listener] of this.#listeners) socket.off(event, listener);
    socket.setTimeout(0);
    this.#handOver();
    socket.resume();
  }
}
