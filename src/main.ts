// Wires everything together: configuration, database, clock, HTTP server, workers, shutdown. The
// only file that may import from every folder.

import { readFileSync, writeFileSync } from "node:fs";
import { constants, setPriority } from "node:os";
import { join } from "node:path";
import { ApiActivity } from "./api-activity.ts";
import { type Clock, systemClock } from "./clock.ts";
import { type Config, type Role, urlAt, warningsOf } from "./config.ts";
import type { Context } from "./context.ts";
import { examine } from "./doctor/examine.ts";
import type { Finding } from "./doctor/finding.ts";
import { reachEmbedded, startEmbedded } from "./embedded/start.ts";
import { Bounds } from "./http/limits/bound.ts";
import { HELD, type Readiness } from "./http/readiness.ts";
import { healthRoutes } from "./http/routes/system.ts";
import { buildServer, type HttpServer } from "./http/server.ts";
import { routeTable } from "./http/table.ts";
import { type KeyReadings, readSecretKeys } from "./key-file.ts";
import { makeLog } from "./log.ts";
import { createToken } from "./operations/create-token.ts";
import { renewOrganizationId } from "./operations/renew-organization-id.ts";
import { findTenant, type Slugs, setUpTenant } from "./operations/set-up-tenant.ts";
import { DEFAULT_SCOPES } from "./schema/keys.ts";
import { type DistributeOptions, type Distribution, distribute } from "./store/cluster.ts";
import { limitByNode } from "./store/cluster-db.ts";
import { type ClusterStatus, readStatus } from "./store/cluster-status.ts";
import { API_CONNECTION_NAME } from "./store/connection-names.ts";
import { type Connection, type Db, type PointReads, Pool } from "./store/db.ts";
import type { TableProgress } from "./store/distribution.ts";
import { heldSince, lockSetup, ownKey } from "./store/installation.ts";
import { migrate, schemaVersion } from "./store/migrate.ts";
import { Pipeline } from "./store/pipeline.ts";
import { isSpread, ONE_NODE, type Placement } from "./store/placement.ts";
import {
  type Rebalance,
  type RebalanceOptions,
  type RebalanceProgress,
  rebalance,
} from "./store/rebalance.ts";
import { countOrganizations } from "./store/tenants.ts";
import { registry } from "./telemetry.ts";
import { startLoop } from "./workers/loop.ts";
import { startWorkersWithPool, startWorkerThread } from "./workers/start.ts";

/**
 * A request waits for a connection for at most LOCK_MS, and then for no statement longer than this
 * and the 0.3 s by which a silent connection is found: 503 within 5 s when the database is away.
 */
const STATEMENT_MS = 2_300;
const LOCK_MS = 2_000;
/** Two waits for a lock, and half a second for connections: a request is answered within 5 s. */
const TRIES_MS = 4_500;
/** When somebody has waited so long for a connection, whoever comes is refused at once. */
const QUEUE_MS = 1_000;
const PIPELINES = 2;
const LAST_USED_PAUSE_MS = 30_000;
/** A stop takes 10 s at most: who sends a body byte by byte is cut off after this. */
const DRAIN_MS = 8_000;
/** How long a stop waits for connections to close by themselves, and how often it looks. */
const CONNECTIONS_CLOSE_MS = 1_000;
const CONNECTIONS_POLL_MS = 20;
const FULL_TOKEN = { scopes: DEFAULT_SCOPES, project_ids: null, expires_at: null };
const DEFAULT_SLUGS: Slugs = { org: "default", workspace: "default", project: "default" };

/** The start failed for a reason that the operator can remedy; the message says how. */
export class StartError extends Error {}

/** Address, ids and token of a project: kept beside the embedded data as the CLI's default. */
export type Profile = {
  readonly base_url: string;
  readonly organization_id: string;
  readonly workspace_id: string;
  readonly project_id: string;
  readonly token: string;
};

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

/** Applies the missing migrations and returns their names. */
export function migrateStore(store: Store, say: (line: string) => void): Promise<string[]> {
  return migrate(store.connection, undefined, { say });
}

/** Every check of `dues doctor`, on the configured database. */
export async function examineInstallation(
  config: Config,
  say: (line: string) => void,
): Promise<Finding[]> {
  return examine({
    config,
    schema_version: await schemaVersion(),
    node_version: process.versions.node,
    now: () => systemClock.now(),
    readKeys: () => readSecretKeys(config),
    open: () => openStore(config, { hold: false, verb: "doctor", say, onLost: say }),
  });
}

export type { ClusterStatus, Distribution, Finding, Rebalance, RebalanceProgress, TableProgress };

/** Migrates a cluster's database and spreads over the nodes what is not spread yet. */
export function distributeStore(config: Config, options: DistributeOptions): Promise<Distribution> {
  return distribute(clusterConnection(config), options);
}

/** The nodes of a cluster, what is on each, and what is wrong. */
export function readClusterStatus(config: Config): Promise<ClusterStatus> {
  return readStatus(clusterConnection(config));
}

/** Has the cluster move shards until the nodes carry alike. */
export function rebalanceStore(config: Config, options: RebalanceOptions): Promise<Rebalance> {
  return rebalance(clusterConnection(config), options);
}

function clusterConnection({ database_url }: Config): Connection {
  if (database_url !== undefined) return { connectionString: database_url };
  throw new StartError(
    "A cluster is named by DATABASE_URL, which is not set. To move what the embedded database " +
      "holds, use dues backup and dues restore: docs/SCALING.md.",
  );
}

const REQUESTS = {
  statement_timeout_ms: STATEMENT_MS,
  lock_timeout_ms: LOCK_MS,
  tries_ms: TRIES_MS,
  application_name: API_CONNECTION_NAME,
};

export function requestPool(connection: Connection, config: Config): Pool {
  const { pool_max: max, portal_auto_invalidate } = config;
  const options = { ...REQUESTS, max, portal_auto_invalidate, queue_ms: QUEUE_MS };
  return new Pool(connection, options);
}

export async function checkSecretKey(db: Db, keys: KeyReadings, now: Date): Promise<Buffer> {
  const own = await ownKey(db, keys, now);
  if (own !== undefined) return own;
  throw new StartError(
    "This database was set up with another SECRET_KEY. Set the key it was set up with: " +
      "webhook secrets cannot be read without it.",
  );
}

/** Creates the organization, workspace and project that are missing, and a token for them. */
export async function initTenant(
  db: Db,
  slugs: Slugs,
  mode: "live" | "sandbox",
  base_url: string,
  now: Date,
): Promise<Profile> {
  return db.tx(async (tx) => {
    await lockSetup(tx);
    const { organization, ids } = await setUpTenant(tx, slugs, mode, now);
    const wanted = { ...FULL_TOKEN, name: `${slugs.project} (init)` };
    const { token } = await createToken(tx, organization.id, wanted, null, now);
    return { base_url, ...ids, token };
  });
}

/** Gives the organization another id for POST /v1/keys, also in the kept profile. */
export async function renewOrganization(db: Db, slug: string, config: Config, now: Date) {
  const renewed = await db.tx((tx) => renewOrganizationId(tx, slug, now));
  if (renewed === undefined) throw new StartError(`No organization has the slug "${slug}".`);
  const { key_creation_id: organization_id } = renewed;
  const profile = slug === DEFAULT_SLUGS.org ? readProfile(config) : undefined;
  if (profile) keepProfile(config, profile.base_url, { ...profile, organization_id });
  return { organization_id };
}

/**
 * Creates the default tenant and a token in an empty database. In the embedded database it makes
 * another token when none was kept, as after a start that ended early. Undefined in any other.
 */
async function firstTenant(db: Db, config: Config, now: Date): Promise<Profile | undefined> {
  const isEmbedded = config.database_url === undefined;
  // Without a lock, which a cluster takes on every node: one may be away.
  if (!isEmbedded && (await countOrganizations(db)).count > 0) return undefined;
  return db.tx(async (tx) => {
    await lockSetup(tx);
    const isNew = (await countOrganizations(tx)).count === 0;
    if (!isNew && (!isEmbedded || readProfile(config) !== undefined)) return undefined;
    const tenant = isNew
      ? await setUpTenant(tx, DEFAULT_SLUGS, isEmbedded ? "sandbox" : "live", now)
      : await findTenant(tx, DEFAULT_SLUGS);
    if (tenant === undefined) return undefined;
    const wanted = { ...FULL_TOKEN, name: isNew ? "first start" : "another start" };
    const { token } = await createToken(tx, tenant.organization.id, wanted, null, now);
    return { base_url: config.base_url, ...tenant.ids, token };
  });
}

export type Running = {
  readonly base_url: string;
  readonly profile: Profile | undefined;
  /** True when this start made the token: it is printed, and never again. */
  readonly first: boolean;
  stop(): Promise<void>;
};

export type ServeOptions = {
  readonly config: Config;
  readonly role: Role;
  readonly say: (line: string) => void;
  /** The embedded database ended unexpectedly: the service must stop. */
  readonly onLost: (why: string) => void;
};

/** Starts everything, and returns when the service answers requests. */
export async function serve({ config: given, role, say, onLost }: ServeOptions): Promise<Running> {
  const log = makeLog(given);
  const store = await openStore(given, { hold: true, verb: "serve", say, onLost });
  const undo: (() => Promise<unknown>)[] = [() => store.stop()];
  try {
    await migrateStore(store, say);
    const pool = requestPool(store.connection, given);
    undo.push(() => pool.end());
    const secret_key = await checkSecretKey(pool, readSecretKeys(given), systemClock.now());
    const readiness = {
      draining: false,
      schema_version: await schemaVersion(),
      warnings: warningsOf(given),
      writeFault: () => pool.writeFault,
    };
    for (const warning of readiness.warnings) log.warn(warning);
    if ((await heldSince(pool)) !== null) say(HELD);
    const spread = await isSpread(pool);
    const pipeline = () => new Pipeline(store.connection, { ...REQUESTS, max: PIPELINES });
    const limits = { max: given.pool_max, wait_ms: LOCK_MS };
    const { end, ...access } = limitByNode(pool, pipeline, limits, spread);
    undo.push(end);
    const api_activity = new ApiActivity();
    const shared = { config: given, clock: systemClock, log, secret_key, api_activity };
    const context = { ...shared, ...access };
    if (role === "all") {
      const { connection } = store;
      const activity = api_activity.shared;
      undo.push(startWorkerThread({ config: given, connection, spread, secret_key, activity }));
    }
    if (role === "worker") {
      // Yields to API processes on the same machine.
      setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
      undo.push(startWorkersWithPool(context, store.connection, spread));
    }
    undo.push(await listenForHealth(context, readiness));
    const { server, base_url } = await listen(context, readiness, role);
    undo.push(() => drain(server, readiness));
    const lastUsed = {
      name: "last_used",
      pause_ms: LAST_USED_PAUSE_MS,
      tick: flushLastUsed(server),
    };
    undo.push(startLoop(lastUsed, log).stop);
    // Behind whatever can fail: a token that nobody was shown would be lost.
    const made = await firstTenant(pool, given, systemClock.now());
    const profile = keepProfile(given, base_url, made);
    return { base_url, profile, first: made !== undefined, stop: () => unwind(undo) };
  } catch (error) {
    await unwind(undo);
    throw error;
  }
}

/** Returns 0 so that the loop sleeps the full pause. */
function flushLastUsed({ gate }: HttpServer): () => Promise<number> {
  return async () => {
    await gate.flushLastUsed();
    return 0;
  };
}

async function listen(context: Context, readiness: Readiness, role: Role) {
  const { config } = context;
  const server = httpServer(context, readiness, role);
  const address = await server.listen(config).catch(namePort(config.port));
  const base_url =
    config.port === 0 ? urlAt(config.host, Number(new URL(address).port)) : config.base_url;
  return { server, base_url };
}

function namePort(port: number): (error: NodeJS.ErrnoException) => never {
  return (error) => {
    if (error.code !== "EADDRINUSE") throw error;
    throw new StartError(`Port ${port} is taken. Try: npm start -- --port ${port + 1}`);
  };
}

/** Health and metrics on their own port, if there is one: it answers until all has stopped. */
async function listenForHealth(context: Context, readiness: Readiness) {
  const { health_port: port, host } = context.config;
  if (port === undefined) return async () => {};
  // Its own bounds are not shown: the figures are of the port where the API is.
  const { fastify } = buildServer(context, healthRoutes(readiness), new Bounds());
  await fastify.listen({ port, host }).catch(namePort(port));
  return () => fastify.close();
}

/** The HTTP server before it listens, as tests use it. A worker has no routes of the API. */
export function httpServer(context: Context, readiness: Readiness, role: Role): HttpServer {
  const hidden = role === "worker" ? /^\/(v1|portal)\b/ : /^$/;
  const bounds = new Bounds();
  bounds.showIn(registry);
  const routes = routeTable(context, readiness, bounds).filter(({ path }) => !hidden.test(path));
  return buildServer(context, routes, bounds);
}

export function testContext(parts: {
  config: Config;
  db: Db;
  point?: PointReads;
  placement?: Placement;
  clock: Clock;
  secret_key: Buffer;
}): Context {
  const { config, db, point = db, placement = ONE_NODE } = parts;
  const api_activity = new ApiActivity();
  return { api_activity, ...parts, point, placement, log: makeLog(config) };
}

async function drain(server: HttpServer, readiness: Readiness): Promise<void> {
  readiness.draining = true;
  const timer = setTimeout(() => server.fastify.server.closeAllConnections(), DRAIN_MS);
  server.stopListening();
  await waitForConnections(server, CONNECTIONS_CLOSE_MS);
  await server.fastify.close();
  // Those of other sockets than the server's own it does not wait for.
  await waitForConnections(server, DRAIN_MS);
  clearTimeout(timer);
  await server.gate.flushLastUsed();
}

/** Busy connections close with their next response; idle ones are not waited for any longer. */
async function waitForConnections(server: HttpServer, most_ms: number): Promise<void> {
  for (let waited = 0; waited < most_ms; waited += CONNECTIONS_POLL_MS) {
    if (server.countConnections() === 0) return;
    await new Promise((resolve) => setTimeout(resolve, CONNECTIONS_POLL_MS));
  }
}

/** Runs the clean-up steps in reverse order of the start. */
async function unwind(undo: (() => Promise<unknown>)[]): Promise<void> {
  for (const step of undo.splice(0).reverse()) await step();
}

/** With the embedded database the profile is kept in `dev.json`, so that the CLI needs no flags. */
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
