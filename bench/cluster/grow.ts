// The last worker that CLUSTER_WORKERS names joins the others and takes its share of the shards,
// while every project is read, sends events and makes changes that are logged: what was refused
// meanwhile, the slowest call of each kind, and whether all that was answered is there.

import { strict as assert } from "node:assert";
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { rebalance } from "../../src/store/cluster/rebalance.ts";
import { sql } from "../../src/store/db/sql.ts";
import { amount, atMost, type Bench } from "../report.ts";
import { figure, headersOf, print, type Side, type Stage, startService } from "../stage.ts";
import { fillProjects } from "./projects.ts";
import { clusterServers, join, type NodeStage, openCluster } from "./stage.ts";

const PROJECTS = 24;
/** Between two rounds of a project, of a call of each kind: about 140 calls a second in all. */
const PAUSE_MS = 500;
const CALL_MAX_MS = 1_000;
const SETTLE_MS = 3_000;
/** The first calls open connections on every node, which is not what is measured. */
const WARM_UP_MS = 5_000;
/** Calls are counted for as long before the worker joins and after all is even. */
const MARGIN_MS = 2_000;

export const benchGrow: Bench = async () => {
  const fill = (stage: Stage) => fillProjects(stage, PROJECTS);
  const stage = await openCluster(clusterServers(), fill, 1);
  const service = await startService(stage, "all");
  try {
    await pause(SETTLE_MS);
    const callers = await callersOf(stage, service);
    const calling = Promise.all(callers.map((caller) => caller.run()));
    await pause(WARM_UP_MS);
    for (const { calls } of callers) calls.length = 0;
    const seconds = await grow(stage);
    for (const caller of callers) caller.stop();
    await calling;
    for (const caller of callers) await caller.assertStored(stage);
    const calls = callers.flatMap((caller) => caller.calls);
    const slowest = calls.toSorted((a, b) => b.took_ms - a.took_ms);
    for (const kind of new Set(calls.map((call) => call.kind))) printTimes(kind, calls);
    const long = slowest.filter(({ took_ms }) => took_ms > CALL_MAX_MS);
    print("calls over 1 s", `${figure(long.length)} of ${figure(calls.length)}`);
    print(
      "stored as answered",
      `${figure(callers.reduce((n, one) => n + one.accepted, 0))} writes`,
    );
    const refused = callers.flatMap(({ refusals }) => refusals);
    for (const refusal of new Set(refused)) print("refused", refusal);
    return [
      amount("a worker joins under load: refused", "calls", refused.length, atMost(0)),
      amount(
        "a worker joins under load: slowest call",
        "ms",
        slowest[0]?.took_ms ?? 0,
        atMost(CALL_MAX_MS),
      ),
      amount("a worker joins under load: until all is even", "s", seconds, null),
    ];
  } finally {
    await service.stop();
    await stage.end();
  }
};

/** Adds a node, and moves projects to it like `dues cluster rebalance`. */
async function grow(stage: NodeStage): Promise<number> {
  const [coordinator, worker] = [stage.nodes[0], stage.nodes.at(-1)];
  assert.ok(coordinator && worker);
  await pause(MARGIN_MS);
  const from = performance.now();
  await join(coordinator, worker);
  const { signal } = new AbortController();
  const { state, steps } = await rebalance(coordinator, { onProgress: () => {}, signal });
  const seconds = (performance.now() - from) / 1_000;
  assert.equal(state, "finished");
  print("steps of the rebalance", figure(steps));
  print("shards of each node", (await shardsOf(stage)).join(" / "));
  await pause(MARGIN_MS);
  return seconds;
}

async function shardsOf({ db }: Stage): Promise<number[]> {
  const rows = await db.many<{ shards: number }>(sql`
    select count(*) as shards
      from citus_shards
     where table_name = 'customers'::regclass
     group by nodename, nodeport
     order by nodeport`);
  return rows.map(({ shards }) => shards);
}

async function callersOf(stage: Stage, service: Side): Promise<Caller[]> {
  const projects = await stage.db.many<{ id: string }>(sql`select id from projects`);
  return projects.map(({ id }) => new Caller(service.url, headersOf(stage), id));
}

type Call = { readonly kind: string; readonly took_ms: number };

function printTimes(wanted: string, calls: readonly Call[]): void {
  const times = calls.filter(({ kind }) => kind === wanted).map(({ took_ms }) => took_ms);
  const sorted = times.toSorted((a, b) => a - b);
  const [p50, p99] = [0.5, 0.99].map((part) => sorted[Math.floor(sorted.length * part)] ?? 0);
  const shown = [p50 ?? 0, p99 ?? 0, sorted.at(-1) ?? 0].map(figure).join(" / ");
  print(`${wanted}: calls; p50 / p99 / slowest, ms`, `${figure(sorted.length)}; ${shown}`);
}

/** Makes a call of each kind for one project, one after the other. */
class Caller {
  readonly calls: Call[] = [];
  readonly refusals: string[] = [];
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #project: string;
  readonly #events: string[] = [];
  /** External ids of customers that were made, and names that one was given. */
  readonly #made: string[] = [];
  readonly #named: string[] = [];
  #isOver = false;

  constructor(url: string, headers: Record<string, string>, project: string) {
    this.#url = url;
    this.#headers = { ...headers, "x-project-id": project, "content-type": "application/json" };
    this.#project = project;
  }

  /** How many writes were answered. */
  get accepted(): number {
    return this.#events.length + this.#made.length + this.#named.length;
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      const id = randomUUID();
      const event = { transaction_id: id, subscription_id: "ext:s1", code: "calls" };
      const sent = { ...event, properties: { n: 1 } };
      if (await this.#call("POST", "/v1/events", sent)) this.#events.push(id);
      await this.#call("GET", "/v1/customers/ext:c1");
      const made = { external_id: id, name: "C", email: "c@example.com", currency: "USD" };
      if (await this.#call("POST", "/v1/customers", made)) this.#made.push(id);
      if (await this.#call("PATCH", "/v1/customers/ext:c1", { name: id })) this.#named.push(id);
      await pause(PAUSE_MS);
    }
  }

  stop(): void {
    this.#isOver = true;
  }

  async #call(method: string, path: string, body?: object): Promise<boolean> {
    const kind = `${method} ${path}`;
    const init = { method, ...(body !== undefined && { body: JSON.stringify(body) }) };
    const from = performance.now();
    const answer = await fetch(`${this.#url}${path}`, { ...init, headers: this.#headers });
    const text = await answer.text();
    this.calls.push({ kind, took_ms: performance.now() - from });
    if (!answer.ok) this.refusals.push(`${kind}: ${answer.status} ${text}`);
    return answer.ok;
  }

  /** What was answered is there, and in the log, once. */
  async assertStored({ db }: Stage): Promise<void> {
    const project = this.#project;
    const stored = await db.one<Record<string, number>>(sql`
      select (select count(*) from usage_events e
               where e.project_id = ${project} and e.key = any(${this.#events}::uuid[])) as events,
             (select count(*) from customers c
               where c.project_id = ${project}
                 and c.external_id = any(${this.#made})) as made,
             (select count(*) from billing_events b
                join customers c on c.project_id = ${project} and c.id = b.resource_id
               where b.project_id = ${project} and b.event_type = 'customer.created'
                 and c.external_id = any(${this.#made})) as made_logged,
             (select count(*) from billing_events b
               where b.project_id = ${project} and b.event_type = 'customer.updated'
                 and b.payload ->> 'name' = any(${this.#named})) as named`);
    assert.deepEqual(stored, {
      events: this.#events.length,
      made: this.#made.length,
      made_logged: this.#made.length,
      named: this.#named.length,
    });
  }
}
