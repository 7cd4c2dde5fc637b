// A few connections that many short reads share: each is sent at once, without waiting for the
// answers to those before it. Only for fast reads: a slow one delays all that are sent behind it.

import type { Duplex } from "node:stream";
import pg from "pg";
import {
  atMostOne,
  beginSession,
  type Connection,
  clientConfig,
  exactlyOne,
  PIPELINED,
  type PointReads,
  type PoolOptions,
} from "./db.ts";
import { asUnavailable, codeOf } from "./failures.ts";
import { giveUp, SilenceWatch, streamOf } from "./silence.ts";
import { type Sql, statementName } from "./sql.ts";

/** The server cancelled the statement: it ran for too long. */
const CANCELLED = "57014";

export class Pipeline implements PointReads {
  readonly #config: pg.ClientConfig;
  readonly #watch: SilenceWatch;
  readonly #open: (pg.Client | undefined)[];
  readonly #opening: (Promise<pg.Client> | undefined)[];
  readonly #gathering = new Set<Duplex>();
  #turn = 0;

  constructor(connection: Connection, options: PoolOptions) {
    this.#config = { ...clientConfig(connection, options), ...PIPELINED };
    this.#watch = new SilenceWatch(options.statement_timeout_ms);
    this.#open = Array.from({ length: options.max }, () => undefined);
    this.#opening = Array.from({ length: options.max }, () => undefined);
  }

  many<T>(query: Sql): Promise<T[]> {
    return this.#ask(query, (result) => result.rows as T[]);
  }

  maybeOne<T>(query: Sql): Promise<T | undefined> {
    return this.#ask(query, (result) => atMostOne(result.rows as T[], query));
  }

  one<T>(query: Sql): Promise<T> {
    return this.#ask(query, (result) => exactlyOne(result.rows as T[], query));
  }

  run(query: Sql): Promise<number> {
    return this.#ask(query, (result) => result.rowCount ?? 0);
  }

  /** One server has no nodes: see cluster-db.ts. */
  forProject(): Pipeline {
    return this;
  }

  /** Not async, which would add promises: nearly every request makes such a read. */
  #ask<T>(query: Sql, read: (result: pg.QueryResult) => T): Promise<T> {
    this.#turn = (this.#turn + 1) % this.#open.length;
    const client = this.#open[this.#turn];
    const asked = client === undefined ? this.#askLater(query) : this.#send(client, query);
    return asked.then(read, (error) => {
      throw asUnavailable(error);
    });
  }

  #send(client: pg.Client, sent: Sql): Promise<pg.QueryResult> {
    const stream = streamOf(client);
    this.#gather(stream);
    return new Promise((resolve, reject) => {
      // A query object, because the driver copies anything else property by property.
      const query = new pg.Query(sent.text, sent.values as unknown[]);
      Object.assign(query, {
        name: statementName(sent.text),
        callback: (error: Error | null, result: pg.QueryResult) => {
          if (error === null) return resolve(result);
          reject(error);
          // Those behind it have waited for as long, and a node that hangs would answer none.
          if (codeOf(error) === CANCELLED) giveUp(stream);
        },
      });
      client.query(query);
    });
  }

  /** Queries of one turn of the event loop leave in one write, at its end. */
  #gather(stream: Duplex): void {
    if (this.#gathering.has(stream)) return;
    this.#gathering.add(stream);
    stream.cork();
    setImmediate(() => {
      this.#gathering.delete(stream);
      stream.uncork();
    });
  }

  async #askLater(query: Sql): Promise<pg.QueryResult> {
    const turn = this.#turn;
    this.#opening[turn] ??= this.#connect(turn);
    return this.#send(await this.#opening[turn], query);
  }

  async #connect(turn: number): Promise<pg.Client> {
    const client = new pg.Client(this.#config);
    // Queries that wait on it fail by themselves; the next one opens a new connection.
    const forget = () => {
      this.#open[turn] = undefined;
      this.#opening[turn] = undefined;
    };
    client.on("error", forget);
    client.on("end", forget);
    try {
      await client.connect();
    } catch (error) {
      forget();
      throw error;
    }
    this.#watch.add(client);
    beginSession(client);
    this.#open[turn] = client;
    return client;
  }

  async end(): Promise<void> {
    const clients = await Promise.allSettled(this.#opening.map(async (client) => client));
    for (const found of clients) {
      if (found.status === "fulfilled") await found.value?.end();
    }
  }
}
