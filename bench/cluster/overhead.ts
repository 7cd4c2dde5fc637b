// What a cluster costs a project that one PostgreSQL could serve: the same calls and the same close
// on both in turn. All nodes share the machine, so this shows overhead and never gain.

import { strict as assert } from "node:assert";
import { sql } from "../../src/store/db/sql.ts";
import { addDays, addSubscriptions, monthsAgo, openBooks } from "../books.ts";
import { assertClosed, close, listen } from "../close.ts";
import type { Ask, LoadResult } from "../load.ts";
import { interleave } from "../reads.ts";
import {
  atLeast,
  atMost,
  type Bar,
  type Bench,
  type Figure,
  type Round,
  ratio,
} from "../report.ts";
import { call, headersOf, load, type Stage } from "../stage.ts";
import {
  clusterServers,
  type NodeStage,
  openCluster,
  openPlain,
  type Servers,
  type Site,
  withBoth,
} from "./stage.ts";

const SUBSCRIPTIONS = 100;
const SECONDS = 4;
const QUICK_SECONDS = 1;
const BATCH = 500;
const BATCH_CONNECTIONS = 4;
const SINGLE: Ask = { kind: "events", batch: 1, subscriptions: SUBSCRIPTIONS };
const BATCHED: Ask = { ...SINGLE, batch: BATCH };
const CLOSED = 10_000;
const QUICK_CLOSED = 1_000;
const CLOSES = 3;
const DAYS = 10;
const EVENTS_EACH = 1_000;

export const benchOverhead: Bench = async ({ quick }) => {
  const servers = clusterServers();
  return [
    ...(await requests(servers, quick ? QUICK_SECONDS : SECONDS)),
    await closes(servers, quick ? QUICK_CLOSED : CLOSED),
  ];
};

type Sites = { readonly cluster: Site; readonly plain: Site };

type Calls = {
  readonly name: string;
  readonly unit: string;
  /** The customer's, or what to send. */
  readonly ask: Ask | "customer";
  readonly connections: number;
  readonly value: (result: LoadResult) => number;
  readonly bar: Bar;
};

const CALLS: readonly Calls[] = [
  {
    name: "POST /v1/events alone, p50, cluster ÷ plain",
    unit: "ms",
    ask: SINGLE,
    connections: 1,
    value: ({ p50_ms }) => p50_ms,
    bar: atMost(3),
  },
  {
    name: "POST /v1/events, 32 connections, cluster ÷ plain",
    unit: "requests/s",
    ask: SINGLE,
    connections: 32,
    value: ({ per_second }) => per_second,
    bar: atLeast(0.5),
  },
  {
    name: `batches of ${BATCH} events, ${BATCH_CONNECTIONS} connections, cluster ÷ plain`,
    unit: "events/s",
    ask: BATCHED,
    connections: BATCH_CONNECTIONS,
    value: ({ per_second }) => per_second * BATCH,
    bar: atLeast(0.8),
  },
  {
    name: "GET of a customer by id alone, p50, cluster ÷ plain",
    unit: "ms",
    ask: "customer",
    connections: 1,
    value: ({ p50_ms }) => p50_ms,
    bar: atMost(2.5),
  },
];

function requests(servers: Servers, seconds: number): Promise<Figure[]> {
  const start = monthsAgo(0);
  const fill = async (stage: Stage) => {
    await openBooks(stage, start);
    await addSubscriptions(stage.db, { from: 2, to: SUBSCRIPTIONS }, start);
  };
  return withBoth(servers, "api", fill, async (sites) => {
    const figures: Figure[] = [];
    for (const calls of CALLS) figures.push(await compare(sites, calls, seconds));
    return figures;
  });
}

async function compare(sites: Sites, calls: Calls, seconds: number): Promise<Figure> {
  const before = [await stored(sites.cluster.stage), await stored(sites.plain.stage)];
  const accepted = [0, 0];
  const side = (site: Site, place: 0 | 1) => async () => {
    const result = await send(site, calls, seconds);
    accepted[place] = (accepted[place] ?? 0) + result.events;
    return calls.value(result);
  };
  const rounds = await interleave(side(sites.cluster, 0), side(sites.plain, 1));
  const after = [await stored(sites.cluster.stage), await stored(sites.plain.stage)];
  for (const [place, count] of accepted.entries()) {
    const stored_before = before[place];
    const stored_after = after[place];
    assert.ok(stored_before && stored_after);
    assert.equal(stored_after.events - stored_before.events, count, "each is stored once");
    assert.equal(stored_after.counted - stored_before.counted, count, "and counted once");
  }
  return ratio(calls.name, calls.unit, rounds, calls.bar);
}

async function send({ stage, service }: Site, calls: Calls, seconds: number): Promise<LoadResult> {
  const ask = calls.ask === "customer" ? await customerOf({ stage, service }) : calls.ask;
  const result = await load({
    url: service.url,
    headers: headersOf(stage),
    connections: calls.connections,
    seconds,
    mix: [{ ask, times: 1 }],
  });
  assert.equal(result.refused, 0, "nothing is refused");
  return result;
}

async function customerOf({ stage, service }: Site): Promise<Ask> {
  const path = "/v1/customers/ext:c1";
  const { customer } = await call<{ customer: { id: string } }>(stage, service, path);
  return { kind: "paths", paths: [`/v1/customers/${customer.id}`] };
}

/** Rows as they are: what was answered must be there, once. */
async function stored({ db, profile }: Stage) {
  const project = profile.project_id;
  return db.one<{ events: number; counted: number }>(sql`
    select count(*) as events,
           (select coalesce(sum(d.events), 0)::bigint
              from usage_days d
             where d.project_id = ${project}) as counted
      from usage_events e
     where e.project_id = ${project}`);
}

/** By the worker's own job, connected to the coordinator. */
async function closes(servers: Servers, count: number): Promise<Figure> {
  const fill = async (stage: Stage) => {
    const start = monthsAgo(CLOSES);
    await openBooks(stage, start);
    await addSubscriptions(stage.db, { from: 2, to: count }, start);
    for (let period_no = 1; period_no <= CLOSES; period_no++) {
      const usage = { period_no, start: monthsAgo(CLOSES + 1 - period_no), days: DAYS };
      await addDays(stage.db, { from: 1, to: count, each: EVENTS_EACH, ...usage });
    }
    await listen(stage);
  };
  const stages: NodeStage[] = [];
  try {
    for (const open of [openCluster, openPlain]) stages.push(await open(servers, fill));
    const rounds: Round[] = [];
    for (let period_no = 1; period_no <= CLOSES; period_no++) {
      const per_second: number[] = [];
      for (const stage of stages) {
        const seconds = await close(stage, stage.db, monthsAgo(CLOSES - period_no));
        await assertClosed(stage, count, period_no);
        per_second.push(count / seconds);
      }
      rounds.push([per_second[0] ?? 0, per_second[1] ?? 0]);
    }
    const name = `close of ${count} subscriptions, 4 charges, usage, webhooks, cluster ÷ plain`;
    return ratio(name, "periods/s", rounds, atLeast(0.6));
  } finally {
    for (const stage of stages) await stage.end();
  }
}
