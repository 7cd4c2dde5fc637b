// The status of a real cluster, with all nodes there and with one that is not.

import { randomUUID } from "node:crypto";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { afterEach, beforeEach, expect, test } from "vitest";
import { distribute } from "../../../src/store/cluster/distribute.ts";
import { type Cluster, readStatus } from "../../../src/store/cluster/status.ts";
import type { Connection } from "../../../src/store/db/db.ts";
import { migrate } from "../../../src/store/migration/migrate.ts";
import { addressOf, emptyCluster, hostOf } from "../../support/cluster.ts";
import { admin } from "../../support/database.ts";

const SHARDS = 4;
/** A node has 2 s to let us in. All of this shares the machine with other tests. */
const ANSWER_MAX_MS = 8_000;

let cluster: Awaited<ReturnType<typeof emptyCluster>>;
beforeEach(async () => {
  cluster = await emptyCluster();
});
afterEach(() => cluster.drop());

const PROJECTS = `
  insert into organizations values (md5('o')::uuid, 'acme', 'Acme', '2026-01-01');
  insert into workspaces values (md5('o')::uuid, md5('w')::uuid, 'main', 'Main', '2026-01-01');
  insert into projects (id, organization_id, workspace_id, slug, name, mode, created_at,
                        customer_prefix)
  select md5('p' || n)::uuid, md5('o')::uuid, md5('w')::uuid, 'p' || n, 'P', 'live', '2026-01-01',
         lpad(to_hex(n), 8, '0')
    from generate_series(1, 80) as n;
  insert into project_anchors select id from projects;`;

async function fill(): Promise<void> {
  const progress = { starting() {}, done() {} };
  await distribute(cluster.connection, { shards: SHARDS, progress });
  await admin(cluster.connection, PROJECTS);
}

async function statusAt(connection: Connection = cluster.connection): Promise<Cluster> {
  const status = await readStatus(connection);
  if (status.kind !== "cluster") throw new Error(`not a cluster: ${JSON.stringify(status)}`);
  return status;
}

test("shards, projects and bytes add up over the nodes, whichever is asked", async () => {
  await fill();
  const status = await statusAt();
  const nodes = [cluster.connection, ...cluster.workers];
  expect(status.nodes.map(({ address }) => address)).toEqual(nodes.map(hostOf));
  expect(status.nodes.map(({ role }) => role === "coordinator")).toEqual(nodes.map((_, i) => !i));
  const sum = (of: (node: Cluster["nodes"][number]) => number | null) =>
    status.nodes.reduce((total, node) => total + (of(node) ?? 0), 0);
  expect(sum(({ shards }) => shards)).toBe(SHARDS);
  expect(sum(({ projects }) => projects)).toBe(80);
  for (const { role, bytes, projects } of status.nodes) {
    expect(bytes).toBeGreaterThan(0);
    expect(projects > 0).toBe(role === "worker");
  }
  expect(status).toMatchObject({ local_tables: [], local_functions: [] });
  expect(status.projects_away).toEqual({ count: 0, names: [] });
  for (const worker of cluster.workers) {
    const { nodes: seen } = await statusAt(worker);
    expect(seen.map(({ projects }) => projects)).toEqual(
      status.nodes.map(({ projects }) => projects),
    );
  }
});

test("moves are planned only where the nodes do not carry alike", async () => {
  const worker = addressOf(cluster.workers[1] ?? {});
  const takesShards = (value: boolean) =>
    admin(
      cluster.connection,
      `select citus_set_node_property(${worker}, 'shouldhaveshards', ${value})`,
    );
  await takesShards(false);
  await fill();
  expect(await statusAt()).toMatchObject({ can_move_shards: true, planned_moves: 0 });
  await takesShards(true);
  expect(await statusAt()).toMatchObject({ can_move_shards: true, planned_moves: SHARDS / 2 });
  expect(await statusAt(cluster.workers[0])).toMatchObject({ planned_moves: null });
});

test("what is not distributed is named", async () => {
  await fill();
  await admin(
    cluster.connection,
    `create table badges (code text primary key);
     drop function try_lock(uuid, text);
     create function try_lock(scope uuid, key text) returns boolean
     language plpgsql as $$ begin return true; end $$;`,
  );
  const status = await statusAt();
  expect(status.local_tables).toEqual(["badges"]);
  expect(status.local_functions).toEqual(["try_lock(uuid,text)"]);
  expect(status.problems.map(({ code }) => code)).toContain("not_distributed");
});

test("a cluster that is not distributed is told to be, also without any schema yet", async () => {
  const empty = await statusAt();
  expect(empty).toMatchObject({ is_distributed: false, local_tables: [] });
  expect(empty.problems.map(({ code }) => code)).toContain("not_distributed");
  await migrate(cluster.connection);
  const status = await statusAt();
  expect(status.is_distributed).toBe(false);
  expect(status.local_tables).toContain("customers");
  expect(status.nodes.map(({ shards }) => shards)).toEqual(status.nodes.map(() => 0));
});

/** The node with this number is looked for at another port from now on. */
async function moveNode(index: number, port: number): Promise<void> {
  await admin(
    cluster.connection,
    `update pg_dist_node set nodename = '127.0.0.1', nodeport = ${port} where groupid = ${index}`,
  );
}

test("a node that is away is told, with its projects; the others go on", async () => {
  await fill();
  const before = await statusAt();
  await moveNode(1, 9);
  const status = await statusAt();
  const there = status.nodes.map(({ is_reachable }) => is_reachable);
  expect(there).toEqual(before.nodes.map((_, i) => i !== 1));
  const { count, names } = status.projects_away;
  expect(count).toBe(before.nodes[1]?.projects);
  expect(names).toHaveLength(Math.min(count, 20));
  expect(names[0]).toMatch(/^main\/p\d+$/);
  expect(status.problems.map(({ code }) => code)).toContain("node_away");
  expect(status).toMatchObject({ can_move_shards: false, planned_moves: null });
  expect(status.nodes[2]?.bytes).toBe(before.nodes[2]?.bytes);
});

test("a node that answers and takes no writes is told, with the reason", async () => {
  await fill();
  const worker = cluster.workers[0] ?? {};
  await admin(
    worker,
    `set citus.enable_ddl_propagation = off;
     do $$ begin
       execute format('alter database %I set default_transaction_read_only = on', current_database());
     end $$`,
  );
  const { nodes, problems, can_move_shards } = await statusAt();
  expect(nodes.map(({ is_reachable }) => is_reachable)).toEqual(nodes.map(() => true));
  const faults = nodes.map(({ write_fault }) => write_fault);
  expect(faults).toEqual([null, expect.stringContaining("read-only"), null]);
  expect(problems.map(({ code }) => code)).toEqual(["no_writes"]);
  expect(can_move_shards).toBe(false);
});

test("a commit whose other half is lost is seen at its node", async () => {
  await fill();
  const worker = cluster.workers[0] ?? {};
  const gid = randomUUID();
  await admin(worker, `begin; select txid_current(); prepare transaction '${gid}'`);
  try {
    const { nodes, problems } = await statusAt();
    expect(nodes.map(({ prepared }) => prepared?.count)).toEqual([0, 1, 0]);
    // It may be a commit under way for a minute.
    expect(problems).toEqual([]);
  } finally {
    await admin(worker, `rollback prepared '${gid}'`);
  }
});

test("a node that hangs is told as away, in a few seconds", async () => {
  await fill();
  const sockets: Socket[] = [];
  const silent = createServer((socket) => sockets.push(socket)).listen(0);
  await new Promise((resolve) => silent.once("listening", resolve));
  await moveNode(1, (silent.address() as AddressInfo).port);
  const start_ms = performance.now();
  const { nodes } = await statusAt();
  expect(performance.now() - start_ms).toBeLessThan(ANSWER_MAX_MS);
  expect(nodes[1]).toMatchObject({ is_reachable: false, bytes: null });
  expect(nodes[2]).toMatchObject({ is_reachable: true });
  silent.close();
  for (const socket of sockets) socket.destroy();
});
