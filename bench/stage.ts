// What a bench stands on: a durable PostgreSQL of its own, processes beside this one, and a tenant.

import { type ChildProcess, fork } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { initTenant, type Profile } from "../src/main.ts";
import { type Connection, Pool } from "../src/store/db.ts";
import { startEmbedded } from "../src/store/embedded.ts";
import { migrate } from "../src/store/migrate.ts";

const SLUGS = { org: "bench", workspace: "main", project: "live" };
const STATEMENT_MS = 600_000;

export type Stage = {
  readonly connection: Connection;
  readonly db: Pool;
  readonly profile: Profile;
  readonly folder: string;
  end(): Promise<void>;
};

/** The settings of `npm start`: fsync on, every commit on disk before it is answered. */
export async function openStage(): Promise<Stage> {
  const folder = await mkdtemp(join(tmpdir(), "dues-bench-"));
  const store = await startEmbedded({ folder, holder: `bench (${process.pid})` });
  const { connection } = store;
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
    await store.stop();
    await rm(folder, { recursive: true, force: true });
  };
  return { connection, db, profile, folder, end };
}

export function databaseUrl({ host = "", port, user, database }: Connection): string {
  return `postgres://${user}@/${database}?host=${encodeURIComponent(host)}&port=${port}`;
}

export type Side = { readonly url: string; stop(): Promise<void> };

/** A file of this folder as a process; it tells its address when it listens. */
export async function startSide(file: string, env: Record<string, string>): Promise<Side> {
  const child = run(file, env);
  const url = await new Promise<string>((resolve, reject) => {
    child.on("message", (message) => resolve((message as { url: string }).url));
    child.on("exit", (code) => reject(new Error(`${file} ended with ${code}.`)));
  });
  const stop = () =>
    new Promise<void>((resolve) => {
      child.on("exit", () => resolve());
      child.kill("SIGTERM");
    });
  return { url, stop };
}

export type Load = {
  readonly url: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly connections: number;
  readonly seconds: number;
  /** Events in one body; 1 sends a bare event. */
  readonly batch: number;
  readonly subscriptions: number;
};
export type LoadResult = {
  readonly requests: number;
  readonly refused: number;
  readonly per_second: number;
  readonly p50_ms: number;
  readonly p99_ms: number;
};

/** The load comes from a process of its own, so that it does not slow what it measures. */
export function load(wanted: Load): Promise<LoadResult> {
  const child = run("load", { LOAD: JSON.stringify(wanted) });
  return new Promise((resolve, reject) => {
    child.on("message", (message) => resolve(message as LoadResult));
    child.on("exit", (code) => code !== 0 && reject(new Error(`load ended with ${code}.`)));
  });
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
  return sorted[Math.floor(sorted.length / 2)] ?? 0;
}

export function print(label: string, value: string): void {
  process.stdout.write(`  ${label.padEnd(46)}${value}\n`);
}

/** Three significant digits are what a bench knows. */
export function figure(value: number): string {
  return value.toLocaleString("en", { maximumSignificantDigits: 3 });
}
