// The embedded PostgreSQL with real processes: starts, joins, refusals, kills and what they leave.

import { execFileSync, spawn } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import pg from "pg";
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { EmbeddedError, startEmbedded } from "../../src/embedded/start.ts";
import { type BuiltFile, buildFile } from "../support/built.ts";
import { quickFolder } from "../support/folders.ts";

vi.setConfig({ testTimeout: 60_000, hookTimeout: 60_000 });

const SOON = { timeout: 20_000, interval: 50 };
const SETTINGS = { fsync: "off", shared_buffers: "16MB" };
const ROUNDS = process.env.DUES_DEEP ? 20 : 5;

// What a process under test does: opens, tells, and stops when its input says so.
const PROGRAM = `
import { reachEmbedded, startEmbedded } from "./start.js";
const [how, folder] = process.argv.slice(2);
const tell = (line) => process.stdout.write(JSON.stringify(line) + "\\n");
const application_name = "dues " + how + " (process " + process.pid + ")";
try {
  const open = how === "serve" ? startEmbedded : reachEmbedded;
  const settings = ${JSON.stringify(SETTINGS)};
  const onExit = (exit) => tell({ exit });
  const opened = await open({ folder, application_name, settings, onExit });
  tell({ connection: opened.connection, started: opened.started });
  process.stdin.once("data", async () => {
    await opened.stop();
    tell({ stopped: true });
    process.exit(0);
  });
} catch (error) {
  tell({ refused: error.message, name: error.name });
}
`;

type Told = {
  connection?: pg.ClientConfig;
  started?: boolean;
  stopped?: boolean;
  exit?: string;
  refused?: string;
  name?: string;
};

let program: BuiltFile;
let folder: string;
let ready: string;
const children: Child[] = [];

class Child {
  readonly #process;
  readonly #lines: AsyncIterator<string>;

  constructor(how: "serve" | "init", data = folder) {
    this.#process = spawn(process.execPath, [join(program.folder, "child.js"), how, data], {
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#lines = createInterface(this.#process.stdout)[Symbol.asyncIterator]();
    children.push(this);
  }

  get pid(): number {
    return this.#process.pid ?? 0;
  }

  async told(): Promise<Told> {
    const { value } = await this.#lines.next();
    return value === undefined ? {} : JSON.parse(value);
  }

  stop(): void {
    this.#process.stdin.write("stop\n");
  }

  async kill(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const gone = once(this.#process, "exit");
    this.#process.kill("SIGKILL");
    await gone;
  }
}

beforeAll(async () => {
  program = await buildFile("src/embedded/start.ts");
  writeFileSync(join(program.folder, "child.js"), PROGRAM);
  ready = freshFolder();
  await (
    await startEmbedded({ folder: ready, application_name: "the tests", settings: SETTINGS })
  ).stop();
});

beforeEach(() => {
  folder = ready;
});

afterEach(async () => {
  for (const child of children.splice(0)) await child.kill();
  await expect.poll(() => processesOn(ready), SOON).toEqual([]);
});

afterAll(() => {
  removeFolder(ready);
  program.remove();
});

function freshFolder(): string {
  return mkdtempSync(join(quickFolder(), "dues-embedded-test-"));
}

/** Under root the data may be elsewhere, behind a link. */
function removeFolder(path: string): void {
  try {
    rmSync(readlinkSync(join(path, "postgres")), { recursive: true, force: true });
  } catch {
    // Not a link: the next line removes it.
  }
  rmSync(path, { recursive: true, force: true });
}

/** Living processes of the server, of its supervisor and of initdb. A zombie is dead. */
function processesOn(data: string): string[] {
  const cluster = join(data, "postgres");
  const real = existsSync(cluster) ? realpathSync(cluster) : cluster;
  return execFileSync("ps", ["-Aww", "-o", "stat=,pid=,args="], { encoding: "utf8" })
    .split("\n")
    .filter((line) => /^[^Z]/.test(line) && (line.includes(`${data}/`) || line.includes(real)));
}

function column(pid: number, name: string): number {
  return Number(execFileSync("ps", ["-o", `${name}=`, "-p", String(pid)], { encoding: "utf8" }));
}

function postmasterOf(data: string): number {
  return Number(readFileSync(join(data, "postgres", "postmaster.pid"), "utf8").split("\n")[0]);
}

async function query<T extends pg.QueryResultRow>(told: Told, text: string): Promise<T[]> {
  const client = new pg.Client(told.connection);
  // A server that recovers cuts its sessions: the query tells.
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query<T>(text)).rows;
  } finally {
    await client.end();
  }
}

test("the server answers on a private socket only, and keeps what it has committed", async () => {
  const child = new Child("serve");
  const told = await child.told();
  const shown = await query(
    told,
    `select name, setting from pg_settings where name in
      ('listen_addresses', 'full_page_writes', 'synchronous_commit', 'fsync', 'TimeZone', 'jit')
      order by name collate "C"`,
  );
  expect(shown).toEqual([
    { name: "TimeZone", setting: "UTC" },
    { name: "fsync", setting: "off" },
    { name: "full_page_writes", setting: "on" },
    { name: "jit", setting: "off" },
    { name: "listen_addresses", setting: "" },
    { name: "synchronous_commit", setting: "on" },
  ]);
  expect(statSync(String(told.connection?.host)).mode & 0o777).toBe(0o700);
});

test("without other settings nothing that protects the data is off", async () => {
  const opened = await startEmbedded({ folder, application_name: "the tests" });
  const told = { connection: opened.connection };
  expect(await query(told, "show fsync")).toEqual([{ fsync: "on" }]);
  await opened.stop();
});

test("a second start is refused with the name of the process that uses the folder", async () => {
  const first = new Child("serve");
  expect(await first.told()).toMatchObject({ started: true });
  expect(await new Child("serve").told()).toEqual({
    name: "EmbeddedError",
    refused:
      `The data folder ${folder} is in use by dues serve (process ${first.pid}). Stop it, or ` +
      "set DUES_DATA to another folder.",
  });
});

test("a command joins the running server and leaves it running", async () => {
  const serve = new Child("serve");
  const started = await serve.told();
  const command = new Child("init");
  expect(await command.told()).toEqual({ connection: started.connection, started: false });
  command.stop();
  expect(await command.told()).toEqual({ stopped: true });
  expect(await query(started, "select 1 as one")).toEqual([{ one: 1 }]);
});

test("a command starts a server where none runs, and stops it when it ends", async () => {
  const command = new Child("init");
  expect(await command.told()).toMatchObject({ started: true });
  command.stop();
  expect(await command.told()).toEqual({ stopped: true });
  expect(processesOn(folder)).toEqual([]);
});

test("a command that started the server waits for the others before it ends it", async () => {
  const first = new Child("init");
  const second = new Child("init");
  const tolds = [await first.told(), await second.told()];
  const [starter, other] = tolds[0]?.started ? [first, second] : [second, first];
  starter.stop();
  // The starter now waits for a lock that the other shares.
  const waiting =
    "select count(*)::int as n from pg_locks where locktype = 'advisory' and not granted";
  await expect.poll(() => query(tolds[0] ?? {}, waiting), SOON).toEqual([{ n: 1 }]);
  other.stop();
  expect(await other.told()).toEqual({ stopped: true });
  expect(await starter.told()).toEqual({ stopped: true });
});

test("a serve that finds a command's server waits for its end and then starts", async () => {
  const command = new Child("init");
  expect(await command.told()).toMatchObject({ started: true });
  const serve = new Child("serve");
  command.stop();
  expect(await command.told()).toEqual({ stopped: true });
  expect(await serve.told()).toMatchObject({ started: true });
});

test("the server is outside the process group that Ctrl-C reaches", async () => {
  const child = new Child("serve");
  await child.told();
  expect(column(postmasterOf(folder), "pgid")).not.toBe(column(child.pid, "pgid"));
});

test("after kill -9 of the starter no process and no socket stay", async () => {
  const child = new Child("serve");
  const { connection } = await child.told();
  expect(processesOn(folder)).not.toEqual([]);
  await child.kill();
  await expect.poll(() => processesOn(folder), SOON).toEqual([]);
  await expect.poll(() => existsSync(String(connection?.host)), SOON).toBe(false);
  expect(existsSync(join(folder, "postgres", "postmaster.pid"))).toBe(false);
});

test("a start right after kill -9 finds every committed row, again and again", async () => {
  for (let round = 1; round <= ROUNDS; round++) {
    const child = new Child("serve");
    const told = await child.told();
    await query(told, "create table if not exists kept (n int)");
    await query(told, `insert into kept values (${round})`);
    expect(await query(told, "select count(*)::int as n from kept")).toEqual([{ n: round }]);
    await child.kill();
  }
});

test("a folder whose starter, supervisor and server were all killed starts again", async () => {
  const child = new Child("serve");
  const { connection } = await child.told();
  const server = postmasterOf(folder);
  const supervisor = column(server, "ppid");
  process.kill(supervisor, "SIGKILL");
  process.kill(server, "SIGKILL");
  await child.kill();
  const next = new Child("serve");
  expect(await next.told()).toMatchObject({ started: true });
  expect(existsSync(String(connection?.host)), "the stale socket folder").toBe(false);
});

test("a server that lost its starter and its supervisor is ended by the next start", async () => {
  const child = new Child("serve");
  await child.told();
  const server = postmasterOf(folder);
  const supervisor = column(server, "ppid");
  const rest = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" })
    .split("\n")
    .map((line) => line.trim().split(/\s+/).map(Number))
    .filter(([pid, parent]) => parent === supervisor && pid !== server);
  for (const pid of [supervisor, ...rest.map(([pid = 0]) => pid)]) process.kill(pid, "SIGKILL");
  await child.kill();
  expect(await new Child("serve").told()).toMatchObject({ started: true });
  expect(postmasterOf(folder)).not.toBe(server);
});

test("a crash inside the server does not cost the starter its folder", async () => {
  const child = new Child("serve");
  const told = await child.told();
  const sessions = `select pid from pg_stat_activity where application_name like 'dues serve%'`;
  const [session] = await query<{ pid: number }>(told, sessions);
  process.kill(session?.pid ?? 0, "SIGKILL");
  const again = async () => (await query<{ pid: number }>(told, sessions).catch(() => []))[0]?.pid;
  await expect.poll(again, SOON).toSatisfy((pid) => pid !== undefined && pid !== session?.pid);
  expect((await new Child("serve").told()).refused).toContain(`process ${child.pid}`);
});

test("a server that is killed is started again by its starter, on the same socket", async () => {
  const child = new Child("serve");
  const told = await child.told();
  await query(told, "create table survived (n integer)");
  await query(told, "insert into survived values (1)");
  const killed = postmasterOf(folder);
  process.kill(killed, "SIGKILL");
  const count = () =>
    query<{ count: string }>(told, "select count(*) from survived").catch(() => []);
  await expect.poll(count, SOON).toEqual([{ count: "1" }]);
  expect(postmasterOf(folder)).not.toBe(killed);
  const refused = async () => (await new Child("serve").told()).refused;
  expect(await refused()).toContain(`process ${child.pid}`);
  await query(told, "drop table survived");
});

test("a command whose server dies is told so", async () => {
  const child = new Child("init");
  await child.told();
  process.kill(postmasterOf(folder), "SIGKILL");
  expect((await child.told()).exit).toContain("The embedded PostgreSQL cannot go on: it ended");
});

test("a kill while the database is made leaves nothing half-made", async () => {
  folder = freshFolder();
  try {
    const child = new Child("serve");
    const making = () =>
      readdirSync(folder).some((name) => existsSync(join(folder, name, "PG_VERSION")));
    await expect.poll(making, { timeout: 20_000, interval: 5 }).toBe(true);
    expect(existsSync(join(folder, "postgres"))).toBe(false);
    await child.kill();
    await expect.poll(() => processesOn(folder), SOON).toEqual([]);
    expect(await new Child("serve").told()).toMatchObject({ started: true });
    expect(readdirSync(folder).sort()).toEqual(["postgres", "postgres.log"]);
  } finally {
    for (const child of children) await child.kill();
    await expect.poll(() => processesOn(folder), SOON).toEqual([]);
    removeFolder(folder);
  }
});

test("two starts at once on an empty folder make one database that one of them uses", async () => {
  folder = freshFolder();
  try {
    const tolds = await Promise.all([new Child("serve").told(), new Child("serve").told()]);
    expect(tolds.filter((told) => told.started === true)).toHaveLength(1);
    expect(tolds.filter((told) => told.name === "EmbeddedError")).toHaveLength(1);
    expect(readdirSync(folder).sort()).toEqual(["postgres", "postgres.log"]);
  } finally {
    for (const child of children) await child.kill();
    await expect.poll(() => processesOn(folder), SOON).toEqual([]);
    removeFolder(folder);
  }
});

test("data of another PostgreSQL is refused, and its folder is named", async () => {
  const version = join(folder, "postgres", "PG_VERSION");
  const before = readFileSync(version, "utf8");
  writeFileSync(version, "9\n");
  try {
    const opening = startEmbedded({ folder, application_name: "the tests", settings: SETTINGS });
    await expect(opening).rejects.toThrow(EmbeddedError);
    await expect(opening).rejects.toThrow(realpathSync(join(folder, "postgres")));
  } finally {
    writeFileSync(version, before);
  }
});

test("a pid file with the number of some other process does not block the start", async () => {
  const stale = mkdtempSync(join(tmpdir(), "dues-pg-"));
  const lines = [process.pid, folder, 1, 5432, stale, "", "1 1", "ready"];
  writeFileSync(join(folder, "postgres", "postmaster.pid"), `${lines.join("\n")}\n`);
  expect(await new Child("serve").told()).toMatchObject({ started: true });
  expect(existsSync(stale), "the stale socket folder").toBe(false);
});
