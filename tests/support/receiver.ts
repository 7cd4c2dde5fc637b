// A real HTTP receiver of webhooks: keeps the raw bytes and headers of every request.

import { createServer, type IncomingHttpHeaders, type Server } from "node:http";
import type { AddressInfo } from "node:net";

export type Received = {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly raw: Buffer;
  // biome-ignore lint/suspicious/noExplicitAny: a test reads any field of any body
  readonly body: any;
  readonly at: number;
};

export class Receiver {
  readonly received: Received[] = [];
  /** What to answer; may be changed on the way. */
  answer: { status: number; headers?: Record<string, string>; body?: string } = { status: 200 };
  readonly #server: Server;
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
        receiver.received.push({
          path: request.url ?? "",
          headers: request.headers,
          raw,
          body: JSON.parse(raw.toString() || "null"),
          at: performance.now(),
        });
        response.writeHead(receiver.answer.status, receiver.answer.headers ?? {});
        response.end(receiver.answer.body ?? "");
        for (const wake of receiver.#waiting.splice(0)) wake();
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

  /** Resolves when so many have come in; fails when they do not come in time. */
  async until(count: number, within_ms = 10_000): Promise<Received[]> {
    const deadline = AbortSignal.timeout(within_ms);
    while (this.received.length < count) {
      await new Promise<void>((resolve, reject) => {
        this.#waiting.push(resolve);
        deadline.addEventListener("abort", () =>
          reject(new Error(`${this.received.length} of ${count} webhooks came in.`)),
        );
      });
    }
    return this.received;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
