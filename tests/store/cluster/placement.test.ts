// Which node has a project: asked once, read again now and then, and nothing asked on one server.

import { expect, test } from "vitest";
import { ClusterPlacement, isSpread } from "../../../src/store/cluster/placement.ts";
import { Pool, type Queryable } from "../../../src/store/db/db.ts";
import type { Sql } from "../../../src/store/db/sql.ts";
import { emptyDatabase } from "../../support/database.ts";

/** A catalog of shards; a project's shard is the number it ends with. */
class Catalog implements Queryable {
  nodes: Record<number, string>;
  projects: string[] = [];
  asked: string[] = [];

  constructor(nodes: Record<number, string>) {
    this.nodes = nodes;
  }

  async many<T>({ text, values }: Sql): Promise<T[]> {
    if (text.includes("pg_dist_placement")) {
      this.asked.push("nodes");
      return Object.entries(this.nodes).map(([shard, node]) => ({ shard: +shard, node }) as T);
    }
    if (text.includes("array_agg")) {
      this.asked.push("projects");
      const shards = new Set(this.projects.map(shardOf));
      return [...shards].map((shard) => {
        const projects = this.projects.filter((project) => shardOf(project) === shard);
        return { shard, projects } as T;
      });
    }
    this.asked.push("shard");
    return [{ shard: shardOf(String(values[0])) } as T];
  }

  async maybeOne<T>(query: Sql): Promise<T | undefined> {
    return (await this.many<T>(query))[0];
  }

  async one<T>(query: Sql): Promise<T> {
    return (await this.many<T>(query))[0] as T;
  }

  async run(): Promise<number> {
    return 0;
  }
}

function shardOf(project: string): number {
  return Number(project.split(" ")[1]);
}

test("plain PostgreSQL is not spread", async () => {
  const { connection, drop } = await emptyDatabase();
  const db = new Pool(connection, {
    max: 1,
    statement_timeout_ms: 20_000,
    lock_timeout_ms: 5_000,
    application_name: "placement",
  });
  try {
    expect(await isSpread(db)).toBe(false);
  } finally {
    await db.end();
    await drop();
  }
});

test("a project is asked for once, and its node is known from then on", async () => {
  const catalog = new Catalog({ 1: "left", 2: "right" });
  const placement = new ClusterPlacement(catalog);
  expect(await placement.nodeOf("project 2")).toBe("right");
  expect(placement.nodes).toBe(2);
  expect(placement.recall("project 2")).toBe("right");
  expect(await placement.nodeOf("project 2")).toBe("right");
  expect(placement.recall("project 1")).toBeUndefined();
  expect(catalog.asked.filter((asked) => asked === "shard")).toHaveLength(1);
});

test("in doubt the catalog is read again: a shard that moved is found at its new node", async () => {
  const catalog = new Catalog({ 1: "left", 2: "right" });
  const placement = new ClusterPlacement(catalog);
  await placement.nodeOf("project 2");
  catalog.nodes = { 1: "left", 2: "left" };
  expect(placement.recall("project 2")).toBe("right");
  placement.doubt();
  placement.recall("project 2");
  await expect.poll(() => placement.recall("project 2")).toBe("left");
});

test("after a split the shard of a project is asked for again", async () => {
  const catalog = new Catalog({ 2: "right" });
  const placement = new ClusterPlacement(catalog);
  await placement.nodeOf("project 2");
  catalog.nodes = { 3: "left", 4: "right" };
  placement.doubt();
  placement.recall("project 2");
  await expect.poll(() => placement.recall("project 2")).toBeUndefined();
});

test("parts name each project once, with its node, some hundred at a time", async () => {
  const catalog = new Catalog({ 1: "left", 2: "right", 3: "left" });
  catalog.projects = Array.from({ length: 1_500 }, (_, n) => `project ${1 + (n % 3)} ${n}`);
  const parts = await new ClusterPlacement(catalog).parts();
  const named = parts.flatMap(({ projects }) => projects);
  expect([...named].sort()).toEqual([...catalog.projects].sort());
  expect(parts.every(({ projects }) => projects.length <= 500)).toBe(true);
  for (const { node, projects } of parts) {
    for (const project of projects) expect(catalog.nodes[shardOf(project)]).toBe(node);
  }
});
