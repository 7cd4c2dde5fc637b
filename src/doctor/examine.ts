// `dues doctor`: runs every check and hands back what each found. Changes nothing, and goes on
// without the database when it is away.

import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Config } from "../config.ts";
import { isKeyOf } from "../store/backup/installation.ts";
import { reasonOf } from "../store/db/connect.ts";
import type { Connection } from "../store/db/db.ts";
import { type DatabaseReadings, readDatabase } from "../store/work/checks.ts";
import type { Asked } from "./ask-service.ts";
import * as database from "./database-checks.ts";
import { type Finding, fail, judged, ok, skipped, type Verdict } from "./finding.ts";
import * as settings from "./settings-checks.ts";
import * as work from "./work-checks.ts";

export type Surroundings = {
  readonly config: Config;
  /** The schema that this version needs. */
  readonly schema_version: number;
  readonly node_version: string;
  readonly now: () => Date;
  /** From when on a transaction is called long: 5 minutes. */
  readonly long_transaction_s?: number;
  /** The key of this process; asked for only when there is one. */
  readKey(): Buffer;
  /** Asks the running service, if one runs, what its jobs did. */
  ask(): Promise<Asked>;
  /** Opens the database as other commands do; the embedded one may be running or not. */
  open(): Promise<{ readonly connection: Connection; stop(): Promise<void> }>;
};

export async function examine(given: Surroundings): Promise<Finding[]> {
  const { config } = given;
  const [readings, asked] = await Promise.all([readingsOf(given), given.ask()]);
  const away = "why" in readings ? readings.why : undefined;
  const reached: Verdict =
    away === undefined ? ok(placeOf(config)) : fail(`${placeOf(config)}: ${away}`, AWAY);
  const disk = settings.diskOf(join(config.data_folder, "postgres"));
  const here: [string, Verdict][] = [
    ["node", settings.checkNode(given.node_version)],
    ["secret_key", secretKey(given, readings)],
    ["profile_file", settings.checkProfileFile(config)],
    ["key_creation", settings.checkKeyCreation(config)],
    ["public_address", settings.checkPublicAddress(config)],
    ["disk", settings.checkDisk(config, disk)],
    ["database", reached],
    ["jobs", work.checkJobs(asked, given.now())],
  ];
  const there: [string, (readings: DatabaseReadings) => Verdict][] = checksOf(given);
  const verdicts = there.map(([check, judge]): [string, Verdict] => [
    check,
    "why" in readings ? skipped("the database was not reached") : judge(readings),
  ]);
  return [...here, ...verdicts].map(([check, verdict]) => ({ check, ...verdict }));
}

const LONG_TRANSACTION_S = 300;
const AWAY = "Start the database, or look whether DATABASE_URL, or DUES_DATA, names the right one.";

function placeOf({ database_url, data_folder }: Config): string {
  return database_url === undefined ? `embedded in ${data_folder}` : "the one of DATABASE_URL";
}

function checksOf(given: Surroundings): [string, (readings: DatabaseReadings) => Verdict][] {
  const { config, schema_version, now } = given;
  return [
    ["postgresql", ({ version }) => judged(version, database.checkVersion)],
    ["encoding", ({ encoding }) => judged(encoding, database.checkEncoding)],
    [
      "schema",
      (readings) =>
        judged(readings.schema_version, (found) => database.checkSchema(found, schema_version)),
    ],
    ["durability", ({ durability }) => judged(durability, database.checkDurability)],
    ["clock", ({ clock }) => judged(clock, (found) => database.checkClock(found, config))],
    [
      "connections",
      ({ sessions }) => judged(sessions, (found) => database.checkConnections(found, config)),
    ],
    ["transactions", ({ transactions }) => judged(transactions, database.checkTransactions)],
    ["transaction_ids", ({ oldest_id_age }) => judged(oldest_id_age, database.checkIdAge)],
    ["archive", ({ archive }) => judged(archive, database.checkArchive)],
    ["replication", database.checkReplication],
    ["portal_access", ({ portals }) => settings.checkPortals(config, portals)],
    ["tokens", ({ unbound_tokens }) => settings.checkTokens(config, unbound_tokens)],
    ["held", ({ held_since }) => judged(held_since, work.checkHeld)],
    ["workers", ({ sessions }) => judged(sessions, work.checkWorkers)],
    ["periods", ({ closes }) => judged(closes, (found) => work.checkPeriods(found, now()))],
    ["set_aside", ({ closes }) => judged(closes, work.checkSetAside)],
    ["webhooks", ({ webhooks }) => judged(webhooks, work.checkWebhooks)],
    ["started_jobs", ({ started_jobs }) => judged(started_jobs, work.checkStartedJobs)],
    ["cluster", ({ cluster }) => judged(cluster, work.checkCluster)],
  ];
}

async function readingsOf(
  given: Surroundings,
): Promise<DatabaseReadings | { readonly why: string }> {
  const { config, now, long_transaction_s = LONG_TRANSACTION_S } = given;
  // The embedded database is made by the first start, not by who looks at it.
  if (config.database_url === undefined && !existsSync(join(config.data_folder, "postgres"))) {
    return { why: "there is no database in this folder yet" };
  }
  try {
    const store = await given.open();
    try {
      return await readDatabase(store.connection, { now, long_transaction_s });
    } finally {
      await store.stop();
    }
  } catch (error) {
    return { why: reasonOf(error) };
  }
}

/** Checks the key by itself, and whether it is the one of the database. */
function secretKey(
  given: Surroundings,
  readings: DatabaseReadings | { readonly why: string },
): Verdict {
  const found = settings.checkKeyFile(given.config);
  if (found.status === "fail" || "why" in readings || "why" in readings.secret_check) return found;
  const kept = readings.secret_check.value;
  if (!Buffer.isBuffer(kept) || isKeyOf(kept, given.readKey())) return found;
  return fail(
    "the database was set up with another key",
    "Set the SECRET_KEY (or put back the key file) that it was set up with: a start with this " +
      "one is refused.",
  );
}
