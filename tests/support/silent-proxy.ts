// A proxy between the service and PostgreSQL that goes silent: connections stay open and nothing
// comes, as when a route is lost or a server hangs.

import type { AddressInfo } from "node:net";
import { connect, createServer, type Server, type Socket } from "node:net";
import type { Connection } from "../../src/store/db/db.ts";

export class SilentProxy {
  readonly connection: Connection;
  readonly port: number;
  readonly #server: Server;
  readonly #pairs = new Set<{ client: Socket; server: Socket }>();
  #silentForNew = false;
  #opened = 0;

  private constructor(server: Server, target: Connection) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    this.connection = through(target, this.port);
    server.on("connection", (client) => this.#join(client, dial(target)));
  }

  static async open(target: Connection): Promise<SilentProxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    return new SilentProxy(server, target);
  }

  /** How many connections were made since it was opened. */
  get opened(): number {
    return this.#opened;
  }

  /** Connections that are open go silent for good; new ones work. */
  loseRoutes(): void {
    for (const { client, server } of this.#pairs) {
      client.unpipe();
      server.unpipe();
      client.pause();
      server.pause();
    }
  }

  /** Nothing passes for a while, also on new connections; then everything that waited does. */
  hang(): void {
    this.#silentForNew = true;
    this.loseRoutes();
  }

  goOn(): void {
    this.#silentForNew = false;
    for (const pair of this.#pairs) flow(pair);
  }

  /** As a server that was killed: connections break, and new ones are refused. */
  async die(): Promise<void> {
    for (const { client, server } of this.#pairs) {
      client.destroy();
      server.destroy();
    }
    await new Promise((resolve) => this.#server.close(resolve));
  }

  /** At the same address. */
  async comeBack(): Promise<void> {
    await new Promise<void>((resolve) => this.#server.listen(this.port, "127.0.0.1", resolve));
  }

  async close(): Promise<void> {
    if (this.#server.listening) await this.die();
  }

  #join(client: Socket, server: Socket): void {
    this.#opened += 1;
    const pair = { client, server };
    this.#pairs.add(pair);
    const end = () => {
      this.#pairs.delete(pair);
      client.destroy();
      server.destroy();
    };
    for (const side of [client, server]) side.on("error", end).on("close", end);
    if (!this.#silentForNew) flow(pair);
  }
}

function flow({ client, server }: { client: Socket; server: Socket }): void {
  client.pipe(server);
  server.pipe(client);
}

function dial({ connectionString, host = "", port = 5432 }: Connection): Socket {
  if (connectionString !== undefined) {
    const url = new URL(connectionString);
    return connect(Number(url.port || 5432), url.hostname);
  }
  return host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
}

function through(target: Connection, port: number): Connection {
  if (target.connectionString === undefined) return { ...target, host: "127.0.0.1", port };
  const url = new URL(target.connectionString);
  url.hostname = "127.0.0.1";
  url.port = String(port);
  return { connectionString: url.href };
}
