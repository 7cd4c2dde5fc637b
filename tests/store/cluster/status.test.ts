// What is wrong with a cluster, from the facts about it; and the answer where there is none.

import { expect, test } from "vitest";
import { type NodeStatus, problemsOf, readStatus } from "../../../src/store/cluster/status.ts";
import { emptyDatabase } from "../../support/database.ts";

const UP: NodeStatus = {
  address: "w1:5432",
  role: "worker",
  is_active: true,
  takes_shards: true,
  is_reachable: true,
  why: null,
  shards: 8,
  projects: 20,
  bytes: 1_000,
  wal_level: "logical",
  write_fault: null,
  prepared: { count: 1, oldest_s: 2 },
};
const UNASKED = { bytes: null, wal_level: null, write_fault: null, prepared: null };
const AWAY = { is_reachable: false, why: "Connection refused", ...UNASKED };
const ALL_WELL = {
  nodes: [UP],
  is_distributed: true,
  local_tables: [],
  local_functions: [],
  projects_away: { count: 0, names: [] },
};

const codesOf = (facts: Partial<typeof ALL_WELL> | object) =>
  problemsOf({ ...ALL_WELL, ...facts }).map(({ code }) => code);

test("nodes that answer, with everything distributed, are no problem", () => {
  expect(problemsOf(ALL_WELL)).toEqual([]);
});

test.each([
  ["a node that does not answer", { nodes: [UP, { ...UP, ...AWAY }] }, ["node_away"]],
  ["a disabled node", { nodes: [UP, { ...UP, is_active: false }] }, ["node_disabled"]],
  [
    "a disabled node that is stopped, to which nothing is sent",
    { nodes: [UP, { ...UP, ...AWAY, is_active: false }] },
    ["node_disabled"],
  ],
  ["a coordinator alone", { nodes: [{ ...UP, takes_shards: false }] }, ["no_worker"]],
  ["a cluster before the first run", { is_distributed: false }, ["not_distributed"]],
  ["a table of one node", { local_tables: ["coupons"] }, ["not_distributed"]],
  ["a function of one node", { local_functions: ["try_lock(uuid,text)"] }, ["not_distributed"]],
  [
    "a full disk",
    { nodes: [UP, { ...UP, write_fault: "No space left on device" }] },
    ["no_writes"],
  ],
  [
    "a commit that has waited for its other half for a minute",
    { nodes: [UP, { ...UP, prepared: { count: 2, oldest_s: 60 } }] },
    ["prepared"],
  ],
  ["wal_level replica", { nodes: [UP, { ...UP, wal_level: "replica" }] }, ["no_moves"]],
])("%s is a problem", (_, facts, codes) => {
  expect(codesOf(facts)).toEqual(codes);
});

test("calls for the projects of a node that is away are said to fail, where it has some", () => {
  const says = (projects: number) =>
    problemsOf({ ...ALL_WELL, nodes: [UP, { ...UP, ...AWAY, projects }] })[0]?.says;
  expect(says(3)).toContain("Calls for its projects are answered 503.");
  expect(says(0)).not.toContain("503");
});

test("a PostgreSQL without Citus is told as such", async () => {
  const { connection, drop } = await emptyDatabase();
  expect(await readStatus(connection)).toEqual({ kind: "plain" });
  await drop();
});

test("a database that is not there is told as such, with the reason", async () => {
  const status = await readStatus({ connectionString: "postgres://x@127.0.0.1:9/x" });
  expect(status).toEqual({ kind: "away", why: "connect ECONNREFUSED 127.0.0.1:9" });
});
