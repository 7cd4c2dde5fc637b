// A few connections that many short reads share: each is sent as it comes, without waiting for the
// answers to those before it. Nothing slow may be sent here, for all behind it would wait.

import type { Duplex } from "node:stream";
import pg from "pg";
import {
  atMostOne,
  type Connection,
  clientConfig,
  exactlyOne,
  PIPELINED,
  type PoolOptions,
  prepared,
  type Queryable,
  SESSION,
  translated,
} from "./db.ts";
import type { Sql } from "./sql.ts";

export class Pipeline implements Queryable {
  readonly #config: pg.ClientConfig;
  readonly #clients: (Promise<pg.Client> | undefined)[];
  readonly #gathering = new Set<Duplex>();
  #turn = 0;

  constructor(connection: Connection, options: PoolOptions) {
    this.#config = { ...clientConfig(connection, options), ...PIPELINED };
    this.#clients = Array.from({ length: options.max }, () => undefined);
  }

  many<T>(query: Sql): Promise<T[]> {
    return translated(async () => (await this.#query(query)).rows as T[]);
  }

  async maybeOne<T>(query: Sql): Promise<T | undefined> {
    return atMostOne(await this.many<T>(query), query);
  }

  async one<T>(query: Sql): Promise<T> {
    return exactlyOne(await this.many<T>(query), query);
  }

  run(query: Sql): Promise<number> {
    return translated(async () => (await this.#query(query)).rowCount ?? 0);
  }

  async #query(query: Sql): Promise<pg.QueryResult> {
    const client = await this.#next();
    this.#gather((client as unknown as { connection: { stream: Duplex } }).connection.stream);
    return client.query(prepared(query));
  }

  /** What is asked in one turn of the event loop leaves in one write, at its end. */
  #gather(stream: Duplex): void {
    if (this.#gathering.has(stream)) return;
    this.#gathering.add(stream);
    stream.cork();
    setImmediate(() => {
      this.#gathering.delete(stream);
      stream.uncork();
    });
  }

  #next(): Promise<pg.Client> {
    this.#turn = (this.#turn + 1) % this.#clients.length;
    const turn = this.#turn;
    const open = this.#clients[turn];
    if (open !== undefined) return open;
    const opening = this.#open(() => {
      // Whatever waits on it is told by its query; the next one gets a new connection.
      if (this.#clients[turn] === opening) this.#clients[turn] = undefined;
    });
    this.#clients[turn] = opening;
    return opening;
  }

  async #open(onBreak: () => void): Promise<pg.Client> {
    const client = new pg.Client(this.#config);
    client.on("error", onBreak);
    client.on("end", onBreak);
    try {
      await client.connect();
    } catch (error) {
      onBreak();
      throw error;
    }
    client.query(SESSION).catch(() => {});
    return client;
  }

  async end(): Promise<void> {
    const open = this.#clients.splice(0);
    await Promise.allSettled(open.map(async (client) => (await client)?.end()));
  }
}
