// How programs of the embedded PostgreSQL are run: as which user, under a supervisor that stops
// them when this process dies, and with which log.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { constants, copyFile, lstat, open, readFile, stat, truncate } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** Why the embedded PostgreSQL cannot be used and what to do, in words for the operator. */
export class EmbeddedError extends Error {
  override readonly name = "EmbeddedError";
}

/** The user that PostgreSQL runs as. */
export type OsUser = {
  readonly uid: number;
  readonly gid: number;
  readonly name: string | undefined;
  /** True when this process is root and starts PostgreSQL as another user. */
  readonly switched: boolean;
};

/** The owner of a file. */
export type Owner = { readonly uid: number; readonly gid: number };

/** Ends the messages: what to do instead of using the embedded PostgreSQL. */
export const INSTEAD = "set DATABASE_URL to a PostgreSQL server of version 15 or newer";
/** Root runs the server as the first of these that exists; the last one exists everywhere. */
const UNPRIVILEGED_USERS = ["postgres", "_postgres", "nobody"];
export const FAST_STOP_MS = 15_000;
const LOG_MAX_BYTES = 10 * 1024 * 1024;
const LOG_TAIL_BYTES = 2_000;

// A shell that is the parent of the program. A subshell of it reads a pipe whose other end only
// this process has open. When the pipe closes, by stop() or because this process died, the subshell
// stops the program, so that none outlives a kill -9. It repeats SIGINT because PostgreSQL loses
// one that arrives before its handlers are set. When the program has ended, SIGUSR1 to the process
// group ends the subshell and its sleep; the shell itself ignores it.
const SUPERVISOR = `
socket_folder=$1; shift
exec 3<&0
"$@" </dev/null 3<&- &
child=$!
trap '' HUP INT TERM
{
  while read -r _; do :; done
  tries=0
  while [ $tries -lt ${FAST_STOP_MS / 1000} ]; do
    kill -INT $child 2>/dev/null || exit 0
    tries=$((tries + 1))
    sleep 1
  done
  kill -QUIT $child
} <&3 &
trap '' USR1
exec 3<&- </dev/null
wait $child
status=$?
kill -USR1 0
[ -z "$socket_folder" ] || rm -rf -- "$socket_folder"
exit $status
`;

const execute = promisify(execFile);

/** This process's user; for root, whom PostgreSQL refuses, the data's owner or a system user. */
export async function chooseUser(owner: Owner | undefined): Promise<OsUser> {
  if (process.getuid?.() !== 0) {
    try {
      const { uid, gid, username } = userInfo();
      return { uid, gid, name: username, switched: false };
    } catch {
      throw new EmbeddedError(
        `PostgreSQL needs a user with a name, and user id ${process.getuid?.()} has none in ` +
          `/etc/passwd. Add one, or ${INSTEAD}.`,
      );
    }
  }
  const known = await readUsers();
  const user =
    owner === undefined || owner.uid === 0
      ? UNPRIVILEGED_USERS.map((name) => known.find((each) => each.name === name)).find(Boolean)
      : (known.find((each) => each.uid === owner.uid) ?? userOf(owner));
  const canSwitch =
    user !== undefined && (await succeedsAs(user, ["/bin/sh", "-c", ":"]).catch(() => false));
  if (user !== undefined && canSwitch) return user;
  throw new EmbeddedError(
    "PostgreSQL refuses to run as root, and this root cannot become " +
      `${user?.name ?? "another user"}. Start dues as an ordinary user, or ${INSTEAD}.`,
  );
}

function userOf({ uid, gid }: Owner): OsUser {
  return { uid, gid, name: undefined, switched: true };
}

async function readUsers(): Promise<OsUser[]> {
  const lines = (await readFile("/etc/passwd", "utf8")).split("\n");
  return lines
    .map((line) => line.split(":"))
    .filter((fields) => fields.length >= 7)
    .map(([name, , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid), switched: true }));
}

/** A fixed environment: PG* variables of ours do not change the server, and it sees no secret. */
function childOptions(user: OsUser) {
  return {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C" },
    ...(user.switched ? { uid: user.uid, gid: user.gid } : {}),
  };
}

/** Whether `command` succeeds as the user. Throws when this process may not switch to it. */
export async function succeedsAs(user: OsUser, command: readonly string[]): Promise<boolean> {
  const [file = "", ...args] = command;
  try {
    await execute(file, args, childOptions(user));
    return true;
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === "EPERM" || code === "EINVAL") throw error;
    return false;
  }
}

export function canEnter(user: OsUser, folder: string): Promise<boolean> {
  return succeedsAs(user, ["/bin/sh", "-c", 'cd -- "$1"', "sh", folder]);
}

/** Runs a command under the supervisor, in its own process group, which Ctrl-C does not reach. */
export function spawnSupervised(
  user: OsUser,
  command: readonly string[],
  io: { log: number; socket_folder?: string },
): ChildProcess {
  const child = spawn(
    "/bin/sh",
    ["-c", SUPERVISOR, "dues-supervisor", io.socket_folder ?? "", ...command],
    {
      ...childOptions(user),
      detached: true,
      stdio: ["pipe", io.log, io.log],
    },
  );
  // The pipe can fail when the supervisor dies, and then its exit says so: exitOf().
  child.stdin?.on("error", () => {});
  return child;
}

/** How a supervised command ended: "" for success, else a few words. */
export function exitOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => {
      resolve(code === 0 ? "" : signal === null ? `exit code ${code}` : `signal ${signal}`);
    });
  });
}

export type Log = { readonly path: string; readonly fd: number; close(): Promise<void> };

/** The log is opened here and inherited, so that the user needs no access to the folder. */
export async function openLog(folder: string): Promise<Log & { tail(): Promise<string> }> {
  const path = join(folder, "postgres.log");
  await rotateLog(path);
  // Without following links: the folder may belong to another user, and root gives that user the
  // file below.
  const { O_APPEND, O_CREAT, O_NOFOLLOW, O_WRONLY } = constants;
  const file = await open(path, O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW, 0o600);
  const { size } = await file.stat();
  const owner = await stat(folder);
  if (process.getuid?.() === 0) await file.chown(owner.uid, owner.gid);
  return {
    path,
    fd: file.fd,
    close: () => file.close(),
    async tail() {
      const written = (await readFile(path)).subarray(size);
      return written.subarray(-LOG_TAIL_BYTES).toString("utf8").trim();
    },
  };
}

/** Keeps one older part. PostgreSQL opened the log to append, so it goes on in a truncated file. */
export async function rotateLog(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (!found?.isFile() || found.size <= LOG_MAX_BYTES) return;
  await copyFile(path, `${path}.1`);
  await truncate(path, 0);
}
