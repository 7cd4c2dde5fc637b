// The database as a cluster of nodes: the same pool and the same shared reads, with a limit for
// the projects of each node. On plain PostgreSQL nothing of this is used.

import type { Db, PointReads, Pool, Queryable, Tx } from "../db/db.ts";
import type { Pipeline } from "../db/pipeline.ts";
import type { Sql } from "../db/sql.ts";
import { WriteFault, type WriteFaultAt } from "../db/write-fault.ts";
import { NodeLimit, Semaphore } from "./node-limits.ts";
import { ClusterPlacement, ONE_NODE, type Placement } from "./placement.ts";

type Work<T> = () => Promise<T>;
/** Runs work within one limit. `write` is for work whose success shows that writes are taken. */
type Limit = { run<T>(work: Work<T>): Promise<T>; write<T>(work: Work<T>): Promise<T> };

export type LimitOptions = {
  /** Connections of the pool. */
  readonly max: number;
  /** How long one waits for a slot. */
  readonly wait_ms: number;
};

type Access = {
  readonly db: Db;
  readonly point: PointReads;
  readonly placement: Placement;
  /** Why writes have lately failed while the database answered, by node where there are several. */
  writeFaults(): readonly WriteFaultAt[];
};

/** The pool and the shared reads as requests use them: with limits by node on a cluster. */
export function limitByNode(
  pool: Pool,
  open: () => Pipeline,
  limits: LimitOptions,
  spread: boolean,
): Access & { end(): Promise<unknown> } {
  const shared = open();
  if (!spread) {
    const writeFaults = () => (pool.writeFault === undefined ? [] : [{ why: pool.writeFault }]);
    const end = () => shared.end();
    return { db: pool, point: shared, placement: ONE_NODE, writeFaults, end };
  }
  const placement = new ClusterPlacement(shared);
  const nodes = new Nodes(placement, limits);
  const point = new ClusterPointReads(shared, nodes, open);
  const db = new ClusterDb(pool, nodes, limits);
  const end = () => Promise.all([point.end(), shared.end()]);
  return { db, point, placement, writeFaults: () => db.writeFaults, end };
}

/** The nodes of the cluster, each with its limit, which all work for its projects shares. */
export class Nodes {
  readonly placement: Placement;
  readonly #limits: LimitOptions;
  readonly #nodes = new Map<string, NodeLimit>();

  constructor(placement: Placement, limits: LimitOptions) {
    this.placement = placement;
    this.#limits = limits;
  }

  limitOf(node: string): NodeLimit {
    const found = this.#nodes.get(node);
    if (found !== undefined) return found;
    const limit = new NodeLimit({
      slots: () => this.part(2),
      wait_ms: this.#limits.wait_ms,
      onAway: () => this.placement.doubt(),
    });
    this.#nodes.set(node, limit);
    return limit;
  }

  /** The share of connections, all divided by `of`; all of them where there is one node alone. */
  part(of: number): number {
    const { max } = this.#limits;
    return this.placement.nodes > 1 ? Math.max(1, Math.floor(max / of)) : max;
  }

  get writeFaults(): WriteFaultAt[] {
    return [...this.#nodes].flatMap(([node, { writeFault: why }]) =>
      why === undefined ? [] : [{ node, why }],
    );
  }
}

const FULL = "Too many calls that need every part of the database wait. Try again.";

/**
 * Half of the connections at most are for the projects of one node. What needs every node has a
 * quarter, because it waits for each of them: reads across projects, and writes of keys and
 * projects, of which each node has a copy. Reads of these copies take what is free.
 */
export class ClusterDb implements Db {
  readonly #pool: Pool;
  readonly #nodes: Nodes;
  readonly #everyNode: Db;
  readonly #writeFault = new WriteFault();

  constructor(pool: Pool, nodes: Nodes, { wait_ms }: LimitOptions) {
    this.#pool = pool;
    this.#nodes = nodes;
    const full = { all: FULL, own: FULL };
    const slots = new Semaphore({ all: () => nodes.part(4), left: () => 0, wait_ms, full });
    const run = <T>(work: Work<T>) => this.#writeFault.watch(() => slots.run(work));
    const write = async <T>(work: Work<T>) => {
      const result = await run(work);
      this.#writeFault.forget();
      return result;
    };
    this.#everyNode = new LimitedDb(pool, { run, write }, this);
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

  /** Faults by node, or else that of writes to all of them: the former say more of the same. */
  get writeFaults(): readonly WriteFaultAt[] {
    const { why } = this.#writeFault;
    const ofNodes = this.#nodes.writeFaults;
    return ofNodes.length === 0 && why !== undefined ? [{ why }] : ofNodes;
  }

  forProject(project: string): Db {
    const limit = async () => this.#nodes.limitOf(await this.#nodeOf(project));
    const run = async <T>(work: Work<T>) => (await limit()).run(project, work);
    const write = async <T>(work: Work<T>) => (await limit()).write(project, work);
    return new LimitedDb(this.#pool, { run, write }, this);
  }

  #nodeOf(project: string): string | Promise<string> {
    const { placement } = this.#nodes;
    return placement.recall(project) ?? placement.nodeOf(project);
  }

  forEveryNode(): Queryable {
    return this.#everyNode;
  }
}

/** The pool, with no more work at once than one limit allows. */
class LimitedDb implements Db {
  readonly #pool: Pool;
  readonly #limit: Limit;
  readonly #cluster: ClusterDb;

  constructor(pool: Pool, limit: Limit, cluster: ClusterDb) {
    this.#pool = pool;
    this.#limit = limit;
    this.#cluster = cluster;
  }

  many<T>(query: Sql): Promise<T[]> {
    return this.#limit.run(() => this.#pool.many<T>(query));
  }

  maybeOne<T>(query: Sql): Promise<T | undefined> {
    return this.#limit.run(() => this.#pool.maybeOne<T>(query));
  }

  one<T>(query: Sql): Promise<T> {
    return this.#limit.run(() => this.#pool.one<T>(query));
  }

  run(query: Sql): Promise<number> {
    return this.#limit.run(() => this.#pool.run(query));
  }

  tx<T>(work: (tx: Tx) => Promise<T>): Promise<T> {
    return this.#pool.tx(work, (attempt) => this.#limit.write(attempt));
  }

  alone<T>(query: Sql): Promise<T[]> {
    return this.#pool.alone<T>(query, (attempt) => this.#limit.write(attempt));
  }

  snapshot<T>(work: (tx: Queryable) => Promise<T>): Promise<T> {
    return this.#pool.snapshot(work, (attempt) => this.#limit.run(attempt));
  }

  forProject(project: string): Db {
    return this.#cluster.forProject(project);
  }

  forEveryNode(): Queryable {
    return this.#cluster.forEveryNode();
  }
}

/**
 * Shared connections for each node, because a read that hangs delays all that were sent behind it:
 * while the node is known to be away, none is sent. Reads that belong to no project keep
 * connections of their own.
 */
export class ClusterPointReads implements PointReads {
  readonly #everyNode: Pipeline;
  readonly #nodes: Nodes;
  readonly #open: () => Pipeline;
  readonly #reads = new Map<string, Pipeline>();

  constructor(everyNode: Pipeline, nodes: Nodes, open: () => Pipeline) {
    this.#everyNode = everyNode;
    this.#nodes = nodes;
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
    const ask = async <T>(read: (reads: Pipeline) => Promise<T>) => {
      const { placement } = this.#nodes;
      const node = placement.recall(project) ?? (await placement.nodeOf(project));
      return this.#nodes.limitOf(node).share(() => read(this.#of(node)));
    };
    return {
      many: (query) => ask((reads) => reads.many(query)),
      maybeOne: (query) => ask((reads) => reads.maybeOne(query)),
      one: (query) => ask((reads) => reads.one(query)),
      run: (query) => ask((reads) => reads.run(query)),
    };
  }

  #of(node: string): Pipeline {
    const found = this.#reads.get(node);
    if (found !== undefined) return found;
    const pipeline = this.#open();
    this.#reads.set(node, pipeline);
    return pipeline;
  }

  async end(): Promise<void> {
    await Promise.all([...this.#reads.values()].map((pipeline) => pipeline.end()));
  }
}
