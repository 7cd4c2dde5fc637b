// One embedded PostgreSQL process: its settings, its guard, its start and its end. Where its files
// come from is embedded-home.ts; who may use it is embedded.ts.

import { type ChildProcess, execFile } from "node:child_process";
import { chown, lstat, mkdtemp, readFile, rm, rmdir, writeFile } from "node:fs/promises";
import { tmpdir, totalmem } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import {
  type Account,
  boundLog,
  canEnter,
  EmbeddedError,
  endOf,
  FAST_STOP_MS,
  openLog,
  spawnGuarded,
  succeedsAs,
} from "./child-process.ts";

export type Home = {
  readonly folder: string;
  /** The real path of PostgreSQL's data directory. */
  readonly cluster: string;
  /** Holds bin/, lib/ and share/. */
  readonly native: string;
  readonly account: Account;
};

export type Settings = Readonly<Record<string, string>>;

/** What a server says of itself in its postmaster.pid. */
export type Postmaster = {
  readonly pid: number;
  readonly socket_folder: string;
  readonly status: string;
};

export type Server = {
  readonly socket_folder: string;
  /** Resolves with the reason when the server is gone, by stop() or by itself. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
};

export const PORT = 5432;
export const POLL_MS = 20;
const START_MAX_MS = 600_000;
/** What PostgreSQL says while the last processes of a killed server are still going away. */
const REMAINS = /lock file "postmaster.pid" already exists|pre-existing shared memory block/;
const REMAINS_MAX_MS = 10_000;
const LOG_CHECK_MS = 60_000;
/** sockaddr_un holds 104 bytes on macOS and 108 on Linux, the closing zero included. */
const SOCKET_PATH_MAX_BYTES = 103;
const RUN_PREFIX = "dues-pg-";
const RUN_FILES = [
  "postgresql.conf",
  "pg_hba.conf",
  "pg_ident.conf",
  `.s.PGSQL.${PORT}`,
  `.s.PGSQL.${PORT}.lock`,
];

const execute = promisify(execFile);

/** Starts the server; undefined when another process was quicker on the same cluster. */
export async function launch(home: Home, settings: Settings): Promise<Server | undefined> {
  const deadline = performance.now() + REMAINS_MAX_MS;
  for (;;) {
    const started = await attempt(home, settings);
    if (!("fault" in started)) return started;
    if ((await findPostmaster(home.cluster)) !== undefined) return undefined;
    const { fault, log, said } = started;
    if (!REMAINS.test(said) || performance.now() > deadline) {
      throw new EmbeddedError(
        `The embedded PostgreSQL did not start (${fault}). Set DATABASE_URL to use another ` +
          `server. Its log ${log} ends with:\n${said}`,
      );
    }
    await delay(POLL_MS);
  }
}

type Failure = { readonly fault: string; readonly log: string; readonly said: string };

async function attempt(home: Home, settings: Settings): Promise<Server | Failure> {
  await clearStaleRun(home.cluster);
  const run = await makeRunFolder(home, settings);
  const log = await openLog(home.folder);
  try {
    const program = join(home.native, "bin", "postgres");
    const command = [program, "-D", home.cluster, "-c", `config_file=${run}/postgresql.conf`];
    const child = spawnGuarded(home.account, command, { log: log.fd, run });
    const end = endOf(child);
    let fault: string | undefined;
    void end.then((reason) => {
      fault = reason || "it was told to stop";
    });
    const deadline = performance.now() + START_MAX_MS;
    while (fault === undefined) {
      const found = await readPidFile(home.cluster);
      if (found?.socket_folder === run && found.status === "ready") {
        return supervise(home, { child, end, run, log: log.path });
      }
      if (performance.now() > deadline) child.stdin?.end();
      await delay(POLL_MS);
    }
    await removeRunFolder(run);
    return { fault, log: log.path, said: await log.tail() };
  } finally {
    await log.close();
  }
}

function supervise(
  home: Home,
  part: { child: ChildProcess; end: Promise<string>; run: string; log: string },
): Server {
  const bounding = setInterval(() => void boundLog(part.log).catch(() => {}), LOG_CHECK_MS);
  bounding.unref();
  const ended = part.end.then(async (reason) => {
    clearInterval(bounding);
    // Only when the guard itself was killed is there still a server or a folder to remove.
    const left = await findPostmaster(home.cluster);
    if (left?.socket_folder === part.run) await endPostmaster(home.cluster, left);
    await removeRunFolder(part.run);
    return reason;
  });
  return {
    socket_folder: part.run,
    ended,
    async stop() {
      part.child.stdin?.end();
      await ended;
    },
  };
}

/** The server that runs on the cluster, if one does. */
export async function findPostmaster(cluster: string): Promise<Postmaster | undefined> {
  const found = await readPidFile(cluster);
  if (found === undefined) return undefined;
  const { program, line } = await commandOf(found.pid);
  if (program === "") return undefined;
  if (program === "postgres" && line.includes(cluster)) return found;
  // After a crash of the machine or of a container the number may belong to someone else, and
  // PostgreSQL would refuse to start while that process lives. Another postgres is left to it.
  if (program !== "postgres") {
    await rm(join(cluster, "postmaster.pid"), { force: true });
    await removeRunFolder(found.socket_folder);
  }
  return undefined;
}

/** Ends a server whose starter and guard are gone, and clears up after it. */
export async function endPostmaster(cluster: string, postmaster: Postmaster): Promise<void> {
  await signalToEnd(cluster, postmaster);
  await removeRunFolder(postmaster.socket_folder);
}

async function signalToEnd(cluster: string, postmaster: Postmaster): Promise<void> {
  for (const signal of ["SIGINT", "SIGQUIT"] as const) {
    const deadline = performance.now() + FAST_STOP_MS;
    try {
      process.kill(postmaster.pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ESRCH") return;
      throw new EmbeddedError(
        `A PostgreSQL that nobody uses still runs on ${cluster} (process ${postmaster.pid}) ` +
          `and cannot be ended from here. Run: kill -INT ${postmaster.pid}`,
      );
    }
    while (performance.now() < deadline) {
      if ((await findPostmaster(cluster))?.pid !== postmaster.pid) return;
      await delay(POLL_MS);
    }
  }
}

/** Its lines: pid, data directory, start, port, socket folder, address, memory key, status. */
async function readPidFile(cluster: string): Promise<Postmaster | undefined> {
  const text = await readFile(join(cluster, "postmaster.pid"), "utf8").catch(() => "");
  const lines = text.split("\n");
  const pid = Number(lines[0]);
  if (!Number.isSafeInteger(pid) || pid <= 1) return undefined;
  return { pid, socket_folder: lines[4] ?? "", status: lines[7]?.trim() || "starting" };
}

/** What a process runs; "" when there is no such process. */
async function commandOf(pid: number): Promise<{ program: string; line: string }> {
  if (process.platform === "linux") {
    const line = await readFile(`/proc/${pid}/cmdline`, "utf8").catch(() => undefined);
    if (line === undefined) return { program: "", line: "" };
    // A backend renames itself "postgres: user database …".
    const program = basename(line.split("\0")[0] ?? "").replace(/:.*$/, "");
    // A zombie has no command line any more; where nobody buries it, it blocks the pid file.
    return { program: program || "zombie", line };
  }
  const ask = (column: string) =>
    execute("ps", ["-ww", "-o", `${column}=`, "-p", String(pid)]).then(
      ({ stdout }) => stdout.trim(),
      () => "",
    );
  return { program: basename(await ask("comm")), line: await ask("command") };
}

/** A crash of the machine leaves the socket's folder behind; the stale pid file names it. */
async function clearStaleRun(cluster: string): Promise<void> {
  const found = await readPidFile(cluster);
  if (found === undefined || (await findPostmaster(cluster)) !== undefined) return;
  await removeRunFolder(found.socket_folder);
}

/** Only our own names, one by one: the path may come from a file that another user can write. */
async function removeRunFolder(run: string): Promise<void> {
  if (!basename(run).startsWith(RUN_PREFIX)) return;
  const found = await lstat(run).catch(() => undefined);
  if (found === undefined || !found.isDirectory()) return;
  for (const name of RUN_FILES) await rm(join(run, name), { force: true }).catch(() => {});
  await rmdir(run).catch(() => {});
}

/** A fresh private folder for the socket and the three files that PostgreSQL reads. */
async function makeRunFolder(home: Home, settings: Settings): Promise<string> {
  const { account } = home;
  const run = await makePrivateFolder(account);
  const text = {
    "postgresql.conf": await configuration(home, run, settings),
    "pg_hba.conf": "local all dues peer map=dues\n",
    "pg_ident.conf": ["root", account.name]
      .filter((name) => name !== undefined)
      .map((name) => `dues "${name}" dues\n`)
      .join(""),
  };
  for (const [name, body] of Object.entries(text)) {
    await writeFile(join(run, name), body, { mode: 0o600 });
    if (account.switched) await chown(join(run, name), account.uid, account.gid);
  }
  if (account.switched) await chown(run, account.uid, account.gid);
  return run;
}

async function makePrivateFolder(account: Account): Promise<string> {
  for (const base of new Set([tmpdir(), "/tmp", "/var/tmp", "/dev/shm"])) {
    const socket = join(base, `${RUN_PREFIX}123456`, `.s.PGSQL.${PORT}`);
    const plain = /^\/[\w./+-]*$/.test(base);
    if (!plain || Buffer.byteLength(socket) > SOCKET_PATH_MAX_BYTES) continue;
    if (account.switched && !(await canEnter(account, base))) continue;
    const made = await mkdtemp(join(base, RUN_PREFIX)).catch(() => undefined);
    if (made !== undefined) return made;
  }
  throw new EmbeddedError(
    "No temporary folder can hold PostgreSQL's socket. Set TMPDIR to a writable folder with " +
      "a short path.",
  );
}

async function configuration(home: Home, run: string, settings: Settings): Promise<string> {
  const memory_mb = Math.floor(Math.min(totalmem(), containerMemory()) / 1024 / 1024);
  const shared_mb = Math.max(128, Math.min(1024, Math.floor(memory_mb / 8)));
  const all: Settings = {
    data_directory: home.cluster,
    hba_file: `${run}/pg_hba.conf`,
    ident_file: `${run}/pg_ident.conf`,
    listen_addresses: "",
    unix_socket_directories: run,
    unix_socket_permissions: "0700",
    port: String(PORT),
    cluster_name: "dues",
    max_connections: "100",
    fsync: "on",
    full_page_writes: "on",
    synchronous_commit: "on",
    shared_buffers: `${shared_mb}MB`,
    effective_cache_size: `${Math.max(128, Math.floor(memory_mb / 2))}MB`,
    max_wal_size: "2GB",
    checkpoint_timeout: "15min",
    wal_compression: (await knowsLz4(home)) ? "lz4" : "pglz",
    random_page_cost: "1.1",
    jit: "off",
    timezone: "UTC",
    log_timezone: "UTC",
    log_checkpoints: "off",
    // Details of constraint violations would put customers' data into the log.
    log_error_verbosity: "terse",
    ...settings,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = '${quoted(value)}'\n`);
  return `# Written at every start. Lasting changes: alter system set …\n${lines.join("")}`;
}

function quoted(value: string): string {
  return value.replaceAll("\\", "\\\\").replaceAll("'", "''");
}

/** What the container allows; without a limit the kernel gives 0 or a number beyond all memory. */
function containerMemory(): number {
  return process.constrainedMemory() || Number.POSITIVE_INFINITY;
}

function knowsLz4({ account, native, cluster }: Home): Promise<boolean> {
  const program = join(native, "bin", "postgres");
  const asks = ["-D", cluster, "-C", "wal_compression", "-c", "wal_compression=lz4"];
  return succeedsAs(account, [program, ...asks]);
}
