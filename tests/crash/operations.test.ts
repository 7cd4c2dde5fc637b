// Every write dies before and after each of its statements, and with the answer to its commit
// lost. Then the caller tries again: the effect is there once, and all books agree.

import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { Bounds } from "../../src/http/admission/bound.ts";
import type { HttpServer } from "../../src/http/server.ts";
import { routeTable } from "../../src/http/table.ts";
import type { ProjectId } from "../../src/ids.ts";
import { catchUp } from "../../src/operations/clock/catch-up.ts";
import { closeDue } from "../../src/operations/closing/close.ts";
import { issueSupplements } from "../../src/operations/closing/supplements.ts";
import { scheduler } from "../../src/operations/emit.ts";
import { markOverdue } from "../../src/operations/issuing/mark-overdue.ts";
import { expireGrants } from "../../src/operations/money/grant-credit.ts";
import { apiServer } from "../../src/service/api-server.ts";
import { Pool } from "../../src/store/db/db.ts";
import { sql } from "../../src/store/db/sql.ts";
import { getSettingsById } from "../../src/store/tenants/tenants.ts";
import { billingJob } from "../../src/workers/billing.ts";
import { App, startApp } from "../support/app.ts";
import { Client } from "../support/client.ts";
import { testContext } from "../support/context.ts";
import { type Death, MortalDb } from "../support/crash.ts";
import { onCluster } from "../support/database.ts";
import { happyCalls } from "../support/happy-calls.ts";
import { checkInvariants } from "../support/invariants.ts";
import { runToEnd } from "../support/run-job.ts";
import {
  type Copy,
  changedTables,
  copyTenant,
  countRows,
  normaliser,
  type Rows,
  snapshot,
  tenantTables,
} from "../support/snapshots.ts";
import { makeWorld, type World } from "./world.ts";
import { WRITES, type Write } from "./writes.ts";

// A deep run takes every statement of every operation on both sides. Every day each statement dies
// on one side only, and of long operations so many, spread over all of it.
const DEATHS_MAX = 2;
const deep = process.env.DUES_DEEP === "1";
const CASES_MIN = deep ? 1_000 : 200;
const TEST_MS = deep ? 1_200_000 : onCluster ? 480_000 : 120_000;
const UUID = /[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;
const WALL = new Date("2026-01-01T00:00:00.000Z");

let app: App;
let victims: Pool;
let mortal: MortalDb;
let server: HttpServer;
let world: World;
let tables: Awaited<ReturnType<typeof tenantTables>>;
let normalised: ReturnType<typeof normaliser>;
/** A copy in which nothing has happened. */
let start: { readonly rows: ReadonlyMap<string, Rows>; readonly lines: readonly string[] };
let untouched: string[];
/** Which case a project was made for. */
const labels = new Map<string, string>();

beforeAll(async () => {
  app = await startApp({ clock: { now: () => WALL }, env: { CLOCK_SKEW_LIMIT_S: "0" } });
  world = await makeWorld(app);
  // Connections of its own: those that look on stay warm while these are killed.
  victims = new Pool(app.connection, {
    max: 2,
    statement_timeout_ms: 20_000,
    lock_timeout_ms: 5_000,
    application_name: "dues victims",
  });
  mortal = new MortalDb(victims);
  const context = testContext({ ...app.context, db: mortal, secret_key: randomBytes(32) });
  server = apiServer(context, { draining: false, schema_version: 1, warnings: [] });
  await server.fastify.ready();
  const { db } = app.context;
  tables = await tenantTables(db);
  normalised = normaliser(await snapshot(db, tables, world.organization));
  const first = await copy();
  const lines = await snapshot(db, tables, first.organization, inOriginal(first.moved));
  start = { rows: onCluster ? new Map() : await countRows(db, tables, first), lines };
  untouched = await stateOf(await copy());
});

afterAll(async () => {
  await server.fastify.close();
  await victims.end();
  await app.close();
});

/** An organization of its own for every case: what a write may touch is all there is in it. */
type Target = Copy & World & { readonly project: ProjectId };
type Outcome = { readonly ok: boolean; readonly replayed?: boolean };
type Operation = Pick<Write, "name" | "atomic" | "repeats"> & {
  run(target: Target): Promise<Outcome>;
};

/** A caller's write, over HTTP. */
function asked(write: Write): Operation {
  return {
    ...write,
    async run(target) {
      const answer = await send(write, target);
      // A tool that fails is answered with a 200 that says so.
      const failed = answer.statusCode >= 300 || answer.body.includes('"isError":true');
      const isAway = answer.statusCode === 503 || answer.body.includes("unavailable");
      if (failed && !isAway) throw new Error(answer.body);
      return { ok: !failed, replayed: answer.headers["idempotent-replayed"] === "true" };
    },
  };
}

function send({ method, url, body, keyed, project }: Write, target: Target) {
  const { ids, token } = target;
  const payload = body?.(ids);
  const project_id = project === undefined ? target.project : project?.(ids);
  return server.fastify.inject({
    method: method as "POST",
    url: url(ids),
    headers: {
      authorization: `Bearer ${token}`,
      ...(project_id !== undefined && { "x-project-id": project_id }),
      ...(keyed !== false && { "idempotency-key": "the same key" }),
    },
    ...(payload !== undefined && { payload }),
  });
}

/** Work of the workers, as one of them does it for one project. */
function work(
  name: string,
  act: (target: Target) => Promise<unknown>,
  more: { atomic?: false } = {},
): Operation {
  return {
    name,
    ...more,
    async run(target) {
      try {
        await act(target);
        return { ok: true };
      } catch (error) {
        if ((error as { code?: string }).code !== "unavailable") throw error;
        return { ok: false };
      }
    },
  };
}

const by = scheduler({ portal_auto_invalidate: false });
const MARCH = new Date("2025-03-01T00:00:00.000Z");
const LATER = new Date("2025-02-16T00:00:00.000Z");

const OPERATIONS: readonly Operation[] = [
  ...WRITES.map(asked),
  work("close the ended periods", async ({ project }) => {
    const settings = await getSettingsById(mortal, project);
    await mortal.tx((tx) => closeDue(tx, settings, by, MARCH, "usage locks"));
  }),
  work("invoice the late usage of an ended subscription", async ({ project }) => {
    const settings = await getSettingsById(mortal, project);
    await mortal.tx((tx) => issueSupplements(tx, settings, by, LATER));
  }),
  work("have a subscription catch up", async ({ project }) => {
    const settings = await getSettingsById(mortal, project);
    await mortal.tx((tx) => catchUp(tx, settings, "ext:s1", by, MARCH));
  }),
  work("mark invoices overdue", async ({ project }) => {
    const settings = await getSettingsById(mortal, project);
    await mortal.tx((tx) => markOverdue(tx, settings, by, LATER));
  }),
  work("let grants expire", async ({ project }) => {
    const settings = await getSettingsById(mortal, project);
    await mortal.tx((tx) => expireGrants(tx, settings, by, LATER));
  }),
  work(
    "a worker's whole round",
    async ({ project }) => {
      await app.context.db.run({
        text: "update project_clocks set frozen_at = $2 where project_id = $1",
        values: [project, new Date("2025-03-02T00:00:00.000Z")],
      });
      const job = billingJob({ ...app.context, db: mortal });
      await runToEnd(job);
    },
    { atomic: false },
  ),
];

async function copy(): Promise<Target> {
  const made = await copyTenant(app.context.db, tables, world);
  const inCopy = (id: string) => made.moved.get(id) ?? id;
  const ids = Object.entries(world.ids).map(([name, id]) => [name, inCopy(id)]);
  return {
    ...made,
    token_id: world.token_id,
    project: inCopy(world.project) as ProjectId,
    ids: Object.fromEntries(ids),
  };
}

/** What the organization holds, without what depends on when and how often it was tried. */
async function stateOf(target: Target): Promise<string[]> {
  const { db } = app.context;
  // On a cluster rows do not tell who wrote them.
  const changed = onCluster ? tables : await changedTables(db, tables, target, start.rows);
  const names = new Set(changed.map(({ name }) => name));
  const same = start.lines.filter((line) => !names.has(line.slice(0, line.indexOf(" "))));
  const { organization, moved } = target;
  const others = await snapshot(db, changed, organization, inOriginal(moved));
  const lines = [...same, ...others];
  // A clock that is moved again logs that again, at the next position.
  const kept = lines.filter((line) => !/^log_heads|"event_type": "clock.advanced"/.test(line));
  return normalised(kept.map(withoutSeals));
}

/** Ids of a copy as the original has them. */
function inOriginal(moved: Copy["moved"]): ReadonlyMap<string, string> {
  return new Map([...moved].map(([original, copied]) => [copied, original]));
}

/** An answer that carries a secret is stored encrypted, to other bytes each time. */
function withoutSeals(line: string): string {
  if (!line.startsWith("idempotency_keys")) return line;
  return line.replace(/"body": "[\w+/=]+"/, '"body": "<encrypted>"');
}

/** All that an organization holds after a write, and after a repeat of it. */
type States = Readonly<Record<"done" | "again", string[]>>;

/** One case: dies as told, leaves no trace, and is done once when it is tried again. */
async function dieAndRetry(operation: Operation, death: Death, states: States): Promise<void> {
  const target = await copy();
  const label = `${operation.name}, dies ${death.when} ${death.statement}`;
  const isLost = death.when === "lost";
  labels.set(target.project, label);
  mortal.arm(death);
  const first = await operation.run(target);
  expect(mortal.died, label).toBe(true);
  expect(first.ok, label).toBe(false);
  if (operation.atomic !== false) {
    expect(await stateOf(target), label).toEqual(isLost ? states.done : untouched);
  }
  mortal.arm();
  const second = await operation.run(target);
  expect(second.ok, label).toBe(true);
  if (second.replayed !== undefined && !isLost) expect(second.replayed).toBe(false);
  expect(await stateOf(target), label).toEqual(isLost ? states.again : states.done);
}

/** What is there for repeats alone shows that a write was asked for, not what came of it. */
function isEffect(line: string): boolean {
  return !line.startsWith("idempotency_keys");
}

/** Where this run lets an operation of so many statements die. */
function deathsOf(statements: number): Death[] {
  const all = Array.from({ length: statements }, (_, i) => i + 1);
  if (deep) {
    return all.flatMap((statement) => [
      { statement, when: "before" as const },
      { statement, when: "after" as const },
    ]);
  }
  const step = Math.max(1, statements / DEATHS_MAX);
  const chosen = all.filter((n) => Math.floor(n / step) > Math.floor((n - 1) / step));
  return chosen.map((statement, i) => ({ statement, when: i % 2 === 0 ? "before" : "after" }));
}

/** Nothing is due at the instant of the world: it dies as work, later. */
const LATER_ONLY = "POST /v1/subscriptions/:id/catch-up";

/** Declared as neither read nor write: it reads, in a snapshot. */
const READS = ["POST /v1/invoices/preview", "POST /v1/credit-notes/preview"];

class WatchedClient extends Client {
  override call(...sent: Parameters<Client["call"]>): ReturnType<Client["call"]> {
    mortal.arm();
    return super.call(...sent);
  }
}

/** Routes that commit something when they are called as they should be, whatever their kind. */
async function committingRoutes(): Promise<Set<string>> {
  const { organization, token, ids } = await copy();
  const project = ids.empty ?? "";
  const profile = { ...app.profile, organization_id: organization, project_id: project, token };
  const { context, connection } = app;
  const copied = new App({ server, context, connection, profile, close: async () => {} });
  await copied.freeze("2026-01-10T09:00:00.000Z");
  const found = new Set<string>();
  for await (const { name, answer } of happyCalls(new WatchedClient(copied, { token, project }))) {
    expect(answer.status, name).toBeLessThan(300);
    if (mortal.commits > 0) found.add(name);
  }
  // A worker's round is a case of its own, and takes up whatever was left to do.
  await app.runWorkers();
  return found;
}

test("every route that writes is among them", async () => {
  const calls = WRITES.map(({ method, url }) => `${method} ${url(world.ids)}`);
  const paths = [...calls, LATER_ONLY];
  const committing = await committingRoutes();
  const readiness = { draining: false, schema_version: 1, warnings: [] };
  const missing = routeTable(app.context, readiness, new Bounds()).filter(
    ({ kind, method, path }) => {
      const name = `${method} ${path}`;
      const isMeant = (kind === "write" || kind === "own") && !READS.includes(name);
      const pattern = new RegExp(`^${name.replace(/:\w+/g, "[^/]+")}$`);
      return (isMeant || committing.has(name)) && !paths.some((each) => pattern.test(each));
    },
  );
  expect(missing.map(({ method, path }) => `${method} ${path}`)).toEqual([]);
});

/** Tokens made by "create a token", each with the projects whose log tells of it. */
function newTokens({ organization }: Target) {
  return app.context.db.many<{ id: string; told: string[] }>(sql`
    select t.id, array_agg(b.project_id order by b.project_id) as told
      from tokens t
      join projects p on p.organization_id = t.organization_id
      left join billing_events b on b.project_id = p.id and b.event_type = 'token.created'
                                and b.resource_id = t.id and b.actor_token_id = t.id
                                and b.payload ->> 'key_prefix' = t.key_prefix
     where t.organization_id = ${organization} and t.name = 'new'
     group by t.id
     order by t.id`);
}

test("a token is there whole or not at all; a repeat after a lost answer gives the same", async () => {
  const create = WRITES.find(({ name }) => name === "create a token") as Write;
  const target = await copy();
  const told = [target.project, target.ids.empty].sort();
  const rowWritten = 2;
  mortal.arm({ statement: rowWritten, when: "after" });
  expect((await send(create, target)).statusCode).toBe(503);
  expect(await newTokens(target)).toEqual([]);

  mortal.arm({ statement: 1, when: "lost" });
  expect((await send(create, target)).statusCode).toBe(503);
  const left = await newTokens(target);
  expect(left).toEqual([{ id: expect.any(String), told }]);

  mortal.arm();
  const { id, token } = (await send(create, target)).json();
  expect(await newTokens(target)).toEqual(left);
  expect(left.map((each) => each.id)).toEqual([id]);
  const headers = { authorization: `Bearer ${token}` };
  const me = await server.fastify.inject({ url: "/v1/keys/me", headers });
  expect(me.json().token.id).toBe(id);
  const lines = await snapshot(app.context.db, tables, target.organization);
  // The answer that is kept for the key is encrypted.
  expect(lines.filter((line) => line.includes(token))).toEqual([]);
});

describe("a death leaves no trace, and trying again does it once", () => {
  test.each(OPERATIONS)(
    "$name",
    async (operation) => {
      // A worker's round would also do what earlier cases left to do, such as their dunning.
      if (operation.atomic === false) await app.runWorkers();
      const undisturbed = await copy();
      mortal.arm();
      expect(await operation.run(undisturbed)).toMatchObject({ ok: true });
      const { statements, commits } = mortal;
      expect(statements).toBeGreaterThan(0);
      const done = await stateOf(undisturbed);
      expect(done.filter(isEffect)).not.toEqual(untouched.filter(isEffect));
      const states = { done, again: done };
      if (operation.repeats) {
        await operation.run(undisturbed);
        states.again = await stateOf(undisturbed);
      }

      for (const death of deathsOf(statements)) await dieAndRetry(operation, death, states);
      for (let commit = 1; commit <= commits; commit++) {
        await dieAndRetry(operation, { statement: commit, when: "lost" }, states);
      }
    },
    TEST_MS,
  );

  test("after all of it the books of every project agree", async () => {
    if (deep) console.info(`${OPERATIONS.length} operations, ${labels.size} deaths`);
    expect(labels.size).toBeGreaterThanOrEqual(CASES_MIN);
    const broken = await checkInvariants(app.context.db);
    const named = broken.map((line) => line.replace(UUID, (id) => labels.get(id) ?? id));
    expect(named).toEqual([]);
  });
});
