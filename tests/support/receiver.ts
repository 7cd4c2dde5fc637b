// A real HTTP receiver of webhooks: keeps the raw bytes and headers of every request.

import {
  createServer,
  type IncomingHttpHeaders,
  type Server,
  type ServerResponse,
} from "node:http";
import type { AddressInfo } from "node:net";

export type Received = {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly raw: Buffer;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any field of any body
  readonly body: any;
  readonly at: number;
};

type Reply = { status: number; headers?: Record<string, string>; body?: string };

export class Receiver {
  readonly received: Received[] = [];
  /** What to answer; may be changed on the way. */
  answer: Reply = { status: 200 };
  /** While true requests are taken in and not answered. */
  holding = false;
  readonly #server: Server;
  readonly #held: ServerResponse[] = [];
  #waiting: (() => void)[] = [];

  private constructor(server: Server) {
    this.#server = server;
  }

  static async start(): Promise<Receiver> {
    const server = createServer();
    const receiver = new Receiver(server);
    server.on("request", (request, response) => {
      const chunks: Buffer[] = [];
      request.on("data", (chunk: Buffer) => chunks.push(chunk));
      request.on("end", () => {
        const raw = Buffer.concat(chunks);
        receiver.#take({
          path: request.url ?? "",
          headers: request.headers,
          raw,
          body: JSON.parse(raw.toString() || "null"),
          at: performance.now(),
        });
        if (receiver.holding) receiver.#held.push(response);
        else receiver.#reply(response);
      });
    });
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return receiver;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  url(path = "/hook"): string {
    return `http://127.0.0.1:${this.port}${path}`;
  }

  codes(): string[] {
    return this.received.map(({ body }) => body.event);
  }

  /** Message ids, as often as they came in. */
  ids(): string[] {
    return this.received.map(({ headers }) => String(headers["webhook-id"]));
  }

  /** Answers what was held, or the oldest of it, and holds no more. */
  release(count = this.#held.length): void {
    this.holding = false;
    for (const response of this.#held.splice(0, count)) this.#reply(response);
  }

  /** Resolves when so many have come in; fails when they do not come in time. */
  async until(count: number, within_ms = 15_000): Promise<Received[]> {
    await this.untilTrue(
      () => this.received.length >= count,
      () => `${this.received.length} of ${count} webhooks came in.`,
      within_ms,
    );
    return this.received;
  }

  /** Looks again with every request that comes in. */
  async untilTrue(isDone: () => boolean, fault: () => string, within_ms = 15_000): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_, reject) => {
      timer = setTimeout(() => reject(new Error(fault())), within_ms);
    });
    try {
      while (!isDone()) {
        const next = new Promise<void>((resolve) => this.#waiting.push(resolve));
        await Promise.race([next, late]);
      }
    } finally {
      clearTimeout(timer);
    }
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #take(received: Received): void {
    this.received.push(received);
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #reply(response: ServerResponse): void {
    response.writeHead(this.answer.status, this.answer.headers ?? {});
    response.end(this.answer.body ?? "");
  }
}
