// One server process of the embedded PostgreSQL: its configuration, its start and its end. Its
// files are made by data-folder.ts; which process may use it is decided in start.ts.

import { type ChildProcess, execFile } from "node:child_process";
import { chown, lstat, mkdir, mkdtemp, readFile, rm, rmdir, writeFile } from "node:fs/promises";
import { tmpdir, totalmem } from "node:os";
import { basename, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import {
  canEnter,
  EmbeddedError,
  exitOf,
  FAST_STOP_MS,
  type OsUser,
  openLog,
  rotateLog,
  spawnSupervised,
  succeedsAs,
} from "./child-process.ts";

/** The files of a database cluster, and what it takes to run a server on them. */
export type Cluster = {
  /** The data folder of dues; the log stands in it. */
  readonly folder: string;
  /** The real path of PostgreSQL's data directory. */
  readonly data_directory: string;
  /** The folder with bin/, lib/ and share/. */
  readonly binaries: string;
  readonly user: OsUser;
};

/** Settings of PostgreSQL by name, as in postgresql.conf. */
export type ServerSettings = Readonly<Record<string, string>>;

/** A server of any process, as its postmaster.pid describes it. */
export type RunningServer = {
  readonly pid: number;
  readonly socket_folder: string;
  readonly status: string;
};

/** A server that this process has started. */
export type StartedServer = {
  readonly socket_folder: string;
  /** Resolves with the reason when the server is gone, by stop() or by itself. */
  readonly ended: Promise<string>;
  stop(): Promise<void>;
};

/** The port, a part of the socket's name and no more: the server listens on no network address. */
export const PORT = 5432;
export const POLL_MS = 20;
const START_MAX_MS = 600_000;
/** PostgreSQL's words while processes of a server that was killed have not ended yet. */
const STILL_ENDING = /lock file "postmaster.pid" already exists|pre-existing shared memory block/;
const STILL_ENDING_MAX_MS = 10_000;
const LOG_CHECK_MS = 60_000;
/** sockaddr_un holds 104 bytes on macOS and 108 on Linux, the closing zero included. */
const SOCKET_PATH_MAX_BYTES = 103;
const SOCKET_FOLDER_PREFIX = "dues-pg-";
/** All that a socket folder may contain. */
const SOCKET_FOLDER_FILES = [
  "postgresql.conf",
  "pg_hba.conf",
  "pg_ident.conf",
  `.s.PGSQL.${PORT}`,
  `.s.PGSQL.${PORT}.lock`,
];

const execute = promisify(execFile);

/**
 * Starts the server; undefined when another process has just started one on the cluster. Given the
 * socket folder of a server that has ended, the new one is reached by the same path.
 */
export async function startServer(
  cluster: Cluster,
  settings: ServerSettings,
  socket_folder?: string,
): Promise<StartedServer | undefined> {
  const deadline = performance.now() + STILL_ENDING_MAX_MS;
  for (;;) {
    const started = await tryStart(cluster, settings, socket_folder);
    if (!("fault" in started)) return started;
    if ((await findRunningServer(cluster.data_directory)) !== undefined) return undefined;
    const { fault, log, said } = started;
    if (!STILL_ENDING.test(said) || performance.now() > deadline) {
      throw new EmbeddedError(
        `The embedded PostgreSQL did not start (${fault}). Set DATABASE_URL to use another ` +
          `server. Its log ${log} ends with:\n${said}`,
      );
    }
    await delay(POLL_MS);
  }
}

type FailedStart = { readonly fault: string; readonly log: string; readonly said: string };

async function tryStart(
  cluster: Cluster,
  settings: ServerSettings,
  former_socket_folder: string | undefined,
): Promise<StartedServer | FailedStart> {
  await removeStaleSocketFolder(cluster.data_directory);
  const socket_folder = await makeSocketFolder(cluster, settings, former_socket_folder);
  const log = await openLog(cluster.folder);
  try {
    const program = join(cluster.binaries, "bin", "postgres");
    const command = [
      program,
      "-D",
      cluster.data_directory,
      "-c",
      `config_file=${socket_folder}/postgresql.conf`,
    ];
    const child = spawnSupervised(cluster.user, command, { log: log.fd, socket_folder });
    const exit = exitOf(child);
    let fault: string | undefined;
    void exit.then((reason) => {
      fault = reason || "it was told to stop";
    });
    const deadline = performance.now() + START_MAX_MS;
    while (fault === undefined) {
      const found = await readPidFile(cluster.data_directory);
      if (found?.socket_folder === socket_folder && found.status === "ready") {
        return watchServer(cluster, { child, exit, socket_folder, log: log.path });
      }
      // The end of its input tells the supervisor to stop the server, here and in stop().
      if (performance.now() > deadline) child.stdin?.end();
      await delay(POLL_MS);
    }
    await removeSocketFolder(socket_folder);
    return { fault, log: log.path, said: await log.tail() };
  } finally {
    await log.close();
  }
}

/** Rotates the log while the server runs, and cleans up when it has ended. */
function watchServer(
  cluster: Cluster,
  server: { child: ChildProcess; exit: Promise<string>; socket_folder: string; log: string },
): StartedServer {
  const rotation = setInterval(() => void rotateLog(server.log).catch(() => {}), LOG_CHECK_MS);
  rotation.unref();
  const ended = server.exit.then(async (reason) => {
    clearInterval(rotation);
    // A server or a folder is left only when the supervisor itself was killed.
    const left = await findRunningServer(cluster.data_directory);
    if (left?.socket_folder === server.socket_folder) await endServer(cluster.data_directory, left);
    await removeSocketFolder(server.socket_folder);
    return reason;
  });
  return {
    socket_folder: server.socket_folder,
    ended,
    async stop() {
      server.child.stdin?.end();
      await ended;
    },
  };
}

/** The server that runs on the cluster, if one does. */
export async function findRunningServer(
  data_directory: string,
): Promise<RunningServer | undefined> {
  const found = await readPidFile(data_directory);
  if (found === undefined) return undefined;
  const { program, line } = await commandOf(found.pid);
  if (program === "") return undefined;
  if (program === "postgres" && line.includes(data_directory)) return found;
  // After a crash of the machine or of a container the pid may belong to an unrelated process, and
  // PostgreSQL would refuse to start while that one lives. If it is another postgres, PostgreSQL
  // itself decides.
  if (program !== "postgres") {
    await rm(join(data_directory, "postmaster.pid"), { force: true });
    await removeSocketFolder(found.socket_folder);
  }
  return undefined;
}

/** Ends a server whose starter and supervisor are gone, and removes its socket folder. */
export async function endServer(data_directory: string, server: RunningServer): Promise<void> {
  await signalToEnd(data_directory, server);
  await removeSocketFolder(server.socket_folder);
}

async function signalToEnd(data_directory: string, server: RunningServer): Promise<void> {
  for (const signal of ["SIGINT", "SIGQUIT"] as const) {
    const deadline = performance.now() + FAST_STOP_MS;
    try {
      process.kill(server.pid, signal);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ESRCH") return;
      throw new EmbeddedError(
        `A PostgreSQL that nobody uses still runs on ${data_directory} (process ${server.pid}) ` +
          `and cannot be ended from here. Run: kill -INT ${server.pid}`,
      );
    }
    while (performance.now() < deadline) {
      if ((await findRunningServer(data_directory))?.pid !== server.pid) return;
      await delay(POLL_MS);
    }
  }
}

/** The lines are pid, data directory, start, port, socket folder, address, key and status. */
async function readPidFile(data_directory: string): Promise<RunningServer | undefined> {
  const text = await readFile(join(data_directory, "postmaster.pid"), "utf8").catch(() => "");
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
    // A zombie has an empty command line. Where no process reaps it, PostgreSQL takes its pid for
    // a living server, so it must count as another program.
    return { program: program || "zombie", line };
  }
  const ask = (column: string) =>
    execute("ps", ["-ww", "-o", `${column}=`, "-p", String(pid)]).then(
      ({ stdout }) => stdout.trim(),
      () => "",
    );
  return { program: basename(await ask("comm")), line: await ask("command") };
}

/** A crash of the machine leaves the socket folder behind; the stale pid file names it. */
async function removeStaleSocketFolder(data_directory: string): Promise<void> {
  const found = await readPidFile(data_directory);
  if (found === undefined || (await findRunningServer(data_directory)) !== undefined) return;
  await removeSocketFolder(found.socket_folder);
}

/** Only known files are removed: the path may come from a file that another user can write. */
async function removeSocketFolder(socket_folder: string): Promise<void> {
  if (!basename(socket_folder).startsWith(SOCKET_FOLDER_PREFIX)) return;
  const found = await lstat(socket_folder).catch(() => undefined);
  if (found === undefined || !found.isDirectory()) return;
  for (const name of SOCKET_FOLDER_FILES) {
    await rm(join(socket_folder, name), { force: true }).catch(() => {});
  }
  await rmdir(socket_folder).catch(() => {});
}

/** Makes a private folder for the socket and the three configuration files. */
async function makeSocketFolder(
  cluster: Cluster,
  settings: ServerSettings,
  former: string | undefined,
): Promise<string> {
  const { user } = cluster;
  // Fails where somebody else has taken the name.
  if (former !== undefined) await mkdir(former, { mode: 0o700 });
  const path = former ?? (await makePrivateFolder(user));
  const text = {
    "postgresql.conf": await configuration(cluster, path, settings),
    "pg_hba.conf": "local all dues peer map=dues\n",
    "pg_ident.conf": ["root", user.name]
      .filter((name) => name !== undefined)
      .map((name) => `dues "${name}" dues\n`)
      .join(""),
  };
  for (const [name, body] of Object.entries(text)) {
    await writeFile(join(path, name), body, { mode: 0o600 });
    if (user.switched) await chown(join(path, name), user.uid, user.gid);
  }
  if (user.switched) await chown(path, user.uid, user.gid);
  return path;
}

async function makePrivateFolder(user: OsUser): Promise<string> {
  for (const base of new Set([tmpdir(), "/tmp", "/var/tmp", "/dev/shm"])) {
    const socket = join(base, `${SOCKET_FOLDER_PREFIX}123456`, `.s.PGSQL.${PORT}`);
    const isPlain = /^\/[\w./+-]*$/.test(base);
    if (!isPlain || Buffer.byteLength(socket) > SOCKET_PATH_MAX_BYTES) continue;
    if (user.switched && !(await canEnter(user, base))) continue;
    const made = await mkdtemp(join(base, SOCKET_FOLDER_PREFIX)).catch(() => undefined);
    if (made !== undefined) return made;
  }
  throw new EmbeddedError(
    "No temporary folder can hold PostgreSQL's socket. Set TMPDIR to a writable folder with " +
      "a short path.",
  );
}

async function configuration(
  cluster: Cluster,
  socket_folder: string,
  settings: ServerSettings,
): Promise<string> {
  const memory_mb = Math.floor(Math.min(totalmem(), containerMemory()) / 1024 / 1024);
  const shared_mb = Math.max(128, Math.min(1024, Math.floor(memory_mb / 8)));
  const all: ServerSettings = {
    data_directory: cluster.data_directory,
    hba_file: `${socket_folder}/pg_hba.conf`,
    ident_file: `${socket_folder}/pg_ident.conf`,
    listen_addresses: "",
    unix_socket_directories: socket_folder,
    unix_socket_permissions: "0700",
    port: String(PORT),
    cluster_name: "dues",
    max_connections: "100",
    // These three are the defaults, written out because nothing that was confirmed may be lost.
    fsync: "on",
    full_page_writes: "on",
    synchronous_commit: "on",
    shared_buffers: `${shared_mb}MB`,
    effective_cache_size: `${Math.max(128, Math.floor(memory_mb / 2))}MB`,
    // Few checkpoints: after each, every page that changes is written to the log as a whole.
    max_wal_size: "2GB",
    checkpoint_timeout: "15min",
    wal_compression: (await knowsLz4(cluster)) ? "lz4" : "pglz",
    // The cost on an SSD.
    random_page_cost: "1.1",
    // Statements are short: compiling one would take longer than running it.
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

/** The container's limit. Without one, Node gives 0 or a number above the machine's memory. */
function containerMemory(): number {
  return process.constrainedMemory() || Number.POSITIVE_INFINITY;
}

/** Whether these binaries were built with lz4. */
function knowsLz4({ user, binaries, data_directory }: Cluster): Promise<boolean> {
  const program = join(binaries, "bin", "postgres");
  const args = ["-D", data_directory, "-C", "wal_compression", "-c", "wal_compression=lz4"];
  return succeedsAs(user, [program, ...args]);
}
