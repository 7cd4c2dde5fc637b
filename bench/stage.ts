// What a bench stands on: a durable PostgreSQL, a fresh database with a tenant, and processes
// beside this one.

import { type ChildProcess, fork } from "node:child_process";
import { readFileSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { startEmbedded } from "../src/embedded/start.ts";
import { scheduler } from "../src/operations/emit.ts";
import { initTenant } from "../src/service/first-tenant.ts";
import type { Profile } from "../src/service/profile.ts";
import { type Connection, Pool } from "../src/store/db/db.ts";
import { migrate } from "../src/store/migration/migrate.ts";
import type { Load, LoadResult } from "./load.ts";

const SLUGS = { org: "bench", workspace: "main", project: "live" };
/** The actor of a bench, in which nobody looks at a portal. */
export const SCHEDULER = scheduler({ portal_auto_invalidate: false });
const STATEMENT_MS = 1_800_000;

export type Stage = {
  readonly connection: Connection;
  readonly db: Pool;
  readonly profile: Profile;
  /** For what a process on this stage keeps beside its database. */
  readonly folder: string;
  end(): Promise<void>;
};

type Server = { readonly connection: Connection; stop(): Promise<void> };

let server: Promise<Server> | undefined;
let stages = 0;
let opened = 0;
let version = "";

/** A database of its own. Several stages at once share one server, which ends with the last. */
export async function openStage(): Promise<Stage> {
  stages += 1;
  server ??= startServer();
  const { connection: base } = await server;
  const database = databaseName();
  await administer(base, `create database ${database}`);
  const drop = async () => {
    await administer(base, `drop database ${database} with (force)`);
    stages -= 1;
    if (stages > 0) return;
    await (await server)?.stop();
    server = undefined;
  };
  return furnish(within(base, database), drop);
}

export function databaseName(): string {
  opened += 1;
  return `dues_bench_${process.pid}_${opened}`;
}

/** Gives an empty database the schema and a tenant. */
export async function furnish(connection: Connection, drop: () => Promise<void>): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), "dues-bench-"));
  await migrate(connection);
  const db = new Pool(connection, {
    max: 4,
    statement_timeout_ms: STATEMENT_MS,
    lock_timeout_ms: 10_000,
    application_name: "dues bench",
  });
  const profile = await initTenant(db, SLUGS, "live", "", new Date());
  const end = async () => {
    await db.end();
    await drop();
    await rm(folder, { recursive: true, force: true });
  };
  return { connection, db, profile, folder, end };
}

/**
 * That of DATABASE_URL, else an embedded one with the settings of `npm start`: fsync on, every
 * commit on disk before it is answered.
 */
async function startServer(): Promise<Server> {
  const given = process.env.DATABASE_URL;
  if (given) return { connection: { connectionString: given }, stop: async () => {} };
  const folder = await mkdtemp(join(tmpdir(), "dues-bench-"));
  const store = await startEmbedded({ folder, application_name: `bench (${process.pid})` });
  await makeLogFiles(store.connection);
  const stop = async () => {
    await store.stop();
    await rm(folder, { recursive: true, force: true });
  };
  return { connection: store.connection, stop };
}

/** Each of 16 MB. */
const LOG_FILES = 64;

/**
 * After its first minutes a server writes its log into files that it has used before. A new one
 * makes a file every 25,000 events, for which all callers wait 30 ms.
 */
async function makeLogFiles(connection: Connection): Promise<void> {
  await administer(
    connection,
    `select pg_logical_emit_message(false, 'bench', repeat('.', 1 << 24))
       from generate_series(1, ${LOG_FILES})`,
  );
  // From here on what was written is not needed, and its files are.
  await administer(connection, "checkpoint");
}

export async function administer(connection: Connection, statement: string): Promise<void> {
  const client = new pg.Client({ ...connection });
  await client.connect();
  try {
    version = (await client.query("show server_version")).rows[0].server_version;
    await client.query(statement);
  } finally {
    await client.end();
  }
}

export function within(base: Connection, database: string): Connection {
  if (base.connectionString === undefined) return { ...base, database };
  const [, server] = /^(\w+:\/\/[^/?#]*)/.exec(base.connectionString) ?? [];
  const [, query = ""] = base.connectionString.split(/(?=\?)/);
  return { connectionString: `${server}/${database}${query}` };
}

/** The version of the server that the stages stood on. */
export function postgresVersion(): string {
  return version;
}

export function databaseUrl(connection: Connection): string {
  if (connection.connectionString !== undefined) return connection.connectionString;
  const { host = "", port, user, database } = connection;
  return `postgres://${user}@/${database}?host=${encodeURIComponent(host)}&port=${port}`;
}

export type Side = {
  readonly url: string;
  /** What it holds in memory now; undefined where the system does not tell. */
  rssMb(): number | undefined;
  /** What it has computed since its start; undefined where the system does not tell. */
  cpuMs(): number | undefined;
  stop(): Promise<void>;
};

/** A file of this folder as a process, which tells its address. */
export async function startSide(file: string, env: Record<string, string>): Promise<Side> {
  const child = run(file, env);
  const url = await new Promise<string>((resolve, reject) => {
    child.on("message", (message) => resolve((message as { url: string }).url));
    child.on("exit", (code) => reject(new Error(`${file} ended with ${code}.`)));
  });
  const stop = () =>
    new Promise<void>((resolve) => {
      const peak_mb = memoryOf(child.pid, "VmHWM");
      if (peak_mb !== undefined) peaks.push({ file, peak_mb });
      child.on("exit", () => resolve());
      child.kill("SIGTERM");
    });
  return {
    url,
    rssMb: () => memoryOf(child.pid, "VmRSS"),
    cpuMs: () => cpuOf(child.pid),
    stop,
  };
}

/** The service on this stage, as `dues serve` runs it. */
export function startService(
  stage: Stage,
  role: "api" | "worker" | "all",
  env: Record<string, string> = {},
): Promise<Side> {
  const settings = {
    DATABASE_URL: databaseUrl(stage.connection),
    DUES_DATA: stage.folder,
    PORT: "0",
    LOG_LEVEL: "error",
    DUES_ROLE: role,
    ...env,
  };
  return startSide("service", settings);
}

export type Peak = { readonly file: string; readonly peak_mb: number };
let peaks: Peak[] = [];

/** The most that each process ever held, of those that have ended since the last call. */
export function takePeaks(): Peak[] {
  const taken = peaks;
  peaks = [];
  return taken;
}

function memoryOf(pid: number | undefined, field: "VmRSS" | "VmHWM"): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, "utf8");
    const kb = new RegExp(`${field}:\\s+(\\d+) kB`).exec(status)?.[1];
    return kb === undefined ? undefined : Number(kb) / 1_024;
  } catch {
    return undefined;
  }
}

/** Linux counts in hundredths of a second, whatever the kernel's own tick is. */
const TICK_MS = 10;

function cpuOf(pid: number | undefined): number | undefined {
  try {
    const [, fields = ""] = readFileSync(`/proc/${pid}/stat`, "utf8").split(") ");
    const [user, system] = fields.split(" ").slice(11, 13);
    return (Number(user) + Number(system)) * TICK_MS;
  } catch {
    return undefined;
  }
}

export type Loading = {
  readonly result: Promise<LoadResult>;
  /** Ends it before its time; what is under way is still answered. */
  stop(): void;
};

/** The load comes from a process of its own, so that it does not slow what it measures. */
export function beginLoad(wanted: Load): Loading {
  const child = run("load", { LOAD: "1" });
  child.send(wanted);
  const result = new Promise<LoadResult>((resolve, reject) => {
    child.on("message", (message) => resolve(message as LoadResult));
    child.on("exit", (code) => code !== 0 && reject(new Error(`load ended with ${code}.`)));
  });
  // The result is asked for later, and a failure is heard of then.
  result.catch(() => {});
  return { result, stop: () => child.send("stop") };
}

export function load(wanted: Load): Promise<LoadResult> {
  return beginLoad(wanted).result;
}

export function headersOf({ profile }: Stage): Record<string, string> {
  return { authorization: `Bearer ${profile.token}`, "x-project-id": profile.project_id };
}

/** One call to the service, whose answer the bench looks at. */
export async function call<T>(stage: Stage, side: Side, path: string, body?: object): Promise<T> {
  const answer = await fetch(`${side.url}${path}`, {
    method: body === undefined ? "GET" : "POST",
    headers: { ...headersOf(stage), "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`);
  return (await answer.json()) as T;
}

function run(file: string, env: Record<string, string>): ChildProcess {
  return fork(join(import.meta.dirname, `${file}.js`), {
    env: { PATH: process.env.PATH ?? "", ...env },
    stdio: ["ignore", "inherit", "inherit", "ipc"],
    execArgv: process.execArgv,
  });
}

export function median(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
  const [low, high] = [Math.floor((sorted.length - 1) / 2), Math.floor(sorted.length / 2)];
  return ((sorted[low] ?? 0) + (sorted[high] ?? 0)) / 2;
}

export function print(label: string, value: string): void {
  process.stdout.write(`  ${label.padEnd(46)}${value}\n`);
}

/** Three significant digits are what a bench knows. */
export function figure(value: number): string {
  return value.toLocaleString("en", { maximumSignificantDigits: 3 });
}
