// The only wiring: config, database, clock, doors, shutdown. Alone may import every room.

import { createHash, randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import { type Clock, systemClock } from "./clock.ts";
import type { Config, Role } from "./config.ts";
import type { Context } from "./context.ts";
import { reachEmbedded, startEmbedded } from "./embedded/start.ts";
import type { Readiness } from "./http/routes/system.ts";
import { buildServer, type Door } from "./http/server.ts";
import { routeTable } from "./http/table.ts";
import { makeLog } from "./log.ts";
import { createToken } from "./operations/create-token.ts";
import { type Slugs, setUpTenant } from "./operations/set-up-tenant.ts";
import { DEFAULT_SCOPES } from "./schema/keys.ts";
import { ANSWERING } from "./store/api-activity.ts";
import { type Connection, type Db, Pool, type Queryable } from "./store/db.ts";
import { belongsTo, lockSetup } from "./store/installation.ts";
import { migrate, schemaVersion } from "./store/migrate.ts";
import { Pipeline } from "./store/pipeline.ts";
import { dropOnEveryChange } from "./store/portal.ts";
import { countOrganizations } from "./store/tenants.ts";
import { startLoop } from "./workers/loop.ts";
import { startThread, startWork } from "./workers/start.ts";

const STATEMENT_MS = 5_000;
const LOCK_MS = 2_000;
const PIPELINES = 2;
const LAST_USED_PAUSE_MS = 30_000;
const DRAIN_MS = 20_000;
const LEAVE_MS = 1_000;
const LEAVE_POLL_MS = 20;
const DEFAULT_SLUGS: Slugs = { org: "default", workspace: "default", project: "default" };

/** A start that cannot go on. The message is for the operator. */
export class StartError extends Error {}

/** What the trial keeps beside its data, and what the CLI takes as its default profile. */
export type Profile = {
  readonly base_url: string;
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly project_id: string;
  readonly token: string;
};

/** The key that signs cursors and seals secrets: the operator's, or kept beside the data. */
export function readSecretKey(config: Config): Buffer {
  if (config.secret_key !== undefined) {
    return createHash("sha256").update(config.secret_key).digest();
  }
  const file = join(config.data_folder, "secret.key");
  try {
    return Buffer.from(readFileSync(file, "utf8").trim(), "hex");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
  }
  mkdirSync(config.data_folder, { recursive: true, mode: 0o700 });
  try {
    writeFileSync(file, `${randomBytes(32).toString("hex")}\n`, { mode: 0o600, flag: "wx" });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
  return Buffer.from(readFileSync(file, "utf8").trim(), "hex");
}

export type Store = { readonly connection: Connection; stop(): Promise<void> };

/** The configured database. `serve` starts the embedded one, other commands may join it. */
export async function openStore(
  config: Config,
  how: { hold: boolean; verb: string; say: (line: string) => void; onLost: (why: string) => void },
): Promise<Store> {
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

/** Returns the names of the migrations that were missing. */
export function migrateStore(store: Store): Promise<string[]> {
  return migrate(store.connection);
}

const REQUESTS = {
  statement_timeout_ms: STATEMENT_MS,
  lock_timeout_ms: LOCK_MS,
  application_name: ANSWERING,
};

export function requestPool(connection: Connection, config: Config): Pool {
  return new Pool(connection, { ...REQUESTS, max: config.pool_max });
}

export async function checkSecretKey(db: Db, secret_key: Buffer, now: Date): Promise<void> {
  if (await db.tx((tx) => belongsTo(tx, secret_key, now))) return;
  throw new StartError(
    "This database was set up with another SECRET_KEY. Set the key it was set up with: " +
      "webhook secrets cannot be read without it.",
  );
}

/** Makes what is missing of a tenant and a token for it. */
export async function initTenant(
  db: Db,
  slugs: Slugs,
  mode: "live" | "sandbox",
  base_url: string,
  now: Date,
): Promise<Profile> {
  return db.tx(async (tx) => {
    await lockSetup(tx);
    const ids = await setUpTenant(tx, slugs, mode, now);
    const wanted = { name: `${slugs.project} (init)`, scopes: DEFAULT_SCOPES, expires_at: null };
    const { token } = await createToken(tx, ids.organization_id, wanted, null, now);
    return { base_url, ...ids, token };
  });
}

/** On an empty database: the default tenant and a token. Undefined when there is one already. */
async function firstTenant(db: Db, config: Config, now: Date): Promise<Profile | undefined> {
  return db.tx(async (tx) => {
    await lockSetup(tx);
    if ((await countOrganizations(tx)).count > 0) return undefined;
    const mode = config.database_url === undefined ? "sandbox" : "live";
    const ids = await setUpTenant(tx, DEFAULT_SLUGS, mode, now);
    const wanted = { name: "first start", scopes: DEFAULT_SCOPES, expires_at: null };
    const { token } = await createToken(tx, ids.organization_id, wanted, null, now);
    return { base_url: config.base_url, ...ids, token };
  });
}

export type Running = {
  readonly base_url: string;
  readonly profile: Profile | undefined;
  /** True when this start made the tenant: its token is shown this once. */
  readonly first: boolean;
  stop(): Promise<void>;
};

export type ServeOptions = {
  readonly config: Config;
  readonly role: Role;
  readonly say: (line: string) => void;
  /** The embedded database died by itself: nothing can be done but to stop. */
  readonly onLost: (why: string) => void;
};

/** Starts everything, and returns when the service answers. */
export async function serve({ config: given, role, say, onLost }: ServeOptions): Promise<Running> {
  const log = makeLog(given);
  const store = await openStore(given, { hold: true, verb: "serve", say, onLost });
  const undo: (() => Promise<unknown>)[] = [() => store.stop()];
  try {
    await migrate(store.connection);
    const pool = requestPool(store.connection, given);
    undo.push(() => pool.end());
    const secret_key = readSecretKey(given);
    await checkSecretKey(pool, secret_key, systemClock.now());
    const made = await firstTenant(pool, given, systemClock.now());
    const readiness = {
      draining: false,
      schema_version: await schemaVersion(),
      warnings: startWarnings(given),
    };
    for (const warning of readiness.warnings) log.warn(warning);
    const point = new Pipeline(store.connection, { ...REQUESTS, max: PIPELINES });
    undo.push(() => point.end());
    const context = { config: given, db: pool, point, clock: systemClock, log, secret_key };
    if (role === "all") {
      undo.push(startThread({ config: given, connection: store.connection, secret_key }));
    }
    if (role === "worker") {
      // Alone in its process, it gives way to those who answer callers on the same machine.
      setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
      undo.push(startWork(context, store.connection));
    }
    const { door, base_url } = await listen(context, readiness, role);
    undo.push(() => drain(door, readiness));
    const lastUsed = { name: "last used", pause_ms: LAST_USED_PAUSE_MS, tick: flushLastUsed(door) };
    undo.push(startLoop(lastUsed, log).stop);
    const profile = keepProfile(given, base_url, made);
    return { base_url, profile, first: made !== undefined, stop: () => unwind(undo) };
  } catch (error) {
    await unwind(undo);
    throw error;
  }
}

/** Always "nothing left to do": once a pause is often enough. */
function flushLastUsed({ gate }: Door): () => Promise<number> {
  return async () => {
    await gate.flushLastUsed();
    return 0;
  };
}

async function listen(context: Context, readiness: Readiness, role: Role) {
  const { config } = context;
  const door = openDoor(context, readiness, role);
  const address = await door.app.listen({ port: config.port, host: config.host });
  const base_url = config.port === 0 ? address : config.base_url;
  return { door, base_url };
}

/** The HTTP door alone: what tests call as a function. A worker only shows its health. */
export function openDoor(context: Context, readiness: Readiness, role: Role): Door {
  dropOnEveryChange(context.config.portal_auto_invalidate);
  const table = routeTable(context, readiness);
  const routes =
    role === "worker" ? table.filter(({ path }) => !/^\/(v1|portal)\b/.test(path)) : table;
  return buildServer(context, routes);
}

export function testContext(parts: {
  config: Config;
  db: Db;
  point?: Queryable;
  clock: Clock;
  secret_key: Buffer;
}): Context {
  return { ...parts, point: parts.point ?? parts.db, log: makeLog(parts.config) };
}

async function drain(door: Door, readiness: Readiness): Promise<void> {
  readiness.draining = true;
  const timer = setTimeout(() => door.app.server.closeAllConnections(), DRAIN_MS);
  door.stopListening();
  await connectionsLeave(door.app.server);
  await door.app.close();
  clearTimeout(timer);
  await door.gate.flushLastUsed();
}

/** Busy connections leave with their next answer; those that stay quiet are not waited for. */
async function connectionsLeave(server: Door["app"]["server"]): Promise<void> {
  for (let waited = 0; waited < LEAVE_MS; waited += LEAVE_POLL_MS) {
    const count = await new Promise<number>((resolve) => {
      server.getConnections((_error, found) => resolve(found));
    });
    if (count === 0) return;
    await new Promise((resolve) => setTimeout(resolve, LEAVE_POLL_MS));
  }
}

/** Last opened, first closed. */
async function unwind(undo: (() => Promise<unknown>)[]): Promise<void> {
  for (const step of undo.splice(0).reverse()) await step();
}

function startWarnings(config: Config): string[] {
  const loopback = /^(127\.|::1$|localhost$)/.test(config.host);
  const warnings: string[] = [];
  if (config.key_creation === "open" && !loopback) {
    warnings.push(
      "KEY_CREATION is open and the service listens on a public address: whoever knows the " +
        "organization id can make tokens. Set KEY_CREATION=bootstrap.",
    );
  }
  if (config.database_url !== undefined && config.secret_key === undefined) {
    warnings.push(
      `SECRET_KEY is not set: the key file in ${config.data_folder} is used. ` +
        "Processes on other machines need the same key.",
    );
  }
  return warnings;
}

/** The trial keeps its profile in `.dues/dev.json`, so that the CLI works with no flags. */
function keepProfile(config: Config, base_url: string, made: Profile | undefined) {
  if (config.database_url !== undefined) return made && { ...made, base_url };
  const file = profileFile(config);
  const profile = made ?? readProfile(config);
  if (profile === undefined) return undefined;
  const kept = { ...profile, base_url };
  writeFileSync(file, `${JSON.stringify(kept, null, 2)}\n`, { mode: 0o600 });
  return kept;
}

export function profileFile(config: Config): string {
  return join(config.data_folder, "dev.json");
}

export function readProfile(config: Config): Profile | undefined {
  try {
    return JSON.parse(readFileSync(profileFile(config), "utf8")) as Profile;
  } catch {
    return undefined;
  }
}
