// The service as a function: what most tests talk to, on a database of its own or on one that the
// files of a worker share.

import { randomBytes } from "node:crypto";
import type { LightMyRequestResponse } from "fastify";
import { type Clock, systemClock } from "../../src/clock.ts";
import { type Config, readConfig } from "../../src/config.ts";
import type { Context } from "../../src/context.ts";
import type { HttpServer } from "../../src/http/server.ts";
import { readSecretKey } from "../../src/key-file.ts";
import { apiServer } from "../../src/service/api-server.ts";
import { initTenant } from "../../src/service/first-tenant.ts";
import type { Profile } from "../../src/service/profile.ts";
import { limitByNode } from "../../src/store/cluster/cluster-db.ts";
import { ONE_NODE } from "../../src/store/cluster/placement.ts";
import { type Connection, Pool } from "../../src/store/db/db.ts";
import { Pipeline } from "../../src/store/db/pipeline.ts";
import { schemaVersion } from "../../src/store/migration/migrate.ts";
import { billingJob } from "../../src/workers/billing.ts";
import { testContext } from "./context.ts";
import { onCluster, testDatabase } from "./database.ts";
import { expectDeclared } from "./declared-errors.ts";
import { runToEnd } from "./run-job.ts";

export type Body = Record<string, unknown>;
/** Answers are checked by tests, not by the compiler. */
// biome-ignore lint/suspicious/noExplicitAny: a test reads any field of any answer
export type Json = any;

export type Answer = { status: number; body: Json; headers: LightMyRequestResponse["headers"] };

export type Options = {
  readonly at?: string;
  readonly mode?: "live" | "sandbox";
  readonly env?: Record<string, string>;
  readonly clock?: Clock;
};

export class App {
  readonly server: HttpServer;
  readonly context: Context;
  readonly connection: Connection;
  readonly profile: Profile;
  /** Whether others are on the same server. */
  readonly #shared: boolean;
  readonly #close: () => Promise<void>;

  constructor(parts: {
    server: HttpServer;
    context: Context;
    connection: Connection;
    profile: Profile;
    shared?: boolean;
    close: () => Promise<void>;
  }) {
    this.server = parts.server;
    this.context = parts.context;
    this.connection = parts.connection;
    this.profile = parts.profile;
    this.#shared = parts.shared ?? false;
    this.#close = parts.close;
  }

  /** Any request, with the profile's token and project unless told otherwise. */
  async call(method: string, url: string, body?: unknown, headers: Body = {}): Promise<Answer> {
    const sent = {
      authorization: `Bearer ${this.profile.token}`,
      "x-project-id": this.profile.project_id,
      ...headers,
    };
    const given = Object.fromEntries(
      Object.entries(sent).filter(([, value]) => value !== undefined),
    );
    const answer = await this.server.fastify.inject({
      method: method as "GET",
      url,
      headers: given as Record<string, string>,
      ...(body !== undefined && { payload: body as object }),
    });
    const text = answer.body;
    const isJson = String(answer.headers["content-type"] ?? "").includes("json");
    const parsed = isJson && text !== "" ? JSON.parse(text) : text;
    expectDeclared(method, url, parsed);
    return { status: answer.statusCode, body: parsed, headers: answer.headers };
  }

  /** The same server, called for another project. Closing it leaves the server open. */
  inProject(project_id: string): App {
    return this.#as({ ...this.profile, project_id });
  }

  /** The same server, called by another organization, which has a project. */
  async inOrganization(org: string, mode: "live" | "sandbox" = "sandbox"): Promise<App> {
    const { db, clock, config } = this.context;
    const slugs = { org, workspace: "main", project: "test" };
    return this.#as(await initTenant(db, slugs, mode, config.base_url, clock.now()), true);
  }

  #as(profile: Profile, shared = this.#shared): App {
    return new App({ ...this, profile, shared, close: async () => {} });
  }

  /** A call that must succeed; the body of its answer. */
  async ok(method: string, url: string, body?: unknown, headers: Body = {}): Promise<Json> {
    const answer = await this.call(method, url, body, headers);
    if (answer.status >= 300) {
      throw new Error(`${method} ${url}: ${answer.status} ${JSON.stringify(answer.body)}`);
    }
    return answer.body;
  }

  get(url: string): Promise<Json> {
    return this.ok("GET", url);
  }

  post(url: string, body?: unknown, headers: Body = {}): Promise<Json> {
    return this.ok("POST", url, body, headers);
  }

  patch(url: string, body: unknown): Promise<Json> {
    return this.ok("PATCH", url, body);
  }

  freeze(at: string): Promise<Json> {
    return this.post("/v1/clock", { frozen_at: at });
  }

  travelTo(to: string): Promise<Json> {
    return this.post("/v1/clock/advance", { to });
  }

  /** Runs what the workers would; returns how much there was. */
  runWorkers(): Promise<number> {
    if (this.#shared) throw new Error("They would work for all files: this one needs startApp().");
    return runToEnd(billingJob(this.context));
  }

  close(): Promise<void> {
    return this.#close();
  }
}

export function testConfig(env: Record<string, string> = {}): Config {
  // The test runner has a BASE_URL of its own in the environment.
  return readConfig({ LOG_LEVEL: "silent", BASE_URL: "", ...env });
}

let shared: Promise<App> | undefined;
let organizations = 0;

/**
 * An organization of its own on the server and the database of the worker, which live until the run
 * ends. For files that look at nothing but their own projects; the others take startApp().
 */
export async function sharedApp({ at, mode }: Pick<Options, "at" | "mode"> = {}): Promise<App> {
  shared ??= startApp();
  organizations += 1;
  const app = await (await shared).inOrganization(`acme-${organizations}`, mode);
  if (at !== undefined) await app.freeze(at);
  return app;
}

/** A server on a fresh database with one tenant; a sandbox project frozen at `at` when given. */
export async function startApp(options: Options = {}): Promise<App> {
  const database = await testDatabase();
  const { connection } = database;
  const config = testConfig(options.env);
  const clock = options.clock ?? systemClock;
  const pool = new Pool(connection, {
    max: config.pool_max,
    statement_timeout_ms: 20_000,
    lock_timeout_ms: 5_000,
    application_name: "dues test",
  });
  const secret_key = config.secret_key === undefined ? randomBytes(32) : readSecretKey(config);
  const pipeline = () =>
    new Pipeline(connection, {
      max: 2,
      statement_timeout_ms: 20_000,
      lock_timeout_ms: 5_000,
      application_name: "dues test",
    });
  const limits = { max: config.pool_max, wait_ms: 5_000 };
  const { end, ...access } = limitByNode(pool, pipeline, limits, onCluster);
  // As on one node, a tick ends with its work: by node, what takes over a second goes on alone.
  const context = testContext({ config, ...access, placement: ONE_NODE, clock, secret_key });
  const readiness = { draining: false, schema_version: await schemaVersion(), warnings: [] };
  const server = apiServer(context, readiness);
  await server.fastify.ready();
  const slugs = { org: "acme", workspace: "main", project: "test" };
  const mode = options.mode ?? "sandbox";
  const profile = await initTenant(pool, slugs, mode, config.base_url, clock.now());
  const close = async () => {
    await server.fastify.close();
    await end();
    await pool.end();
    await database.drop();
  };
  const app = new App({ server, context, connection, profile, close });
  if (options.at !== undefined) await app.freeze(options.at);
  return app;
}
