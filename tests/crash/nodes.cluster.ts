// One node of a cluster hangs, or is killed: the projects of the other node are served, closed and
// told as if nothing had happened, its own get 503 in time, nothing that was acknowledged is lost,
// and nothing needs a restart. Where PostgreSQL can be started here, the node that fails is a
// server of this test, whose processes get SIGSTOP and SIGKILL; elsewhere a proxy before a worker.

import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { initTenant } from "../../src/service/first-tenant.ts";
import type { Profile } from "../../src/service/profile.ts";
import { distribute } from "../../src/store/cluster/distribute.ts";
import { ClusterPlacement } from "../../src/store/cluster/placement.ts";
import { type Connection, Pool } from "../../src/store/db/db.ts";
import { sql } from "../../src/store/db/sql.ts";
import { migrate } from "../../src/store/migration/migrate.ts";
import { formCluster } from "../support/cluster.ts";
import { newDatabase } from "../support/database.ts";
import { Caller, type ServiceProcess, startService, until } from "../support/processes.ts";
import { Receiver } from "../support/receiver.ts";
import { SilentProxy } from "../support/silent-proxy.ts";
import { WorkerServer } from "../support/worker-server.ts";

const PROJECTS_EACH = 3;
const SHARDS = 4;
const AWAY_MS = 10_000;
/** What callers see before a node fails, and for how long it has failed when a close is due. */
const BEFORE_MS = 2_000;
const FAILED_MS = 500;
const TURN_MS = 100;
/** What the projects of the node itself may wait for their 503. */
const HANGING_MS = 5_000;
const KILLED_MS = 500;
/** What anybody else may wait, at the 99th percentile. */
const OTHERS_MS = 1_000;
/** What most of the reads wait that a node which is away cannot answer: they are told at once. */
const TOLD_MS = 200;
const BACK_MS = 5_000;

const LOOPBACK = /^(127\.|localhost$)/.test(new URL(process.env.CLUSTER_URL ?? "").hostname);
/** The nodes must reach the one that fails, which is where the tests are. */
const here = test.skipIf(!LOOPBACK);

/** What a project was told is stored: transaction ids of events, and customers that were made. */
type Acknowledged = { readonly events: string[]; readonly customers: string[] };
type Project = {
  readonly node: string;
  readonly caller: Caller;
  readonly profile: Profile;
  readonly acknowledged: Acknowledged;
};
type Answer = {
  readonly node: string;
  readonly status: number;
  /** What was asked and the message, of a refusal. */
  readonly says: string | undefined;
  readonly at_ms: number;
  readonly took_ms: number;
};

let connection: Connection;
let db: Pool;
let worker: WorkerServer | SilentProxy;
let service: ServiceProcess;
let receiver: Receiver;
/** The address of the node that fails. */
let failing: string;
let projects: Project[] = [];
const undo: (() => Promise<unknown>)[] = [];

beforeAll(async () => {
  if (!LOOPBACK) return;
  const [first, second] = inject("workers") as [Connection, Connection];
  const own = await WorkerServer.start(inject("server"));
  if (own === undefined) {
    process.stderr.write(
      "The cluster's programs are not on this machine: a proxy fails instead.\n",
    );
  }
  worker = own ?? (await SilentProxy.open(second));
  undo.push(() => worker.close());
  const database = await newDatabase(
    [inject("server"), first, own?.connection ?? second],
    "template0",
  );
  undo.push(() => database.drop());
  connection = database.connection;
  await formCluster([inject("server"), first, worker.connection], database.name);
  await migrate(connection);
  await distribute(connection, { shards: SHARDS, progress: { starting() {}, done() {} } });
  db = new Pool(connection, {
    max: 4,
    statement_timeout_ms: 20_000,
    lock_timeout_ms: 5_000,
    application_name: "dues test",
  });
  undo.push(() => db.end());
  failing = `127.0.0.1:${worker.port}`;
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
    made.push({ node, caller, profile, acknowledged: { events: [], customers: [] } });
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
  const made = await post("/v1/customers", customer("c"));
  const started = { external_id: "s", customer_id: made.customer.id, plan_id: plan.id };
  await post("/v1/subscriptions", started);
  await post("/v1/webhooks", { url: receiver.url(), events: ["invoice.created"] });
}

type Call = {
  readonly asks: readonly [method: string, path: string, body?: object];
  /** The list that `id` is added to once the call is answered. */
  readonly stores?: keyof Acknowledged;
};

const CALLS: readonly ((id: string) => Call)[] = [
  () => ({ asks: ["GET", "/v1/customers/ext:c"] }),
  (id) => ({ asks: ["POST", "/v1/events", event(id)], stores: "events" }),
  (id) => ({ asks: ["PATCH", "/v1/customers/ext:c", { name: `C ${id}` }] }),
  () => ({ asks: ["GET", "/v1/customers?limit=5"] }),
  (id) => ({ asks: ["POST", "/v1/customers", customer(id)], stores: "customers" }),
];

function customer(external_id: string) {
  return { external_id, name: "C", email: "c@example.com", currency: "USD" };
}

function event(transaction_id: string) {
  return { transaction_id, subscription_id: "ext:s", code: "calls", properties: { n: "1" } };
}

/** Each project makes a call at every turn, whether or not the last was answered. */
function load() {
  const answers: Answer[] = [];
  const calls: Promise<void>[] = [];
  const started = performance.now();
  const call = async ({ node, caller, acknowledged }: Project, make: (id: string) => Call) => {
    const at = performance.now();
    const id = randomUUID();
    const { asks, stores } = make(id);
    const { status, body } = await caller.call(service, ...asks);
    if (stores !== undefined && status < 300) acknowledged[stores].push(id);
    const took_ms = performance.now() - at;
    const says = body?.error?.message && `${asks[0]} ${asks[1]}: ${body.error.message}`;
    answers.push({ node, status, says, at_ms: at - started, took_ms });
  };
  let n = 0;
  const timer = setInterval(() => {
    const make = CALLS[n % CALLS.length] as (id: string) => Call;
    for (const project of projects) calls.push(call(project, make));
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
  return Math.round(sorted[Math.floor(sorted.length * 0.99)] ?? Number.NaN);
}

function middle(answers: readonly Answer[]): number {
  const sorted = answers.map(({ took_ms }) => took_ms).sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)] ?? Number.NaN;
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
  await pause(BEFORE_MS);
  const away_ms = running.now_ms();
  await fail();
  await pause(FAILED_MS);
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

const slowest = (answers: readonly Answer[]) =>
  Math.round(Math.max(...answers.map(({ took_ms }) => took_ms)));

function expectIsolation(seen: Seen, refused_ms: number) {
  const { others, own, away_ms, back_ms, told_ms } = seen;
  const meanwhile = others.filter(({ at_ms }) => at_ms >= away_ms && at_ms < back_ms);
  const refused = own.filter(({ status }) => status === 503);
  tell({
    others: `${others.length} answers, ${meanwhile.length} of them meanwhile`,
    others_p99_ms: percentile99(meanwhile),
    others_slowest_ms: slowest(meanwhile),
    closed_and_told_ms: Math.round(told_ms),
    own: `${own.length} answers, ${refused.length} of them 503`,
    refused_slowest_ms: slowest(refused),
    acknowledged: projects.flatMap(({ acknowledged }) => Object.values(acknowledged).flat()).length,
  });
  expect(others.filter(({ status }) => status >= 300)).toEqual([]);
  expect(meanwhile.length).toBeGreaterThan(100);
  expect(percentile99(meanwhile)).toBeLessThan(OTHERS_MS);
  expect(told_ms).toBeLessThan(BACK_MS);
  expect(refused.length).toBeGreaterThan(10);
  expect(slowest(refused)).toBeLessThan(refused_ms);
  const reads = refused.filter(({ says }) => says?.startsWith("GET /v1/customers/ext:c"));
  expect(reads.length).toBeGreaterThan(10);
  expect(middle(reads)).toBeLessThan(TOLD_MS);
  expect(own.filter(({ status }) => status >= 300 && status !== 503)).toEqual([]);
  const after = own.filter(({ at_ms }) => at_ms > back_ms + BACK_MS);
  expect(after.length).toBeGreaterThan(0);
  expect(after.filter(({ status }) => status >= 300)).toEqual([]);
}

/** The figures that docs/SCALING.md gives. */
function tell(figures: Record<string, string | number>): void {
  const title = worker instanceof WorkerServer ? "a server that fails" : "a proxy that fails";
  process.stdout.write(`${title}: ${JSON.stringify(figures, null, 2)}\n`);
}

/**
 * What was acknowledged is there. What was refused may be there too, and none of it is there twice:
 * sums count each event, and the log each customer, as often as their tables do.
 */
async function expectKept({ acknowledged, profile }: Project): Promise<void> {
  const project = profile.project_id;
  const kept = await db.one<Record<string, number>>(sql`
    select (select count(*) from usage_events e
             where e.project_id = ${project}
               and e.key = any(${acknowledged.events}::uuid[])) as events_told,
           (select count(*) from usage_events e where e.project_id = ${project}) as events,
           (select sum(d.events)::bigint from usage_days d
             where d.project_id = ${project}) as events_summed,
           (select count(*) from customers c
             where c.project_id = ${project}
               and c.external_id = any(${acknowledged.customers})) as customers_told,
           (select count(*) from customers c where c.project_id = ${project}) as customers,
           (select count(*) from billing_events b
             where b.project_id = ${project}
               and b.event_type = 'customer.created') as customers_logged`);
  expect(kept).toMatchObject({
    events_told: acknowledged.events.length,
    events_summed: kept.events,
    customers_told: acknowledged.customers.length,
    customers_logged: kept.customers,
  });
  expect(acknowledged.events.length).toBeGreaterThan(10);
  expect(acknowledged.customers.length).toBeGreaterThan(10);
}

here("a node that hangs holds up nobody else, and loses nothing", async () => {
  const seen = await failAndComeBack(
    () => worker.hang(),
    () => worker.goOn(),
  );
  expectIsolation(seen, HANGING_MS);
  for (const project of projects) await expectKept(project);
});

here("a node that is killed holds up nobody else, and loses nothing", async () => {
  const seen = await failAndComeBack(
    () => worker.die(),
    () => worker.comeBack(),
  );
  expectIsolation(seen, KILLED_MS);
  for (const project of projects) await expectKept(project);
});

here("a process starts while a node is away, and serves the projects of the others", async () => {
  await worker.die();
  try {
    const another = await startService({ connection, role: "api", env: { LOG_LEVEL: "silent" } });
    undo.push(() => another.signal("SIGKILL"));
    for (const { node, caller } of projects) {
      const { status } = await caller.call(another, "GET", "/v1/customers/ext:c");
      expect(status).toBe(node === failing ? 503 : 200);
    }
  } finally {
    await worker.comeBack();
  }
});
