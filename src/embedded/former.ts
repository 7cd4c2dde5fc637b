// Data that another major version of PostgreSQL has written: which one that was, its programs where
// they are installed, and its place in the folder, which new data takes when it is complete.

import { execFile } from "node:child_process";
import { readFile, realpath, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { promisify } from "node:util";
import { chooseUser, EmbeddedError } from "./child-process.ts";
import { clusterOwner, findPackage } from "./data-folder.ts";
import type { Cluster } from "./server.ts";

const execute = promisify(execFile);

/** Where packages of PostgreSQL put a major version: Debian, Red Hat, Homebrew, Postgres.app. */
const PLACES = [
  "/usr/lib/postgresql/{}",
  "/usr/pgsql-{}",
  "/opt/homebrew/opt/postgresql@{}",
  "/usr/local/opt/postgresql@{}",
  "/Applications/Postgres.app/Contents/Versions/{}",
];

export type Versions = {
  /** The version of the data; undefined where there is none. */
  readonly data: string | undefined;
  /** The version of the PostgreSQL that we bring. */
  readonly ours: string;
};

export async function majorVersions(folder: string): Promise<Versions> {
  const { major } = await findPackage();
  const file = join(resolve(folder), "postgres", "PG_VERSION");
  const data = await readFile(file, "utf8").catch(() => "");
  return { data: data.trim() || undefined, ours: major };
}

/** The folder with the bin/ of that version: the given one, or where it is usually installed. */
export async function findBinaries(major: string, given: string | undefined): Promise<string> {
  const places =
    given === undefined
      ? PLACES.map((place) => place.replace("{}", major))
      : [resolve(given), dirname(resolve(given))];
  for (const place of places) {
    if ((await versionOf(join(place, "bin", "postgres"))) === major) return place;
  }
  throw new EmbeddedError(
    `The data was written by PostgreSQL ${major}, whose programs are not in ${places.join(", ")}. ` +
      `Install them (Debian: apt install postgresql-${major}) or name their folder with ` +
      '--from-binaries; or run "dues backup FILE" with the version of dues that wrote the data.',
  );
}

async function versionOf(program: string): Promise<string | undefined> {
  const said = await execute(program, ["--version"]).catch(() => undefined);
  return / (\d+)(\.|devel|beta|rc)/.exec(said?.stdout ?? "")?.[1];
}

/** The data as it is, with programs of its own version. */
export async function formerCluster(folder: string, binaries: string): Promise<Cluster> {
  const path = resolve(folder);
  const user = await chooseUser(await clusterOwner(path));
  const data_directory = await realpath(join(path, "postgres"));
  return { folder: path, data_directory, binaries, user };
}

/** The folder that new data is made in: the next start removes it should this process be killed. */
export function freshFolder(folder: string): string {
  return join(resolve(folder), `upgrade.new-${process.pid}-data`);
}

/** The name that the data of that version gets beside the new one, which must be free. */
export async function asideName(folder: string, major: string): Promise<string> {
  const aside = join(resolve(folder), `postgres-${major}`);
  if ((await stat(aside).catch(() => undefined)) === undefined) return aside;
  throw new EmbeddedError(`${aside} is there already. Move it away, then run this again.`);
}

/** Puts the new data into the place of the old, which gets its other name. */
export async function swapData(folder: string, fresh: string, aside: string): Promise<void> {
  const path = join(resolve(folder), "postgres");
  await rename(path, aside);
  await rename(join(fresh, "postgres"), path);
  await rm(fresh, { recursive: true, force: true });
}

/** Removes the new data, also where its folder is a link to it. */
export async function dropFresh(fresh: string): Promise<void> {
  const data = await realpath(join(fresh, "postgres")).catch(() => fresh);
  await rm(data, { recursive: true, force: true });
  await rm(fresh, { recursive: true, force: true });
}
