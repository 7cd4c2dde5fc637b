// `dues restore` loads a backup into an empty database, whose service is then held; `dues resume`
// lets it go on.

import { stat } from "node:fs/promises";
import type { Config } from "../config.ts";
import { readSecretKey, writeSecretKey } from "../key-file.ts";
import { type BackupHeader, verifyBackup } from "../store/backup/format.ts";
import { isKeyOf } from "../store/backup/installation.ts";
import type {
  Counters,
  InvoiceCounter,
  NextNumber,
  PassedCounter,
} from "../store/backup/invoice-counters.ts";
import { loadBackup, type Restored } from "../store/backup/restore.ts";
import { endHold, type Resumed, readWaiting, type Waiting } from "../store/backup/resume.ts";
import type { Reporter } from "./backup.ts";
import { hasKey, withStore } from "./open-store.ts";
import { StartError } from "./start-error.ts";

export type { Counters, InvoiceCounter, NextNumber, PassedCounter, Restored, Resumed, Waiting };

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
  const header = await verify(file, reporter);
  await checkKey(config, file, header);
  return withStore(config, { verb: "restore", say: reporter.say }, async ({ connection }) => {
    const options = { header, held_since: now, next_numbers };
    const beforeCommit = () => keepKey(config, header);
    const onProgress = await progressOver(file, "loading", reporter);
    const restored = await loadBackup(connection, file, { ...options, onProgress, beforeCommit });
    const { created_at, server_version } = header;
    const { counters, credit_note_counters } = await readWaiting(connection, now);
    return { ...restored, created_at, server_version, counters, credit_note_counters };
  });
}

/** Checks the whole file, and returns its head. */
export async function verify(file: string, reporter: Reporter): Promise<BackupHeader> {
  const onProgress = await progressOver(file, "checking", reporter);
  return verifyBackup(file, onProgress);
}

/** Tells of a file that is read how much of it is done, as its bytes go by. */
export async function progressOver(file: string, what: string, { progress }: Reporter) {
  const size = (await stat(file).catch(() => undefined))?.size ?? 1;
  return (bytes: number) => progress(what, bytes / size);
}

/** Refuses another key before anything is changed: webhook secrets can be read with one only. */
async function checkKey(config: Config, file: string, header: BackupHeader): Promise<void> {
  if (header.secret_check === null) return;
  const kept = await hasKey(config);
  if (!kept && header.secret_key !== undefined) return;
  const check = Buffer.from(header.secret_check, "hex");
  if (kept && isKeyOf(check, readSecretKey(config))) return;
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

/** What waits in a database that is held. */
export function readHold(config: Config, reporter: Reporter, now: Date): Promise<Waiting> {
  return withStore(config, { verb: "resume", say: reporter.say }, ({ connection }) =>
    readWaiting(connection, now),
  );
}

/** Ends the hold, once the next numbers are at least those that are named. */
export function resume(
  config: Config,
  next_numbers: readonly NextNumber[],
  reporter: Reporter,
): Promise<Resumed> {
  return withStore(config, { verb: "resume", say: reporter.say }, ({ connection }) =>
    endHold(connection, next_numbers),
  );
}
