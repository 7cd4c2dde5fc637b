// The database as a cluster of nodes: the same pool and the same shared reads, with a limit for
// the projects of each node. On plain PostgreSQL nothing of this is used.

import type { Db, PointReads, Pool, Queryable, Tx } from "./db.ts";
import { NodeLimit, Semaphore } from "./node-limits.ts";
import type { Pipeline } from "./pipeline.ts";
import { ClusterPlacement, ONE_NODE, type Placement } from "./placement.ts";
import type { Sql } from "./sql.ts";

type Limit = <T>(work: () => Promise<T>) => Promise<T>;

export type LimitOptions = {
  /** Connections of the pool. */
  readonly max: number;
  /** How long one waits for a place. */
  readonly wait_ms: number;
};

type Access = { readonly db: Db; readonly point: PointReads; readonly placement: Placement };

/** The pool and the shared reads as requests use them: with limits by node on a cluster. */
export function limitByNode(
  pool: Pool,
  open: () => Pipeline,
  limits: LimitOptions,
  spread: boolean,
): Access & { end(): Promise<unknown> } {
  const shared = open();
  if (!spread) return { db: pool, point: shared, placement: ONE_NODE, end: () => shared.end() };
  const placement = new ClusterPlacement(shared);
  const point = new ClusterPointReads(shared, placement, open);
  const db = new ClusterDb(pool, placement, limits);
  return { db, point, placement, end: () => Promise.all([point.end(), shared.end()]) };
}

/**
 * Half of the connections at most are for the projects of one node. What needs every node has a
 * quarter, because it waits for each of them: reads across projects, and writes of keys and
 * projects, of which each node has a copy. Reads of these copies take what is free.
 */
export class ClusterDb implements Db {
  readonly portal_auto_invalidate: boolean;
  readonly #pool: Pool;
  readonly #placement: Placement;
  readonly #max: number;
  readonly #wait_ms: number;
  readonly #everyNode: Db;
  readonly #nodes = new Map<string, NodeLimit>();

  constructor(pool: Pool, placement: Placement, { max, wait_ms }: LimitOptions) {
    this.portal_auto_invalidate = pool.portal_auto_invalidate;
    this.#pool = pool;
    this.#placement = placement;
    this.#max = max;
    this.#wait_ms = wait_ms;
    const places = new Semaphore(() => this.#part(4), wait_ms);
    this.#everyNode = new LimitedDb(pool, (work) => places.run(work), this);
  }

  many<T>(query: Sql): Promise<T[]> {
    return this.#pool.many<T>(query);
  }

  maybeOne<T>(query: Sql): Promise<T | undefined> {
    return this.#pool.maybeOne<T>(query);
  }

  one<T>(query: Sql): Promise<T> {
    return this.#pool.one<T>(query);
  }

  run(query: Sql): Promise<number> {
    return this.#everyNode.run(query);
  }

  tx<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#everyNode.tx(work);
  }

  alone<T>(query: Sql): Promise<T[]> {
    return this.#everyNode.alone<T>(query);
  }

  snapshot<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    return this.#everyNode.snapshot(work);
  }

  admit(): void {
    this.#pool.admit();
  }

  get stats() {
    return this.#pool.stats;
  }

  forProject(project: string): Db {
    const limit: Limit = async (work) => {
      const node = this.#placement.recall(project) ?? (await this.#placement.nodeOf(project));
      return this.#limitOf(node).run(work);
    };
    return new LimitedDb(this.#pool, limit, this);
  }

  forEveryNode(): Queryable {
    return this.#everyNode;
  }

  #limitOf(node: string): NodeLimit {
    const found = this.#nodes.get(node);
    if (found !== undefined) return found;
    const limit = new NodeLimit({
      places: () => this.#part(2),
      wait_ms: this.#wait_ms,
      onAway: () => this.#placement.doubt(),
    });
    this.#nodes.set(node, limit);
    return limit;
  }

  #part(of: number): number {
    return this.#placement.nodes > 1 ? Math.max(1, Math.floor(this.#max / of)) : this.#max;
  }
}

/** The pool, with no more work at once than one limit allows. */
class LimitedDb implements Db {
  readonly portal_auto_invalidate: boolean;
  readonly #pool: Pool;
  readonly #limit: Limit;
  readonly #cluster: ClusterDb;

  constructor(pool: Pool, limit: Limit, cluster: ClusterDb) {
    this.portal_auto_invalidate = pool.portal_auto_invalidate;
    this.#pool = pool;
    this.#limit = limit;
    this.#cluster = cluster;
  }

  many<T>(query: Sql): Promise<T[]> {
    return this.#limit(() => this.#pool.many<T>(query));
  }

  maybeOne<T>(query: Sql): Promise<T | undefined> {
    return this.#limit(() => this.#pool.maybeOne<T>(query));
  }

  one<T>(query: Sql): Promise<T> {
    return this.#limit(() => this.#pool.one<T>(query));
  }

  run(query: Sql): Promise<number> {
    return this.#limit(() => this.#pool.run(query));
  }

  tx<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#limit(() => this.#pool.tx(work));
  }

  alone<T>(query: Sql): Promise<T[]> {
    return this.#limit(() => this.#pool.alone<T>(query));
  }

  snapshot<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    return this.#limit(() => this.#pool.snapshot(work));
  }

  forProject(project: string): Db {
    return this.#cluster.forProject(project);
  }

  forEveryNode(): Queryable {
    return this.#cluster.forEveryNode();
  }
}

/**
 * Shared connections for each node, because a read that hangs delays all that were sent behind it.
 * Reads that belong to no project keep those of their own.
 */
export class ClusterPointReads implements PointReads {
  readonly #everyNode: Pipeline;
  readonly #placement: Placement;
  readonly #open: () => Pipeline;
  readonly #nodes = new Map<string, Pipeline>();

  constructor(everyNode: Pipeline, placement: Placement, open: () => Pipeline) {
    this.#everyNode = everyNode;
    this.#placement = placement;
    this.#open = open;
  }

  many<T>(query: Sql): Promise<T[]> {
    return this.#everyNode.many<T>(query);
  }

  maybeOne<T>(query: Sql): Promise<T | undefined> {
    return this.#everyNode.maybeOne<T>(query);
  }

  one<T>(query: Sql): Promise<T> {
    return this.#everyNode.one<T>(query);
  }

  run(query: Sql): Promise<number> {
    return this.#everyNode.run(query);
  }

  forProject(project: string): Queryable {
    const node = this.#placement.recall(project);
    if (node !== undefined) return this.#of(node);
    const find = async () => this.#of(await this.#placement.nodeOf(project));
    return {
      many: async <T>(query: Sql) => (await find()).many<T>(query),
      maybeOne: async <T>(query: Sql) => (await find()).maybeOne<T>(query),
      one: async <T>(query: Sql) => (await find()).one<T>(query),
      run: async (query) => (await find()).run(query),
    };
  }

  #of(node: string): Pipeline {
    const found = this.#nodes.get(node);
    if (found !== undefined) return found;
    const pipeline = this.#open();
    this.#nodes.set(node, pipeline);
    return pipeline;
  }

  async end(): Promise<void> {
    await Promise.all([...this.#nodes.values()].map((pipeline) => pipeline.end()));
  }
}
