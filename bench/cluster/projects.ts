// What it costs to have many projects of which none has work: what an idle service asks, how long
// one sweep over all projects takes, and a call beside it, on one PostgreSQL and on a cluster.

import { strict as assert } from "node:assert";
import { setTimeout as pause } from "node:timers/promises";
import { DAY_MS } from "../../src/domain/dates.ts";
import type { ProjectId } from "../../src/ids.ts";
import type { Pool } from "../../src/store/db/db.ts";
import { sql } from "../../src/store/db/sql.ts";
import { addDeltas, listWithDeltas } from "../../src/store/feeds/analytics.ts";
import { listDueProjects } from "../../src/store/feeds/claims.ts";
import { listWithOld } from "../../src/store/feeds/retention.ts";
import { closeBacklog, webhookBacklog } from "../../src/store/work/backlog.ts";
import * as projects from "../../src/store/work/projects-with-work.ts";
import { addSubscriptions, monthsAgo, openBooks } from "../books.ts";
import { type Bench, type Figure, ratio } from "../report.ts";
import {
  call,
  figure,
  headersOf,
  load,
  median,
  print,
  type Side,
  type Stage,
  startService,
} from "../stage.ts";
import { askNodes, clusterServers, type NodeStage, openCluster, openPlain } from "./stage.ts";

const SIZES = [10, 1_000, 10_000];
const QUICK_SIZES = [10, 100];
const SUBSCRIPTIONS_EACH = 3;
/** The billing job pauses for 1 s, the slowest that matters here, the backlog, for 15 s. */
const IDLE_SECONDS = 30;
const QUICK_IDLE_SECONDS = 6;
/** Until the service has begun, and the workers have had their first turn. */
const SETTLE_MS = 3_000;
const SWEEPS = 7;
const WARM_UP_SWEEPS = 6;
const GET_SECONDS = 2;
const KINDS = ["plain", "cluster"] as const;

type Costs = {
  /** Transactions that all nodes committed, without those there are when no service runs. */
  readonly statements_per_second: number;
  readonly sweep_ms: number;
  readonly get_ms: number;
};

const UNITS: Readonly<Record<keyof Costs, readonly [name: string, unit: string]>> = {
  statements_per_second: ["statements of an idle service", "statements/s"],
  sweep_ms: ["one sweep over all projects", "ms"],
  get_ms: ["GET of a customer by id alone, p50", "ms"],
};

export const benchProjects: Bench = async ({ quick }) => {
  const sizes = quick ? QUICK_SIZES : SIZES;
  const seconds = quick ? QUICK_IDLE_SECONDS : IDLE_SECONDS;
  const servers = clusterServers();
  const found = { plain: [] as Costs[], cluster: [] as Costs[] };
  for (const size of sizes) {
    for (const open of [openPlain, openCluster]) {
      const stage = await open(servers, (empty) => fillProjects(empty, size));
      try {
        process.stdout.write(`\nprojects: ${figure(size)}, ${stage.kind}\n`);
        found[stage.kind].push(await costsOf(stage, seconds));
      } finally {
        await stage.end();
      }
    }
  }
  return KINDS.flatMap((kind) => figuresOf(kind, sizes, found[kind]));
};

function figuresOf(kind: string, sizes: readonly number[], costs: readonly Costs[]): Figure[] {
  const [first, last] = [costs[0], costs.at(-1)];
  assert.ok(first && last);
  const keys = Object.keys(UNITS) as (keyof Costs)[];
  return keys.map((key) => {
    const [name, unit] = UNITS[key];
    print(`${name}, ${kind}`, costs.map((each) => figure(each[key])).join(" / "));
    const compared = `at ${figure(sizes.at(-1) ?? 0)} projects ÷ at ${figure(sizes[0] ?? 0)}`;
    return ratio(`${name}, ${kind}, ${compared}`, unit, [[last[key], first[key]]], null);
  });
}

/** One project by the service's own acts, and copies of its rows for the others. */
export async function fillProjects(stage: Stage, count: number): Promise<void> {
  const { db, profile } = stage;
  const start = monthsAgo(0);
  await openBooks(stage, start);
  await addSubscriptions(db, { from: 2, to: SUBSCRIPTIONS_EACH }, start);
  while ((await addDeltas(db, profile.project_id as ProjectId, 1_000)) > 0);
  await db.run(sql`
    insert into projects (id, organization_id, workspace_id, slug, name, mode, net_payment_days,
                          customer_prefix, created_at)
    select gen_random_uuid(), p.organization_id, p.workspace_id, 'p' || n, 'P' || n, p.mode,
           p.net_payment_days, lpad(to_hex(n), 8, '0'), p.created_at
      from projects p, generate_series(2, ${count}::integer) as n`);
  // Their sums are copied as well.
  await db.run(sql`alter table subscriptions disable trigger user`);
  for (const table of COPIED) await copyRows(db, table, profile.project_id);
  await db.run(sql`alter table subscriptions enable trigger user`);
}

/** In the order of their foreign keys. */
const COPIED = [
  "project_anchors",
  "log_heads",
  "billing_events",
  "metrics",
  "plans",
  "plan_versions",
  "charges",
  "customers",
  "subscriptions",
  "analytics_totals",
];

/** Ids stay as they are: every key begins with the project. */
async function copyRows(db: Pool, table: string, project: string): Promise<void> {
  const { columns } = await db.one<{ columns: string }>(sql`
    select coalesce(string_agg(', ' || quote_ident(attname), '' order by attnum), '') as columns
      from pg_attribute
     where attrelid = ${table}::regclass and attnum > 0 and not attisdropped
       and attname <> 'project_id'`);
  const text = `
    insert into ${table} (project_id${columns})
    select p.id${columns.replaceAll(", ", ", t.")}
      from ${table} t, projects p
     where t.project_id = $1 and p.id <> $1`;
  await db.run({ text, values: [project] });
}

async function costsOf(stage: NodeStage, seconds: number): Promise<Costs> {
  const sweep_ms = await sweep(stage.db);
  const nobody = await commitsPerSecond(stage, seconds / 2);
  const service = await startService(stage, "all");
  try {
    await pause(SETTLE_MS);
    const idle = await commitsPerSecond(stage, seconds);
    const each = idle.map((rate, node) => Math.max(0, rate - (nobody[node] ?? 0)));
    print("statements/s of an idle service, by node", each.map(figure).join(" / "));
    print("those without a service, by node", nobody.map(figure).join(" / "));
    const statements_per_second = each.reduce((sum, rate) => sum + rate, 0);
    return { statements_per_second, sweep_ms, get_ms: await get(stage, service) };
  } finally {
    await service.stop();
  }
}

/** By pg_stat_database: outside a transaction each statement that a node is sent is a commit. */
async function commitsPerSecond({ nodes }: NodeStage, seconds: number): Promise<readonly number[]> {
  const commits = () =>
    askNodes(
      nodes,
      "select xact_commit as value from pg_stat_database where datname = current_database()",
    );
  const before = await commits();
  const from = performance.now();
  await pause(seconds * 1_000);
  const after = await commits();
  const passed_s = (performance.now() - from) / 1_000;
  return after.map((count, node) => (count - (before[node] ?? 0)) / passed_s);
}

/** Every statement across projects that the workers repeat, one after the other. */
const LISTS: Readonly<Record<string, (db: Pool, now: Date) => Promise<readonly unknown[]>>> = {
  withEndedPeriods: projects.withEndedPeriods,
  late_usage: (db, now) => projects.withWork(db, "late_usage", now),
  overdue_invoices: (db, now) => projects.withWork(db, "overdue_invoices", now),
  dunning_steps: (db, now) => projects.withWork(db, "dunning_steps", now),
  listDueProjects: (db) => listDueProjects(db),
  listWithDeltas: (db) => listWithDeltas(db, 1_000),
  listWithOld: (db, now) => listWithOld(db, new Date(now.getTime() - 90 * DAY_MS)),
  webhookBacklog: async (db) => ((await webhookBacklog(db)).due > 0 ? [1] : []),
  closeBacklog: async (db, now) => ((await closeBacklog(db, now)).oldest_ended_at ? [1] : []),
};

async function sweep(db: Pool): Promise<number> {
  let sum = 0;
  for (const [name, list] of Object.entries(LISTS)) {
    const times: number[] = [];
    for (let n = 0; n < WARM_UP_SWEEPS + SWEEPS; n++) {
      const from = performance.now();
      const rows = await list(db, new Date());
      if (n >= WARM_UP_SWEEPS) times.push(performance.now() - from);
      assert.deepEqual(rows, [], "nothing is due");
    }
    print(`${name}, ms`, figure(median(times)));
    sum += median(times);
  }
  return sum;
}

async function get(stage: Stage, service: Side): Promise<number> {
  const path = "/v1/customers/ext:c1";
  const { customer } = await call<{ customer: { id: string } }>(stage, service, path);
  const result = await load({
    url: service.url,
    headers: headersOf(stage),
    connections: 1,
    seconds: GET_SECONDS,
    mix: [{ ask: { kind: "paths", paths: [`/v1/customers/${customer.id}`] }, times: 1 }],
  });
  assert.equal(result.refused, 0, "every one is answered");
  return result.p50_ms;
}
