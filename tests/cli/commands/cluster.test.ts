// `dues cluster` where there is no cluster: what it answers, and with which exit code; and how it
// shows what a cluster says.

import { afterAll, beforeAll, expect, test } from "vitest";
import {
  DistributeProgress,
  distributionText,
  exitOf,
  MoveProgress,
  rebalanceText,
  statusText,
} from "../../../src/cli/commands/cluster.ts";
import type { Io } from "../../../src/cli/terminal/io.ts";
import { byteSize, wrapped } from "../../../src/cli/terminal/output.ts";
import { printable } from "../../../src/cli/terminal/visible.ts";
import type { ClusterStatus, RebalanceProgress } from "../../../src/service/cluster.ts";
import { SHARDS } from "../../../src/store/migration/distribution.ts";
import { databaseUrl, emptyDatabase } from "../../support/database.ts";
import { type Shell, startShell } from "../support.ts";

let shell: Shell;

beforeAll(async () => {
  shell = await startShell();
});
afterAll(() => shell.close());

test.each(["distribute", "status", "rebalance"])(
  "%s: the embedded database is no cluster: 1, with what to do instead",
  async (verb) => {
    const ran = await shell.process(["cluster", verb]);
    expect(ran.code).toBe(1);
    expect(ran.err).toMatch(/^dues: A cluster is named by DATABASE_URL, which is not set\./);
    expect(ran.out).toBe("");
  },
);

test.each(["distribute", "rebalance"])(
  "%s: a PostgreSQL without Citus is refused: 1, with what to do instead",
  async (verb) => {
    const { connection, drop } = await emptyDatabase();
    const env = { DATABASE_URL: databaseUrl(connection) };
    const ran = await shell.process(["cluster", verb, "--json"], { env });
    expect(ran.code).toBe(1);
    expect(ran.err).toMatch(/^dues: DATABASE_URL names a PostgreSQL without Citus/);
    expect(ran.out).toBe("");
    await drop();
  },
);

test("the status of a PostgreSQL without Citus is no failure: 0, with what it means", async () => {
  const { connection, drop } = await emptyDatabase();
  const env = { DATABASE_URL: databaseUrl(connection) };
  const ran = await shell.process(["cluster", "status"], { env });
  expect(ran).toMatchObject({ code: 0, err: "" });
  expect(ran.out).toMatch(/without Citus: all projects are on this one/);
  const { out } = await shell.process(["cluster", "status", "--json"], { env });
  expect(JSON.parse(out)).toEqual({ kind: "plain" });
  await drop();
});

test("the status of a database that is not there: 69, with the reason", async () => {
  const env = { DATABASE_URL: "postgres://x@127.0.0.1:9/x" };
  const ran = await shell.process(["cluster", "status"], { env });
  expect(ran.code).toBe(69);
  expect(ran.out).toContain("does not answer: connect ECONNREFUSED");
});

test.each(["0", "1025", "many"])("--shards %s is a usage error", async (shards) => {
  const ran = await shell.run(["cluster", "distribute", "--shards", shards]);
  expect(ran.code).toBe(64);
  expect(ran.err).toContain("Takes a whole number from 1 to 1024.");
});

test("the help names the number of shards that is taken without the flag", async () => {
  const { out } = await shell.run(["cluster", "distribute", "--help"]);
  expect(out.replace(/\s+/g, " ")).toContain(`(default: ${SHARDS})`);
});

test("a distribution says what it did, and warns in lines of at most 80 columns", () => {
  const done = { applied: ["0001_first.sql"], tables: [], functions: [], shards: 16 };
  const warning = `--shards 32 was not taken: ${"and this is why, ".repeat(10)}and what to do.`;
  const text = distributionText(screen(), { ...done, warnings: [warning] });
  expect(text).toMatch(/^Applied 1 migration\.\nEverything is distributed\.\nWarning: --shards 32/);
  expect(linesOf(text).filter((line) => line.length > 80)).toEqual([]);
  expect(text.replace(/\s+/g, " ")).toContain(warning);
});

test("in a pipe a distribution tells each migration that is applied", () => {
  const io = screen();
  const progress = new DistributeProgress(io);
  progress.migrating("0001_first.sql", 0, 2);
  progress.migrated("0001_first.sql", 1_240);
  progress.migrating("0002_second.sql", 1, 2);
  expect(io.text).toBe("applied 0001_first.sql, 1.2 s\n");
});

test("on a terminal a distribution shows which migration is being applied", () => {
  const io = screen(true);
  new DistributeProgress(io).migrating("0002_second.sql", 1, 2);
  expect(io.text).toBe(`\r\u001b[K[${"#".repeat(12)}${".".repeat(12)}] 0002_second.sql`);
});

test.each([
  [0, "0 B"],
  [1_023, "1023 B"],
  [1_024, "1 kB"],
  [1_536, "1.5 kB"],
  [1_024 ** 2, "1 MB"],
  [3.4 * 1_024 ** 3, "3.4 GB"],
  [1_024 ** 6, "1024 PB"],
])("%d bytes are shown as %s", (bytes, shown) => {
  expect(byteSize(bytes)).toBe(shown);
});

type Cluster = Extract<ClusterStatus, { kind: "cluster" }>;

const NODE: Cluster["nodes"][number] = {
  address: "worker-1.example:5432",
  role: "worker",
  is_active: true,
  takes_shards: true,
  is_reachable: true,
  why: null,
  shards: 1_024,
  projects: 1_000_000,
  bytes: 1_023.9 * 1_024 ** 3,
  wal_level: "logical",
  write_fault: null,
  prepared: { count: 0, oldest_s: 0 },
};
const AWAY = { ...NODE, is_reachable: false, why: "Connection refused", bytes: null };
const CLUSTER: Cluster = {
  kind: "cluster",
  nodes: [{ ...NODE, role: "coordinator", takes_shards: false, shards: 0 }, NODE],
  is_distributed: true,
  local_tables: [],
  local_functions: [],
  projects_away: { count: 0, names: [] },
  can_move_shards: true,
  planned_moves: 0,
  problems: [],
};
const BROKEN: Cluster = {
  ...CLUSTER,
  nodes: [...CLUSTER.nodes, AWAY, { ...NODE, is_active: false }],
  projects_away: { count: 21, names: Array.from({ length: 20 }, (_, i) => `main/p${i}`) },
  can_move_shards: false,
  planned_moves: null,
  problems: [{ code: "node_away", says: `Node away. ${"It means a lot. ".repeat(20)}` }],
};

/** What a command writes, as one text. */
function screen(progress = false): Io & { text: string } {
  const shown = { text: "", progress, color: false };
  const write = (text: string) => {
    shown.text += printable(text);
  };
  return Object.assign(shown, { out: write, err: write }) as unknown as Io & { text: string };
}

const linesOf = (text: string) => text.split("\n");

test("a status is a table and sentences, at most 80 columns wide", () => {
  for (const status of [CLUSTER, BROKEN]) {
    const lines = linesOf(statusText(screen(), status));
    expect(lines.filter((line) => line.length > 80)).toEqual([]);
    expect(lines[0]).toMatch(/^NODE +ROLE +STATE +SHARDS +PROJECTS +SIZE$/);
  }
});

test("a status says what is wrong, and which projects are away", () => {
  const text = statusText(screen(), BROKEN);
  expect(text).toMatch(/5432 +worker +away +1024 +1000000 +-\n/);
  expect(text).toMatch(/5432 +worker +disabled /);
  expect(text).toContain("\nWrong: Node away. It means a lot.");
  expect(text.replace(/\s+/g, " ")).toContain("21 projects: main/p0, main/p1,");
  expect(text).toContain("main/p19 and 1 more.");
  expect(text).not.toContain("Everything is distributed.");
});

test("a status names the nodes that a rebalance would fill and empty", () => {
  const nodes = [
    { ...NODE, address: "new:1", shards: 0 },
    { ...NODE, address: "old:2", takes_shards: false },
  ];
  const uneven = { ...CLUSTER, nodes, planned_moves: 3 };
  const text = statusText(screen(), uneven).replace(/\s+/g, " ");
  expect(text).toContain("new:1 has none yet. old:2 is to give its shards away.");
  expect(statusText(screen(), CLUSTER)).toContain("Everything is distributed.");
});

test("a status says that shards can move only where a rebalance would move some", () => {
  const textOf = (planned_moves: number | null) =>
    statusText(screen(), { ...CLUSTER, planned_moves });
  expect(textOf(2)).toContain("Shards can move. dues cluster rebalance moves them.");
  for (const none of [0, null]) expect(textOf(none)).not.toContain("rebalance");
});

test("a node that is away goes before all else that is wrong", () => {
  const problem = (...codes: Cluster["problems"][number]["code"][]) =>
    exitOf({ ...CLUSTER, problems: codes.map((code) => ({ code, says: "" })) });
  expect(problem()).toBe("done");
  expect(problem("not_distributed")).toBe("failed");
  expect(problem("no_moves", "node_away")).toBe("unreachable");
});

const STEP: RebalanceProgress = {
  steps: 6,
  steps_done: 1,
  copying: { bytes: 2_048, bytes_done: 1_024, phase: "catching up" },
  failure: null,
};

test("in a pipe each step of a rebalance is told once, and each failure", () => {
  const io = screen();
  const progress = new MoveProgress(io);
  const failure = { tries: 1, says: "wal_level is low." };
  for (const state of [STEP, STEP, { ...STEP, failure }, { ...STEP, failure }]) {
    progress.show(state);
  }
  progress.show({ ...STEP, failure: { ...failure, tries: 2 } });
  progress.show({ ...STEP, steps_done: 2, copying: null });
  progress.end();
  expect(linesOf(io.text)).toEqual([
    "1 of 6 steps, 1 kB of 2 kB, catching up",
    "A step failed, 1 time so far, and is tried again: wal_level is low.",
    "A step failed, 2 times so far, and is tried again: wal_level is low.",
    "2 of 6 steps",
    "",
  ]);
});

test("on a terminal a rebalance is one line that is drawn anew", () => {
  const io = screen(true);
  new MoveProgress(io).show(STEP);
  expect(io.text).toBe(
    `\r\u001b[K[${"#".repeat(4)}${".".repeat(20)}] 1 of 6 steps, 1 kB of 2 kB, catching up`,
  );
});

test("a rebalance says how it ended, or that it goes on and how to end it", () => {
  const ran = { strategy: "by_disk_size", job_id: 1, was_running: false } as const;
  const textOf = (state: "finished" | "left_running" | "nothing_to_move") =>
    rebalanceText({ ...ran, state, steps: 6, steps_done: 2 }).replace(/\s+/g, " ");
  expect(textOf("finished")).toMatch(/^Done: 6 steps\./);
  expect(textOf("left_running")).toMatch(/goes on in the cluster \(2 of 6 .*citus_rebalance_stop/);
  expect(textOf("nothing_to_move")).toMatch(/nothing to move/);
});

test("prose is broken between words", () => {
  const text = `${"word ".repeat(40)}${"x".repeat(90)} end`;
  const lines = linesOf(wrapped(text).trimEnd());
  expect(lines.join(" ")).toBe(text);
  expect(lines.filter((line) => line.length > 80)).toEqual(["x".repeat(90)]);
});
