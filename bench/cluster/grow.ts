// The last worker that CLUSTER_WORKERS names joins the others and takes its share of the shards,
// while every project is written and read: what was refused meanwhile, and the slowest call.

import { strict as assert } from "node:assert";
import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { rebalance } from "../../src/store/rebalance.ts";
import { sql } from "../../src/store/sql.ts";
import { amount, atMost, type Bench } from "../report.ts";
import { figure, headersOf, print, type Side, type Stage, startService } from "../stage.ts";
import { fillProjects } from "./projects.ts";
import { clusterServers, join, type NodeStage, openCluster } from "./stage.ts";

const PROJECTS = 24;
/** Between two calls of a project. */
const PAUSE_MS = 100;
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
    for (const { times_ms } of callers) times_ms.length = 0;
    const seconds = await grow(stage);
    for (const caller of callers) caller.stop();
    await calling;
    for (const caller of callers) await caller.assertStored(stage);
    const times = callers.flatMap(({ times_ms }) => times_ms).toSorted((a, b) => a - b);
    print("calls meanwhile", figure(times.length));
    print("p99 of a call, ms", figure(times[Math.floor(times.length * 0.99)] ?? 0));
    const refused = callers.flatMap(({ refusals }) => refusals);
    for (const refusal of new Set(refused)) print("refused", refusal);
    return [
      amount("a worker joins under load: refused", "calls", refused.length, atMost(0)),
      amount("a worker joins under load: slowest call", "ms", times.at(-1) ?? 0, atMost(1_000)),
      amount("a worker joins under load: until all is even", "s", seconds, null),
    ];
  } finally {
    await service.stop();
    await stage.end();
  }
};

/** As `dues cluster rebalance` does it. */
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

/** Sends events of one project and reads its customer, one after the other. */
class Caller {
  readonly times_ms: number[] = [];
  readonly refusals: string[] = [];
  readonly #url: string;
  readonly #headers: Record<string, string>;
  readonly #project: string;
  readonly #accepted: string[] = [];
  #isOver = false;

  constructor(url: string, headers: Record<string, string>, project: string) {
    this.#url = url;
    this.#headers = { ...headers, "x-project-id": project, "content-type": "application/json" };
    this.#project = project;
  }

  async run(): Promise<void> {
    while (!this.#isOver) {
      const id = randomUUID();
      const event = { transaction_id: id, subscription_id: "ext:s1", code: "calls" };
      const body = JSON.stringify({ ...event, properties: { n: 1 } });
      if (await this.#call("/v1/events", { method: "POST", body })) this.#accepted.push(id);
      await this.#call("/v1/customers/ext:c1", {});
      await pause(PAUSE_MS);
    }
  }

  stop(): void {
    this.#isOver = true;
  }

  async #call(path: string, init: RequestInit): Promise<boolean> {
    const from = performance.now();
    const answer = await fetch(`${this.#url}${path}`, { ...init, headers: this.#headers });
    const text = await answer.text();
    this.times_ms.push(performance.now() - from);
    if (!answer.ok) this.refusals.push(`${path}: ${answer.status} ${text}`);
    return answer.ok;
  }

  /** What was answered is there, once. */
  async assertStored({ db }: Stage): Promise<void> {
    const { events } = await db.one<{ events: number }>(sql`
      select count(*) as events
        from usage_events
       where project_id = ${this.#project} and key = any(${this.#accepted}::uuid[])`);
    assert.equal(events, this.#accepted.length, "each is stored once");
  }
}
