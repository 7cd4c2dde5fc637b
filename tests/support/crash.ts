// A database that dies on demand: the connection is cut before or after a chosen statement of a
// transaction, or the commit succeeds and its answer is lost.

import { UnknownOutcome } from "../../src/errors.ts";
import type { Db, Queryable, Tx } from "../../src/store/db/db.ts";
import { type Sql, sql } from "../../src/store/db/sql.ts";

/** `lost`: the commit of that number is on disk, and the caller hears that the database is away. */
export type When = "before" | "after" | "lost";
export type Death = { readonly statement: number; readonly when: When };

const END: Sql = sql`select pg_terminate_backend(pg_backend_pid())`;

/** Counts statements and commits of transactions since the last `arm`, and dies where told. */
export class MortalDb implements Db {
  readonly #db: Db;
  #death: Death | undefined;
  #statements = 0;
  #commits = 0;
  #died = false;

  constructor(db: Db) {
    this.#db = db;
  }

  /** Without a death it only counts. */
  arm(death?: Death): void {
    this.#death = death;
    this.#statements = 0;
    this.#commits = 0;
    this.#died = false;
  }

  get statements(): number {
    return this.#statements;
  }

  get commits(): number {
    return this.#commits;
  }

  get died(): boolean {
    return this.#died;
  }

  many<T>(query: Sql): Promise<T[]> {
    return this.#db.many<T>(query);
  }

  maybeOne<T>(query: Sql): Promise<T | undefined> {
    return this.#db.maybeOne<T>(query);
  }

  one<T>(query: Sql): Promise<T> {
    return this.#db.one<T>(query);
  }

  run(query: Sql): Promise<number> {
    return this.#db.run(query);
  }

  snapshot<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    return this.#db.snapshot(work);
  }

  forProject(): Db {
    return this;
  }

  forEveryNode(): Db {
    return this;
  }

  /** The commit stays a step of its own: a death between the two is a case too. */
  alone<T>(query: Sql): Promise<T[]> {
    return this.tx((tx) => tx.many<T>(query));
  }

  async tx<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    const result = await this.#db.tx((tx) => work(this.#watched(tx)));
    this.#commits += 1;
    if (this.#isDue("lost", this.#commits)) {
      this.#died = true;
      throw new UnknownOutcome("unavailable", "The answer to the commit was lost.");
    }
    return result;
  }

  #isDue(when: When, count: number): boolean {
    return !this.#died && this.#death?.when === when && this.#death.statement === count;
  }

  #watched(tx: Tx): Tx {
    const watched: Queryable = {
      many: (query) => this.#step(tx, () => tx.many(query)),
      maybeOne: (query) => this.#step(tx, () => tx.maybeOne(query)),
      one: (query) => this.#step(tx, () => tx.one(query)),
      run: (query) => this.#step(tx, () => tx.run(query)),
    };
    const beforeCommit = (statements: () => readonly Sql[]) =>
      tx.beforeCommit(() => statements().flatMap((statement) => this.#lastStep(statement)));
    return { ...tx, ...watched, beforeCommit };
  }

  /** A statement that goes out with the commit: the server ends the session before or behind it. */
  #lastStep(statement: Sql): Sql[] {
    this.#statements += 1;
    const isDue = (when: When) => this.#isDue(when, this.#statements);
    const [before, after] = [isDue("before"), isDue("after")];
    if (before || after) this.#died = true;
    return [...(before ? [END] : []), statement, ...(after ? [END] : [])];
  }

  async #step<T>(tx: Tx, statement: () => Promise<T>): Promise<T> {
    this.#statements += 1;
    const count = this.#statements;
    if (this.#isDue("before", count)) await this.#die(tx);
    const result = await statement();
    if (this.#isDue("after", count)) await this.#die(tx);
    return result;
  }

  /** The server ends the session itself, as it does when a client's process is gone. */
  async #die(tx: Tx): Promise<never> {
    this.#died = true;
    await tx.many(END);
    throw new Error("The connection survived its end.");
  }
}
