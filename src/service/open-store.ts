// Opens the configured database, that of DATABASE_URL or the embedded one, and brings its schema up
// to this version. The service holds the embedded one; other commands join it or start it a while.

import { access } from "node:fs/promises";
import { join } from "node:path";
import type { Config } from "../config.ts";
import { reachEmbedded, startEmbedded } from "../embedded/start.ts";
import { readSecretKey, secretKeyFile } from "../key-file.ts";
import { takesKey } from "../store/backup/installation.ts";
import type { Connection, Db } from "../store/db/db.ts";
import { migrate } from "../store/migration/migrate.ts";
import { StartError } from "./start-error.ts";

export type Store = { readonly connection: Connection; stop(): Promise<void> };

export type Opening = {
  /** True for the service itself: it keeps the embedded database, others join it. */
  readonly hold: boolean;
  /** The command, as the database shows it among its connections. */
  readonly verb: string;
  readonly say: (line: string) => void;
  /** The embedded database ended unexpectedly. */
  readonly onLost: (why: string) => void;
};

/** The configured database. `serve` starts the embedded one, other commands may join it. */
export async function openStore(config: Config, how: Opening): Promise<Store> {
  if (config.database_url !== undefined) {
    return { connection: { connectionString: config.database_url }, stop: async () => {} };
  }
  const options = {
    folder: config.data_folder,
    application_name: `dues ${how.verb} (process ${process.pid}, ${config.base_url})`,
    say: how.say,
    onExit: how.onLost,
  };
  return how.hold ? startEmbedded(options) : reachEmbedded(options);
}

/** Applies the missing migrations and returns their names. */
export function migrateStore(store: Store, say: (line: string) => void): Promise<string[]> {
  return migrate(store.connection, undefined, { say });
}

/** Opens the configured database, brings it up to this schema, runs `work`, and closes it. */
export async function withMigrated<T>(
  config: Config,
  how: Omit<Opening, "hold">,
  work: (store: Store, applied: string[]) => Promise<T>,
): Promise<T> {
  const store = await openStore(config, { ...how, hold: false });
  try {
    return await work(store, await migrateStore(store, how.say));
  } finally {
    await store.stop();
  }
}

/** Opens the configured database as it is, runs `work` on it, and closes it. */
export async function withStore<T>(
  config: Config,
  { verb, say }: Pick<Opening, "verb" | "say">,
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

export function noData(config: Config): StartError {
  return new StartError(
    `There is no database in ${config.data_folder}. Set DUES_DATA to the folder of the service, ` +
      "or DATABASE_URL.",
  );
}

export function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}

/** Whether the key is here already: `readSecretKey` would make one. */
export async function hasKey(config: Config): Promise<boolean> {
  return config.secret_key !== undefined || (await exists(secretKeyFile(config)));
}

/** The secret key, held to the one that the database was set up with. */
export async function openKey(db: Db, config: Config, now: Date): Promise<Buffer> {
  const secret_key = readSecretKey(config);
  await checkSecretKey(db, secret_key, now);
  return secret_key;
}

export async function checkSecretKey(db: Db, secret_key: Buffer, now: Date): Promise<void> {
  if (await takesKey(db, secret_key, now)) return;
  throw new StartError(
    "This database was set up with another SECRET_KEY. Set the key it was set up with: " +
      "webhook secrets cannot be read without it.",
  );
}
