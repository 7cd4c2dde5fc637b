// How commands of the embedded PostgreSQL are run: as whom, under which guard, with which log.

import { type ChildProcess, execFile, spawn } from "node:child_process";
import { constants, copyFile, lstat, open, readFile, stat, truncate } from "node:fs/promises";
import { userInfo } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** Why the embedded PostgreSQL cannot be used, and what to do: a sentence for people. */
export class EmbeddedError extends Error {
  override readonly name = "EmbeddedError";
}

/** Whom PostgreSQL runs as; `switched` when this process is root and becomes someone else. */
export type Account = {
  readonly uid: number;
  readonly gid: number;
  readonly name: string | undefined;
  readonly switched: boolean;
};

export type Owner = { readonly uid: number; readonly gid: number };

/** What every refusal ends with: the way without an embedded server. */
export const ELSE = "set DATABASE_URL to a PostgreSQL server of version 15 or newer";
/** Root runs the server as one of these; the last one exists everywhere. */
const UNPRIVILEGED = ["postgres", "_postgres", "nobody"];
export const FAST_STOP_MS = 15_000;
const LOG_MAX_BYTES = 10 * 1024 * 1024;
const LOG_TAIL_BYTES = 2_000;

// The guard is the server's parent. It reads a pipe whose other end only we hold: when it closes,
// by stop() or because this process died, the server is stopped, so no orphan outlives a kill -9.
// SIGINT is repeated because one sent before PostgreSQL has set its handlers is lost. At the end
// SIGUSR1, which only the guard ignores, takes the watching part of it and its sleep away.
const GUARD = `
run=$1; shift
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
[ -z "$run" ] || rm -rf -- "$run"
exit $status
`;

const execute = promisify(execFile);

/** PostgreSQL refuses to run as root, which hands it to the data's owner or a system user. */
export async function chooseAccount(owner: Owner | undefined): Promise<Account> {
  if (process.getuid?.() !== 0) {
    try {
      const { uid, gid, username } = userInfo();
      return { uid, gid, name: username, switched: false };
    } catch {
      throw new EmbeddedError(
        `PostgreSQL needs a user with a name, and user id ${process.getuid?.()} has none in ` +
          `/etc/passwd. Add one, or ${ELSE}.`,
      );
    }
  }
  const known = await readAccounts();
  const account =
    owner === undefined || owner.uid === 0
      ? UNPRIVILEGED.map((name) => known.find((each) => each.name === name)).find(Boolean)
      : (known.find((each) => each.uid === owner.uid) ?? unnamed(owner));
  const able =
    account !== undefined && (await succeedsAs(account, ["/bin/sh", "-c", ":"]).catch(no));
  if (account !== undefined && able) return account;
  throw new EmbeddedError(
    "PostgreSQL refuses to run as root, and this root cannot become " +
      `${account?.name ?? "another user"}. Start dues as an ordinary user, or ${ELSE}.`,
  );
}

function no(): false {
  return false;
}

function unnamed({ uid, gid }: Owner): Account {
  return { uid, gid, name: undefined, switched: true };
}

async function readAccounts(): Promise<Account[]> {
  const lines = (await readFile("/etc/passwd", "utf8")).split("\n");
  return lines
    .map((line) => line.split(":"))
    .filter((fields) => fields.length >= 7)
    .map(([name, , uid, gid]) => ({ name, uid: Number(uid), gid: Number(gid), switched: true }));
}

/** A fixed environment: no PG* of the caller steers the server, no secret leaks to it. */
function childOptions(account: Account) {
  return {
    cwd: "/",
    env: { PATH: "/usr/bin:/bin:/usr/sbin:/sbin", LC_ALL: "C" },
    ...(account.switched ? { uid: account.uid, gid: account.gid } : {}),
  };
}

/** Whether `command` succeeds as the account. Throws when this process cannot become it. */
export async function succeedsAs(account: Account, command: readonly string[]): Promise<boolean> {
  const [file = "", ...args] = command;
  try {
    await execute(file, args, childOptions(account));
    return true;
  } catch (error) {
    const { code } = error as { code?: unknown };
    if (code === "EPERM" || code === "EINVAL") throw error;
    return false;
  }
}

export function canEnter(account: Account, folder: string): Promise<boolean> {
  return succeedsAs(account, ["/bin/sh", "-c", 'cd -- "$1"', "sh", folder]);
}

/** Runs a command under the guard, away from the terminal: Ctrl-C is for the service alone. */
export function spawnGuarded(
  account: Account,
  command: readonly string[],
  io: { log: number; run?: string },
): ChildProcess {
  const child = spawn("/bin/sh", ["-c", GUARD, "dues-guard", io.run ?? "", ...command], {
    ...childOptions(account),
    detached: true,
    stdio: ["pipe", io.log, io.log],
  });
  // Nothing is ever written to the pipe; a reset when the guard dies is told by its exit.
  child.stdin?.on("error", () => {});
  return child;
}

/** How a guarded command ended: "" for success, else a few words. */
export function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    child.once("error", (error) => resolve(error.message));
    child.once("exit", (code, signal) => {
      resolve(code === 0 ? "" : signal === null ? `exit code ${code}` : `signal ${signal}`);
    });
  });
}

export type Log = { readonly path: string; readonly fd: number; close(): Promise<void> };

/** The log is opened here and inherited, so the account needs no access to the folder. */
export async function openLog(folder: string): Promise<Log & { tail(): Promise<string> }> {
  const path = join(folder, "postgres.log");
  await boundLog(path);
  // Not through a link: root may be working in the folder of another user, who gets the file then.
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
      const said = (await readFile(path)).subarray(size);
      return said.subarray(-LOG_TAIL_BYTES).toString("utf8").trim();
    },
  };
}

/** PostgreSQL appends, so a truncated file simply begins again; one older part is kept. */
export async function boundLog(path: string): Promise<void> {
  const found = await lstat(path).catch(() => undefined);
  if (!found?.isFile() || found.size <= LOG_MAX_BYTES) return;
  await copyFile(path, `${path}.1`);
  await truncate(path, 0);
}
