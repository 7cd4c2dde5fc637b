// `dues upgrade-data`: moves the embedded database to another major version of PostgreSQL, by a
// backup of the old one that is loaded into a new folder.

import { join } from "node:path";
import type { Config } from "../config.ts";
import {
  asideName,
  dropFresh,
  findBinaries,
  freshFolder,
  majorVersions,
  swapData,
} from "../embedded/former.ts";
import { reachFormer } from "../embedded/start.ts";
import { loadBackup, type Restored } from "../store/backup/restore.ts";
import { type Reporter, writeBackup } from "./backup.ts";
import { noData, withStore } from "./open-store.ts";
import { progressOver, verify } from "./restore.ts";
import { StartError } from "./start-error.ts";

export type UpgradedData = {
  readonly from: string;
  readonly to: string;
  /** What was loaded; undefined when there was nothing to do. */
  readonly restored?: Restored;
  readonly backup?: string;
  /** The data as it was, which nobody needs any more once the service runs. */
  readonly former?: string;
};

/** Moves the data of the embedded PostgreSQL into a new folder of our major version. */
export async function upgradeData(
  config: Config,
  { from_binaries }: { readonly from_binaries: string | undefined },
  reporter: Reporter,
  now: Date,
): Promise<UpgradedData> {
  if (config.database_url !== undefined) {
    throw new StartError("This is for the embedded database, and DATABASE_URL is set.");
  }
  const folder = config.data_folder;
  const { data: from, ours: to } = await majorVersions(folder);
  if (from === undefined) throw noData(config);
  if (from === to) return { from, to };
  const former = await asideName(folder, from);
  const binaries = await findBinaries(from, from_binaries);
  const backup = await backUpFormer(config, binaries, reporter, now);
  const fresh = freshFolder(folder);
  try {
    const restored = await loadInto({ ...config, data_folder: fresh }, backup, reporter);
    await swapData(folder, fresh, former);
    return { from, to, restored, backup, former };
  } catch (error) {
    await dropFresh(fresh);
    throw error;
  }
}

/** Loads a backup. Nothing happened between the two, so nothing is held. */
async function loadInto(config: Config, file: string, reporter: Reporter): Promise<Restored> {
  const header = await verify(file, reporter);
  return withStore(config, { verb: "restore", say: reporter.say }, async ({ connection }) => {
    const onProgress = await progressOver(file, "loading", reporter);
    const options = { header, held_since: null, next_numbers: [], onProgress };
    return loadBackup(connection, file, options);
  });
}

async function backUpFormer(
  config: Config,
  binaries: string,
  reporter: Reporter,
  now: Date,
): Promise<string> {
  const stamp = now.toISOString().slice(0, 19).replaceAll(":", "");
  const file = join(config.data_folder, `before-upgrade-${stamp}.dues.gz`);
  const server = await reachFormer({
    folder: config.data_folder,
    binaries,
    application_name: `dues upgrade-data (process ${process.pid})`,
    say: reporter.say,
  });
  try {
    if (!server.started) {
      throw new StartError(`A service uses ${config.data_folder}. Stop it, then run this again.`);
    }
    const flags = { file, force: false, with_key: false };
    return (await writeBackup(config, server.connection, flags, reporter, now)).file;
  } finally {
    await server.stop();
  }
}
