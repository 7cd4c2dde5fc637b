// One node of a cluster hangs, or is killed: the projects of the other node are served, closed and
// told as if nothing had happened, its own get 503 in time, and nothing needs a restart. The
// workers are reached through proxies, so that one of them can fail for this test alone.

import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { initTenant, type Profile } from "../../src/main.ts";
import { distribute } from "../../src/store/cluster.ts";
import { type Connection, Pool } from "../../src/store/db.ts";
import { migrate } from "../../src/store/migrate.ts";
import { ClusterPlacement } from "../../src/store/placement.ts";
import { sql } from "../../src/store/sql.ts";
import { formCluster } from "../support/cluster.ts";
import { newDatabase } from "../support/database.ts";
import { Caller, type ServiceProcess, startService, until } from "../support/processes.ts";
import { Receiver } from "../support/receiver.ts";
import { SilentProxy } from "../support/silent-proxy.ts";

const PROJECTS_EACH = 3;
const SHARDS = 4;
const AWAY_MS = 10_000;
const TURN_MS = 200;
/** What the projects of the node itself may wait for their 503. */
const HANGING_MS = 5_000;
const KILLED_MS = 500;
/** What anybody else may wait, at the 99th percentile. */
const OTHERS_MS = 1_000;
const BACK_MS = 5_000;

const LOOPBACK = /^(127\.|localhost$)/.test(new URL(process.env.CLUSTER_URL ?? "").hostname);
/** The nodes must reach the proxies, which are where the tests are. */
const here = test.skipIf(!LOOPBACK);

type Project = { readonly node: string; readonly caller: Caller; readonly profile: Profile };
type Answer = {
  readonly node: string;
  readonly status: number;
  readonly at_ms: number;
  readonly took_ms: number;
};

let connection: Connection;
let db: Pool;
let proxy: SilentProxy;
let service: ServiceProcess;
let receiver: Receiver;
/** The node behind the proxy that fails. */
let failing: string;
let projects: Project[] = [];
const undo: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  if (!LOOPBACK) return;
  const [first, second] = inject("workers") as [Connection, Connection];
  const proxies = [await SilentProxy.open(first), await SilentProxy.open(second)] as const;
  proxy = proxies[1];
  const database = await newDatabase([inject("server"), first, second], "template0");
  undo.push(
    () => database.drop(),
    () => proxies[0].close(),
    () => proxies[1].close(),
  );
  connection = database.connection;
  const servers = [inject("server"), ...proxies.map((each) => each.connection)];
  await formCluster(servers, database.name);
  await migrate(connection);
  await distribute(connection, { shards: SHARDS, progress: { starting() {}, done() {} } });
  db = new Pool(connection, {
    max: 4,
    statement_timeout_ms: 20_000,
    lock_timeout_ms: 5_000,
    application_name: "dues test",
  });
  undo.push(() => db.end());
  failing = `127.0.0.1:${proxy.port}`;
  receiver = await Receiver.start();
  undo.push(() => receiver.close());
  const env = { WEBHOOK_ALLOW_PRIVATE: "1", LOG_LEVEL: "silent" };
  service = await startService({ connection, role: "all", env });
  undo.push(() => service.signal("SIGKILL"));
  projects = await makeProjects();
});
afterAll(async () => {
  for (const step of undo.reverse()) await step();
});

/** Some on each node. */
async function makeProjects(): Promise<Project[]> {
  const placement = new ClusterPlacement(db);
  const made: Project[] = [];
  for (let n = 0; made.length < 2 * PROJECTS_EACH; n++) {
    const slugs = { org: "acme", workspace: "main", project: `p${n}` };
    const profile = await initTenant(db, slugs, "live", "", new Date());
    const node = await placement.nodeOf(profile.project_id);
    if (made.filter((one) => one.node === node).length >= PROJECTS_EACH) continue;
    const caller = new Caller(profile);
    undo.push(() => caller.close());
    await fill(caller);
    made.push({ node, caller, profile });
  }
  return made;
}

async function fill(caller: Caller): Promise<void> {
  const post = (path: string, body: object) => caller.ok(service, "POST", path, body);
  const metric = { code: "calls", name: "Calls", aggregation_type: "sum", field_name: "n" };
  await post("/v1/metrics", metric);
  const { plan } = await post("/v1/plans", {
    code: "pro",
    name: "Pro",
    interval: "monthly",
    amount_cents: 1_000,
    amount_currency: "USD",
    charges: [{ type: "standard", metric_ref: "calls", rate: "0.01" }],
  });
  const named = { external_id: "c", name: "C", email: "c@example.com", currency: "USD" };
  const { customer } = await post("/v1/customers", named);
  const started = { external_id: "s", customer_id: customer.id, plan_id: plan.id };
  await post("/v1/subscriptions", started);
  await post("/v1/webhooks", { url: receiver.url(), events: ["invoice.created"] });
}

const CALLS: readonly ((n: string) => [string, string, object?])[] = [
  () => ["GET", "/v1/customers/ext:c"],
  (n) => ["POST", "/v1/events", event(n)],
  (n) => ["PATCH", "/v1/customers/ext:c", { name: `C ${n}` }],
  () => ["GET", "/v1/customers?limit=5"],
];

function event(transaction_id: string) {
  return { transaction_id, subscription_id: "ext:s", code: "calls", properties: { n: "1" } };
}

/** Each project makes a call at every turn, whether or not the last was answered. */
function load() {
  const answers: Answer[] = [];
  const calls: Promise<void>[] = [];
  const started = performance.now();
  const call = async ({ node, caller }: Project, n: number) => {
    const at = performance.now();
    const [method, path, body] = CALLS[n % CALLS.length]?.(`${started} ${n}`) ?? ["GET", "/"];
    const { status } = await caller.call(service, method, path, body);
    answers.push({ node, status, at_ms: at - started, took_ms: performance.now() - at });
  };
  let n = 0;
  const timer = setInterval(() => {
    for (const project of projects) calls.push(call(project, n));
    n += 1;
  }, TURN_MS);
  return {
    now_ms: () => performance.now() - started,
    async stop() {
      clearInterval(timer);
      await Promise.all(calls);
      return answers;
    },
  };
}

function percentile99(answers: readonly Answer[]): number {
  const sorted = answers.map(({ took_ms }) => took_ms).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN;
}

/** Closes a period of a project that is not at the failing node; how long until it was told. */
async function closeAndTell(): Promise<number> {
  const healthy = projects.find(({ node }) => node !== failing);
  const told = receiver.received.length;
  const started = performance.now();
  await db.run(sql`
    update subscriptions
       set current_period_start = '2026-01-01', current_period_next = '2026-02-01'
     where project_id = ${healthy?.profile.project_id}`);
  await until(() => receiver.received.length > told, 20_000);
  return performance.now() - started;
}

async function failAndComeBack(fail: () => unknown, comeBack: () => unknown) {
  await Promise.all(projects.map(({ caller }) => caller.ok(service, "GET", "/v1/customers/ext:c")));
  const running = load();
  await pause(2_000);
  const away_ms = running.now_ms();
  await fail();
  await pause(500);
  const told_ms = await closeAndTell();
  await pause(Math.max(0, away_ms + AWAY_MS - running.now_ms()));
  await comeBack();
  const back_ms = running.now_ms();
  await pause(BACK_MS + 2_000);
  const answers = await running.stop();
  const others = answers.filter(({ node }) => node !== failing);
  const own = answers.filter(({ node }) => node === failing);
  return { away_ms, back_ms, told_ms, others, own };
}

type Seen = Awaited<ReturnType<typeof failAndComeBack>>;

function expectIsolation({ others, own, away_ms, back_ms, told_ms }: Seen, refused_ms: number) {
  const meanwhile = others.filter(({ at_ms }) => at_ms >= away_ms && at_ms < back_ms);
  expect(others.filter(({ status }) => status >= 300)).toEqual([]);
  expect(meanwhile.length).toBeGreaterThan(100);
  expect(percentile99(meanwhile)).toBeLessThan(OTHERS_MS);
  expect(told_ms).toBeLessThan(BACK_MS);
  const refused = own.filter(({ status }) => status === 503);
  expect(refused.length).toBeGreaterThan(10);
  expect(percentile99(refused)).toBeLessThan(refused_ms);
  expect(own.filter(({ status }) => status >= 300 && status !== 503)).toEqual([]);
  const after = own.filter(({ at_ms }) => at_ms > back_ms + BACK_MS);
  expect(after.length).toBeGreaterThan(0);
  expect(after.filter(({ status }) => status >= 300)).toEqual([]);
}

here("a node that hangs holds up nobody else", async () => {
  const seen = await failAndComeBack(
    () => proxy.hang(),
    () => proxy.goOn(),
  );
  expectIsolation(seen, HANGING_MS);
});

here("a node that is killed holds up nobody else", async () => {
  const seen = await failAndComeBack(
    () => proxy.die(),
    () => proxy.comeBack(),
  );
  expectIsolation(seen, KILLED_MS);
});

here("a process starts while a node is away, and serves the projects of the others", async () => {
  proxy.die();
  try {
    const another = await startService({ connection, role: "api", env: { LOG_LEVEL: "silent" } });
    undo.push(() => another.signal("SIGKILL"));
    for (const { node, caller } of projects) {
      const { status } = await caller.call(another, "GET", "/v1/customers/ext:c");
      expect(status).toBe(node === failing ? 503 : 200);
    }
  } finally {
    await proxy.comeBack();
  }
});
