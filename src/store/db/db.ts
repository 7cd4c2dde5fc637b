// The connection to PostgreSQL: queries, transactions, retries. Knows no table, and no setting of
// the service.

import pg from "pg";
import {
  codeOf,
  failedCommit,
  IN_FAILED_TRANSACTION,
  isUnreachable,
  retried,
  translated,
} from "./failures.ts";
import { giveUp, SilenceWatch, streamOf } from "./silence.ts";
import { type Sql, sql, statementName } from "./sql.ts";
import { TYPES } from "./types.ts";
import { WaitingLine } from "./waiting-line.ts";
import { WriteFault } from "./write-fault.ts";

export type Queryable = {
  many<T>(query: Sql): Promise<T[]>;
  maybeOne<T>(query: Sql): Promise<T | undefined>;
  one<T>(query: Sql): Promise<T>;
  /** How many rows the statement touched. */
  run(query: Sql): Promise<number>;
};

declare const inTransaction: unique symbol;
/**
 * What writes need: a function that takes `Tx` cannot be called outside a transaction. Statements
 * that do not wait for one another (`Promise.all`) go out together and run in that order.
 */
export type Tx = Queryable & {
  readonly [inTransaction]: true;
  /**
   * Adds statements that are sent last, together with the commit: what they lock is held for as
   * short as can be. They are asked for once, when the work is done.
   */
  beforeCommit(statements: () => readonly Sql[]): void;
};

export type Db = Queryable & {
  tx<T>(work: (tx: Tx) => Promise<T>): Promise<T>;
  /** A write that is a transaction by itself, without begin and commit. */
  alone<T>(query: Sql): Promise<T[]>;
  /** Read only, all statements on one snapshot. */
  snapshot<T>(work: (tx: Queryable) => Promise<T>): Promise<T>;
  /** Throws 503 when too many wait for a connection: known before anything of a call is read. */
  admit?(): void;
  /** How many wait for a connection, and how many were refused that. */
  readonly stats?: { readonly waiting: number; readonly refused: number };
  /** This database for the work of one project: on a cluster within its node's limit. */
  forProject(project: string): Db;
  /** This database for reads that ask every node of a cluster: few of them run at once. */
  forEveryNode(): Queryable;
};

/** Single reads that share connections; on a cluster the projects of each node have their own. */
export type PointReads = Queryable & { forProject(project: string): Queryable };

export type Connection = {
  readonly connectionString?: string;
  readonly host?: string;
  readonly port?: number;
  readonly user?: string;
  readonly database?: string;
};

export type PoolOptions = {
  readonly max: number;
  readonly statement_timeout_ms: number;
  readonly lock_timeout_ms: number;
  readonly application_name: string;
  /** Bounds the queue: when somebody has waited so long, whoever comes is refused at once. */
  readonly queue_ms?: number;
  /** All tries of a call together. Without it, as long as they take: nobody waits for a worker. */
  readonly tries_ms?: number;
};

/** Locks of a process that vanished are released after this. */
const IDLE_IN_TRANSACTION_MS = 5_000;
const CONNECTION_LIFETIME_S = 1_800;
/**
 * How many may wait for each connection of a pool with a bounded queue. A write holds one for about
 * 12 ms, so the last waits for 0.6 s.
 */
const WAITING_MAX = 50;
/** How long nothing comes before the system asks whether the other side is there, ten times. */
const KEEP_ALIVE_MS = 5_000;
/** How long an idle connection may take to answer once another one has gone silent. */
const IDLE_ANSWER_MS = 1_000;

export function clientConfig(connection: Connection, options: PoolOptions): pg.ClientConfig {
  return {
    ...connection,
    application_name: options.application_name,
    // Workers may wait long for a lock and for a connection, requests for neither.
    connectionTimeoutMillis: options.lock_timeout_ms,
    statement_timeout: options.statement_timeout_ms,
    lock_timeout: options.lock_timeout_ms,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    keepAlive: true,
    keepAliveInitialDelayMillis: KEEP_ALIVE_MS,
    types: TYPES,
  };
}

/** Runs a try when there is a place for it. Who waits to be tried again has none. */
export type Within = <T>(attempt: () => Promise<T>) => Promise<T>;

const atOnce: Within = (attempt) => attempt();

const BEGIN = "begin";
/** Statements are sent without waiting for the answers to those before them. */
export const PIPELINED = { pipeline: true };
/** Dates are parsed in this form, whatever the role or the database is set to. */
const DATES = "set datestyle = 'ISO'";
/** The server gives up clients that are gone within a minute, not after hours. */
const CLIENT_GONE =
  "set tcp_keepalives_idle = 30; set tcp_keepalives_interval = 10; set tcp_keepalives_count = 3";

/** Sent ahead of the first statement. Those that a server does not know change no answer. */
export function beginSession(client: pg.ClientBase): void {
  client.query(DATES).catch(() => {});
  client.query(CLIENT_GONE).catch(() => {});
}

export class Pool implements Db {
  readonly #pool: pg.Pool;
  readonly #line: WaitingLine;
  readonly #tries_ms: number;
  readonly #writeFault = new WriteFault();

  constructor(connection: Connection, options: PoolOptions) {
    this.#tries_ms = options.tries_ms ?? Number.POSITIVE_INFINITY;
    const isBounded = options.queue_ms !== undefined;
    this.#line = new WaitingLine({
      max: isBounded ? options.max * WAITING_MAX : Number.POSITIVE_INFINITY,
      late_ms: options.queue_ms ?? options.lock_timeout_ms,
    });
    this.#pool = new pg.Pool({
      ...clientConfig(connection, options),
      ...PIPELINED,
      max: options.max,
      min: 1,
      maxLifetimeSeconds: CONNECTION_LIFETIME_S,
    });
    const watch = new SilenceWatch(options.statement_timeout_ms, () => this.#askIdle());
    this.#pool.on("connect", (client) => {
      // The pool stops listening before whoever waits for the connection can begin to: one that
      // breaks between the two would end the process. The first query on it fails by itself.
      client.on("error", () => {});
      watch.add(client);
      beginSession(client);
    });
    // A process that serves always has one: by it, others see that it does.
    this.#pool.on("remove", () => {
      if (!this.#pool.ending && this.#pool.totalCount === 0) this.#askOne().catch(() => {});
    });
    // Without a listener an idle connection that breaks would end the process. It is replaced at
    // its next use, and a query that cannot be sent then fails by itself.
    this.#pool.on("error", () => {});
  }

  async many<T>(query: Sql): Promise<T[]> {
    return (await this.#ask(query)).rows as T[];
  }

  async maybeOne<T>(query: Sql): Promise<T | undefined> {
    return atMostOne(await this.many<T>(query), query);
  }

  async one<T>(query: Sql): Promise<T> {
    return exactlyOne(await this.many<T>(query), query);
  }

  async run(query: Sql): Promise<number> {
    return (await this.#ask(query)).rowCount ?? 0;
  }

  #ask(query: Sql): Promise<pg.QueryResult> {
    return this.#with((client) => translated(() => client.query(prepared(query))));
  }

  tx<T>(work: (tx: Tx) => Promise<T>, within: Within = atOnce): Promise<T> {
    return retried(() => within(() => this.#attempt(BEGIN, work)), this.#tries_ms);
  }

  async alone<T>(query: Sql, within: Within = atOnce): Promise<T[]> {
    const rows = await retried(() => within(() => this.many<T>(query)), this.#tries_ms);
    this.#writeFault.forget();
    return rows;
  }

  snapshot<T>(work: (tx: Queryable) => Promise<T>, within: Within = atOnce): Promise<T> {
    const begin = "begin isolation level repeatable read, read only";
    return retried(() => within(() => this.#attempt(begin, work)), this.#tries_ms);
  }

  #attempt<T>(begin: string, work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#with(async (client, close) => {
      try {
        // Not awaited: the first statement is sent along with it, and fails if it does.
        const begun = translated(() => client.query(begin));
        begun.catch(() => {});
        const transaction = new Transaction(client);
        const result = await work(transaction as unknown as Tx);
        await begun;
        transaction.sendLast();
        await transaction.commit();
        if (begin === BEGIN) this.#writeFault.forget();
        return result;
      } catch (error) {
        // A silent one is closed, and its server ends the transaction alone.
        if (!isUnreachable(error)) await client.query("rollback").catch(close);
        throw error;
      }
    });
  }

  /** A connection for the time of `work`; one that broke is closed and not used again. */
  async #with<T>(
    work: (client: pg.PoolClient, close: (why: Error) => void) => Promise<T>,
  ): Promise<T> {
    const client = await this.#connect();
    let broken: Error | undefined;
    const onBreak = (error: Error) => {
      broken ??= error;
    };
    client.on("error", onBreak);
    try {
      return await work(client, onBreak);
    } catch (error) {
      if (isUnreachable(error)) onBreak(error);
      this.#writeFault.note(error);
      throw error;
    } finally {
      client.off("error", onBreak);
      client.release(broken);
    }
  }

  admit(): void {
    this.#line.admit();
  }

  async #connect(): Promise<pg.PoolClient> {
    this.admit();
    const connect = () => translated(() => this.#pool.connect());
    return this.#pool.idleCount > 0 ? connect() : this.#line.wait(connect);
  }

  /** One server has no limits by node: see cluster-db.ts. */
  forProject(): Db {
    return this;
  }

  forEveryNode(): Db {
    return this;
  }

  /** A connection went silent. Those that nobody uses may be too: found now, not one per caller. */
  #askIdle(): void {
    for (let idle = this.#pool.idleCount; idle > 0; idle--) this.#askOne().catch(() => {});
  }

  async #askOne(): Promise<void> {
    const client = await this.#pool.connect();
    const timer = setTimeout(() => giveUp(streamOf(client)), IDLE_ANSWER_MS);
    let broken: Error | undefined;
    const onBreak = (error: Error) => {
      broken = error;
    };
    client.on("error", onBreak);
    await client.query("select 1").catch(onBreak);
    client.off("error", onBreak);
    clearTimeout(timer);
    client.release(broken);
  }

  /** Why writes have lately failed while the server answered. */
  get writeFault(): string | undefined {
    return this.#writeFault.why;
  }

  get stats() {
    const { totalCount: total, idleCount: idle } = this.#pool;
    return { total, idle, ...this.#line.stats };
  }

  async end(): Promise<void> {
    await this.#pool.end();
  }
}

class Transaction implements Queryable {
  readonly #client: pg.PoolClient;
  /** The first error: statements that were sent behind the failed one only say that one failed. */
  #cause: unknown;
  readonly #last: (() => readonly Sql[])[] = [];
  #lastSent: Promise<unknown> | undefined;

  constructor(client: pg.PoolClient) {
    this.#client = client;
  }

  many<T>(query: Sql): Promise<T[]> {
    return this.#asked(async () => (await this.#client.query(prepared(query))).rows as T[]);
  }

  async maybeOne<T>(query: Sql): Promise<T | undefined> {
    return atMostOne(await this.many<T>(query), query);
  }

  async one<T>(query: Sql): Promise<T> {
    return exactlyOne(await this.many<T>(query), query);
  }

  run(query: Sql): Promise<number> {
    return this.#asked(async () => (await this.#client.query(prepared(query))).rowCount ?? 0);
  }

  beforeCommit(statements: () => readonly Sql[]): void {
    this.#last.push(statements);
  }

  /** Not awaited: if one of them fails, so does the commit, with its error. */
  sendLast(): void {
    const statements = this.#last.flatMap((last) => last());
    this.#lastSent = Promise.allSettled(statements.map((statement) => this.run(statement)));
  }

  commit(): Promise<void> {
    return this.#asked(async () => {
      const { command } = await this.#client.query("commit").catch(failedCommit);
      // A statement failed and its error was caught: nothing was written, so this must fail too.
      if (command === "ROLLBACK") {
        await this.#lastSent;
        throw this.#cause ?? new Error("The transaction had failed and was rolled back.");
      }
    });
  }

  async #asked<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await translated(work);
    } catch (error) {
      // Also what was sent behind it: after a cancel, a node that hangs lets no more through.
      if (isUnreachable(error)) giveUp(streamOf(this.#client));
      this.#cause ??= error;
      throw codeOf(error) === IN_FAILED_TRANSACTION ? this.#cause : error;
    }
  }
}

function prepared({ text, values, anew }: Sql) {
  const named = anew ? {} : { name: statementName(text) };
  return { text, values: values as unknown[], ...named };
}

export function atMostOne<T>(rows: T[], query: Sql): T | undefined {
  if (rows.length > 1) throw new Error(`Expected at most one row of: ${query.text}`);
  return rows[0];
}

export function exactlyOne<T>(rows: T[], query: Sql): T {
  const [row] = rows;
  if (row === undefined || rows.length > 1) throw new Error(`Expected one row of: ${query.text}`);
  return row;
}

/**
 * The database's own clock, for leases alone: every process agrees on it. It stands still within a
 * statement, so that an index can serve a comparison and a cluster can send it to one node.
 */
export const DATABASE_NOW: Sql = sql`statement_timestamp()`;
