// Wires what an operator does with a whole database: backup, restore, resume, and the move of the
// embedded one to another major version of PostgreSQL. Uses what `main` opens and reads.

import { once } from "node:events";
import { createWriteStream, rmSync } from "node:fs";
import { access, open, rename, rm, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Writable } from "node:stream";
import type { Config } from "./config.ts";
import {
  asideName,
  dropFresh,
  findBinaries,
  freshFolder,
  majorVersions,
  swapData,
} from "./embedded/former.ts";
import { reachFormer } from "./embedded/start.ts";
import { readSecretKeys, writeSecretKey } from "./key-file.ts";
import { openStore, StartError, type Store } from "./main.ts";
import { type OnBackupProgress, type TakenBackup, takeBackup } from "./store/backup.ts";
import { type BackupHeader, verifyBackup } from "./store/backup-format.ts";
import type { Connection } from "./store/db.ts";
import { keyOf } from "./store/installation.ts";
import type {
  Counters,
  InvoiceCounter,
  NextNumber,
  PassedCounter,
} from "./store/invoice-counters.ts";
import { loadBackup, type Restored } from "./store/restore.ts";
import { endHold, type Resumed, readWaiting, type Waiting } from "./store/resume.ts";

export type {
  BackupHeader,
  Counters,
  InvoiceCounter,
  NextNumber,
  PassedCounter,
  Restored,
  Resumed,
  TakenBackup,
  Waiting,
};

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
  return withStore(config, "backup", reporter, ({ connection }) =>
    writeBackup(config, connection, flags, reporter, now),
  );
}

/** The same into a stream that is there, such as standard output. */
export async function backUpTo(
  config: Config,
  target: Writable,
  { with_key }: Pick<BackupFlags, "with_key">,
  reporter: Reporter,
  now: Date,
): Promise<TakenBackup> {
  const options = await backupOptions(config, with_key, reporter.progress, now);
  return withStore(config, "backup", reporter, ({ connection }) =>
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
  return { now, onProgress, secret_keys: readSecretKeys(config) };
}

/** Found out before the database is opened, and told without the name the file has meanwhile. */
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

async function writeBackup(
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

const INTERRUPTED = 130;

/** What is not complete does not stay when the command is told to end. */
function dropOnSignal(path: string): () => void {
  const drop = () => {
    rmSync(path, { force: true });
    process.exit(INTERRUPTED);
  };
  process.once("SIGINT", drop).once("SIGTERM", drop);
  return () => {
    process.off("SIGINT", drop).off("SIGTERM", drop);
  };
}

/** So that the file's name survives a power cut too. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, "r");
  await handle.sync().finally(() => handle.close());
}

export type RestoreFlags = {
  readonly file: string;
  readonly next_numbers: readonly NextNumber[];
};

export type RestoredBackup = Restored &
  Counters & {
    readonly created_at: string;
    readonly server_version: string;
  };

/** Checks the file and the key, then loads it into the configured database, which must be empty. */
export async function restoreBackup(
  config: Config,
  { file, next_numbers }: RestoreFlags,
  reporter: Reporter,
  now: Date,
): Promise<RestoredBackup> {
  const header = await verified(file, reporter);
  await checkKey(config, file, header);
  return withStore(config, "restore", reporter, async ({ connection }) => {
    const options = { header, held_since: now, next_numbers };
    const beforeCommit = () => keepKey(config, header);
    const onProgress = await partOf(file, "loading", reporter);
    const restored = await loadBackup(connection, file, { ...options, onProgress, beforeCommit });
    const { created_at, server_version } = header;
    const { counters, credit_note_counters } = await readWaiting(connection, now);
    return { ...restored, created_at, server_version, counters, credit_note_counters };
  });
}

async function verified(file: string, reporter: Reporter): Promise<BackupHeader> {
  const onProgress = await partOf(file, "checking", reporter);
  return verifyBackup(file, onProgress);
}

async function partOf(file: string, what: string, { progress }: Reporter) {
  const size = (await stat(file).catch(() => undefined))?.size ?? 1;
  return (bytes: number) => progress(what, bytes / size);
}

/** Webhook secrets can be read with one key only: found out before anything is changed. */
async function checkKey(config: Config, file: string, header: BackupHeader): Promise<void> {
  if (header.secret_check === null) return;
  const kept = await hasKey(config);
  if (!kept && header.secret_key !== undefined) return;
  const check = Buffer.from(header.secret_check, "hex");
  if (kept && keyOf(check, readSecretKeys(config)) !== undefined) return;
  throw new StartError(
    `${file} belongs to a key that ${kept ? "is another than the one here" : "is not here"}. Set ` +
      "SECRET_KEY as it was set where the backup was made, or to the contents of the file " +
      `secret.key of its DUES_DATA, or put that file into ${config.data_folder}. Nothing was changed.`,
  );
}

function keepKey(config: Config, { secret_key }: BackupHeader): void {
  if (secret_key === undefined || config.secret_key !== undefined) return;
  writeSecretKey(config, Buffer.from(secret_key, "hex"));
}

/** Whether the key is here already: `readSecretKeys` would make one. */
async function hasKey({ secret_key, data_folder }: Config): Promise<boolean> {
  return secret_key !== undefined || (await exists(join(data_folder, "secret.key")));
}

/** What waits in a database that is held. */
export function readHold(config: Config, reporter: Reporter, now: Date): Promise<Waiting> {
  return withStore(config, "resume", reporter, ({ connection }) => readWaiting(connection, now));
}

/** Ends the hold. */
export function resume(
  config: Config,
  next_numbers: readonly NextNumber[],
  reporter: Reporter,
): Promise<Resumed> {
  return withStore(config, "resume", reporter, ({ connection }) =>
    endHold(connection, next_numbers),
  );
}

export type UpgradedData = {
  readonly from: string;
  readonly to: string;
  /** Undefined when there was nothing to do. */
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

/** Nothing happened between the backup and now, so nothing is held. */
async function loadInto(config: Config, file: string, reporter: Reporter): Promise<Restored> {
  const header = await verified(file, reporter);
  return withStore(config, "restore", reporter, async ({ connection }) => {
    const onProgress = await partOf(file, "loading", reporter);
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

/** Opens the configured database as it is, runs `work` on it, and closes it. */
async function withStore<T>(
  config: Config,
  verb: string,
  { say }: Reporter,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  // Only a restore may make a new folder.
  const mustExist = config.database_url === undefined && verb !== "restore";
  if (mustExist && !(await exists(join(config.data_folder, "postgres")))) throw noData(config);
  let lost: string | undefined;
  const onLost = (why: string) => {
    lost = why;
  };
  const store = await openStore(config, { hold: false, verb, say, onLost });
  try {
    return await work(store);
  } catch (error) {
    throw lost === undefined ? error : new StartError(lost);
  } finally {
    await store.stop();
  }
}

function noData(config: Config): StartError {
  return new StartError(
    `There is no database in ${config.data_folder}. Set DUES_DATA to the folder of the service, ` +
      "or DATABASE_URL.",
  );
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
