// `dues backup`: writes the whole database into a file, which is there when it is complete, or into
// a stream.

import { once } from "node:events";
import { createWriteStream } from "node:fs";
import { rename, rm, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import type { Writable } from "node:stream";
import type { Config } from "../config.ts";
import { dropOnSignal, syncFolder } from "../drafts.ts";
import { readSecretKey } from "../key-file.ts";
import { type OnBackupProgress, type TakenBackup, takeBackup } from "../store/backup/backup.ts";
import type { Connection } from "../store/db/db.ts";
import { exists, hasKey, withStore } from "./open-store.ts";
import { StartError } from "./start-error.ts";

/** Words for the operator, and the part of the work that is done, from 0 to 1. */
export type Reporter = {
  say(line: string): void;
  progress(what: string, part: number): void;
};

export type BackupFlags = {
  readonly file: string;
  readonly force: boolean;
  readonly with_key: boolean;
};

export type WrittenBackup = TakenBackup & {
  readonly file: string;
  readonly bytes: number;
  readonly with_key: boolean;
};

/** Writes a backup into a file, which is there when it is complete, and not before. */
export async function backUp(
  config: Config,
  flags: BackupFlags,
  reporter: Reporter,
  now: Date,
): Promise<WrittenBackup> {
  await checkFolder(flags);
  await checkFree(flags);
  return withStore(config, { verb: "backup", say: reporter.say }, ({ connection }) =>
    writeBackup(config, connection, flags, reporter, now),
  );
}

/** Writes a backup into a stream that is there, such as standard output. */
export async function backUpTo(
  config: Config,
  target: Writable,
  { with_key }: Pick<BackupFlags, "with_key">,
  reporter: Reporter,
  now: Date,
): Promise<TakenBackup> {
  const options = await backupOptions(config, with_key, reporter.progress, now);
  return withStore(config, { verb: "backup", say: reporter.say }, ({ connection }) =>
    takeBackup(connection, target, options),
  );
}

async function backupOptions(
  config: Config,
  with_key: boolean,
  onProgress: OnBackupProgress,
  now: Date,
) {
  if (!with_key) return { now, onProgress };
  if (!(await hasKey(config))) {
    throw new StartError(
      "There is no key to put into it: set SECRET_KEY, or leave --with-key out.",
    );
  }
  return { now, onProgress, secret_key: readSecretKey(config) };
}

/** Refuses a folder that is not there, before the database is opened. */
async function checkFolder({ file }: BackupFlags): Promise<void> {
  const folder = dirname(resolve(file));
  const found = await stat(folder).catch(() => undefined);
  if (found?.isDirectory()) return;
  throw new StartError(
    found === undefined
      ? `The folder ${folder} does not exist. Make it, or name another file.`
      : `${folder} is no folder. Name another file.`,
  );
}

async function checkFree({ file, force }: BackupFlags): Promise<void> {
  if (force || !(await exists(file))) return;
  throw new StartError(`${file} is there already. Name another file, or add --force.`);
}

/** Writes a draft, which takes the file's name once all of it is on the disk. */
export async function writeBackup(
  config: Config,
  connection: Connection,
  flags: BackupFlags,
  { progress }: Reporter,
  now: Date,
): Promise<WrittenBackup> {
  const file = resolve(flags.file);
  const fresh = `${file}.new-${process.pid}`;
  const target = createWriteStream(fresh, { flags: "wx", mode: 0o600, flush: true });
  const stopWatching = dropOnSignal(fresh);
  try {
    await once(target, "open");
    const options = await backupOptions(config, flags.with_key, progress, now);
    const taken = await takeBackup(connection, target, options);
    await checkFree(flags);
    await rename(fresh, file);
    await syncFolder(dirname(file));
    const { size } = await stat(file);
    return { ...taken, file, bytes: size, with_key: flags.with_key };
  } catch (error) {
    target.destroy();
    await rm(fresh, { force: true });
    throw error;
  } finally {
    stopWatching();
  }
}
