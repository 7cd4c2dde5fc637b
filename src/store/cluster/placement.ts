// On which node of a cluster a project lives, as the cluster's own catalog says, so that work can
// be shared out by node. Routes nothing: the cluster does that. Plain PostgreSQL is one node.

import { groupBy } from "../../domain/group-by.ts";
import type { ProjectId } from "../../ids.ts";
import type { Queryable } from "../db/db.ts";
import { sql } from "../db/sql.ts";

/** Projects of one node that a statement can name, and that node. */
export type Part = { readonly node: string; readonly projects: readonly ProjectId[] };

export type Placement = {
  /** 1 on plain PostgreSQL. */
  readonly nodes: number;
  nodeOf(project: string): Promise<string>;
  /** The node of a project, without asking for it: undefined while it is not known. */
  recall(project: string): string | undefined;
  /** All projects, by node. */
  parts(): Promise<Part[]>;
  /** Something failed at a node: projects may have moved, so the catalog is read again. */
  doubt(): void;
};

const ONLY_NODE = "only";

export const ONE_NODE: Placement = {
  nodes: 1,
  nodeOf: async () => ONLY_NODE,
  recall: () => ONLY_NODE,
  parts: async () => [],
  doubt: () => {},
};

const REFRESH_MS = 30_000;
const KNOWN_MAX = 100_000;
const PART_MAX = 500;
/** The table whose shards stand for those of all: a project is whole on one node. */
const ANCHORS = sql`'project_anchors'::regclass`;

/** Whether projects are spread over the nodes of a cluster: asked once, at the start. */
export async function isSpread(db: Queryable): Promise<boolean> {
  const { citus } = await db.one<{ citus: boolean }>(sql`
    select exists (select 1 from pg_extension where extname = 'citus') as citus`);
  if (!citus) return false;
  const { spread } = await db.one<{ spread: boolean }>(sql`
    select exists (
      select 1
        from pg_dist_partition
       where logicalrelid = to_regclass('project_anchors') and partmethod = 'h') as spread`);
  return spread;
}

/** A project's shard stays the same until shards are split; which node has it may change. */
export class ClusterPlacement implements Placement {
  readonly #db: Queryable;
  /** The shard of each project that was asked for. */
  readonly #shards = new Map<string, number>();
  #nodes: ReadonlyMap<number, string> = new Map();
  #reading: Promise<void> | undefined;
  #stale = true;
  #refresh: NodeJS.Timeout | undefined;

  /** `db` must not wait for what waits for this: connections that no node's work can take. */
  constructor(db: Queryable) {
    this.#db = db;
  }

  get nodes(): number {
    return new Set(this.#nodes.values()).size;
  }

  recall(project: string): string | undefined {
    // Not waited for: what is known still holds, but for a shard that just moved.
    if (this.#stale) this.#read().catch(() => {});
    const shard = this.#shards.get(project);
    return shard === undefined ? undefined : this.#nodes.get(shard);
  }

  async nodeOf(project: string): Promise<string> {
    const known = this.recall(project);
    if (known !== undefined) return known;
    if (this.#nodes.size === 0) await this.#read();
    const { shard } = await this.#db.one<{ shard: number }>(sql`
      select get_shard_id_for_distribution_column(${ANCHORS}, ${project}::uuid) as shard`);
    if (!this.#nodes.has(shard)) await this.#read();
    if (this.#shards.size >= KNOWN_MAX) this.#shards.clear();
    this.#shards.set(project, shard);
    return this.#nodes.get(shard) ?? ONLY_NODE;
  }

  async parts(): Promise<Part[]> {
    await this.#read();
    const rows = await this.#db.many<{ shard: number; projects: ProjectId[] }>(sql`
      select get_shard_id_for_distribution_column(${ANCHORS}, p.id) as shard,
             array_agg(p.id::text) as projects
        from projects p
       group by 1`);
    const byNode = groupBy(rows, ({ shard }) => this.#nodes.get(shard) ?? ONLY_NODE);
    return [...byNode].flatMap(([node, shards]) => {
      const projects = shards.flatMap((shard) => shard.projects);
      const starts = Array.from({ length: Math.ceil(projects.length / PART_MAX) }, (_, i) => i);
      return starts.map((i) => ({
        node,
        projects: projects.slice(i * PART_MAX, (i + 1) * PART_MAX),
      }));
    });
  }

  doubt(): void {
    this.#stale = true;
  }

  /** Reads the nodes, once at a time: whoever needs them meanwhile shares the read. */
  #read(): Promise<void> {
    this.#stale = false;
    this.#reading ??= this.#readNodes()
      .catch((error) => {
        this.#stale = true;
        throw error;
      })
      .finally(() => {
        this.#reading = undefined;
      });
    return this.#reading;
  }

  async #readNodes(): Promise<void> {
    const rows = await this.#db.many<{ shard: number; node: string }>(sql`
      select s.shardid as shard, n.nodename || ':' || n.nodeport::text as node
        from pg_dist_shard s
        join pg_dist_placement p on p.shardid = s.shardid
        join pg_dist_node n on n.groupid = p.groupid and n.noderole = 'primary'
       where s.logicalrelid = ${ANCHORS}`);
    // After a split the old shards are gone, and with them what was known of their projects.
    const nodes = new Map(rows.map(({ shard, node }) => [shard, node]));
    if ([...this.#nodes.keys()].some((shard) => !nodes.has(shard))) this.#shards.clear();
    this.#nodes = nodes;
    clearTimeout(this.#refresh);
    this.#refresh = setTimeout(() => this.doubt(), REFRESH_MS).unref();
  }
}
