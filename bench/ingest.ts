// Events per second through the front door, durable and counted, over a route that does nothing.

import { strict as assert } from "node:assert";
import { sql } from "../src/store/sql.ts";
import {
  databaseUrl,
  figure,
  type Load,
  type LoadResult,
  load,
  median,
  openStage,
  print,
  type Side,
  type Stage,
  startSide,
} from "./stage.ts";

const CONNECTIONS = 64;
const SUBSCRIPTIONS = 100;
const ROUNDS = 3;
const SECONDS = 4;
const WARM_SECONDS = 1;
const BATCH = 1_000;
const BATCH_CONNECTIONS = 4;

export async function benchIngest(): Promise<void> {
  const stage = await openStage();
  const service = await startSide("service", {
    DATABASE_URL: databaseUrl(stage.connection),
    DUES_DATA: stage.folder,
    PORT: "0",
    LOG_LEVEL: "error",
  });
  const bare = await startSide("bare", {});
  try {
    await makeTenant(stage, service);
    await singles(stage, service, bare);
    await batches(stage, service);
  } finally {
    await service.stop();
    await bare.stop();
    await stage.end();
  }
}

function headersOf({ profile }: Stage): Record<string, string> {
  return { authorization: `Bearer ${profile.token}`, "x-project-id": profile.project_id };
}

async function makeTenant(stage: Stage, service: Side): Promise<void> {
  const post = async (path: string, body: object) => {
    const answer = await fetch(`${service.url}${path}`, {
      method: "POST",
      headers: { ...headersOf(stage), "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    assert.ok(answer.ok, `${path}: ${answer.status}`);
    return (await answer.json()) as Record<string, { id: string }>;
  };
  const metric = { code: "calls", name: "Calls", aggregation_type: "sum", field_name: "n" };
  await post("/v1/metrics", metric);
  const charges = [{ type: "standard", metric_ref: "calls", rate: "0.01" }];
  const terms = { code: "p", name: "P", interval: "monthly", amount_currency: "USD", charges };
  const { plan } = await post("/v1/plans", terms);
  const named = { external_id: "c", name: "C", email: "c@example.com", currency: "USD" };
  const { customer } = await post("/v1/customers", named);
  for (let n = 1; n <= SUBSCRIPTIONS; n++) {
    const ids = { customer_id: customer?.id, plan_id: plan?.id };
    await post("/v1/subscriptions", { external_id: `s${n}`, ...ids });
  }
}

async function singles(stage: Stage, service: Side, bare: Side): Promise<void> {
  const wanted: Omit<Load, "url" | "seconds"> = {
    path: "/v1/events",
    headers: headersOf(stage),
    connections: CONNECTIONS,
    batch: 1,
    subscriptions: SUBSCRIPTIONS,
  };
  for (const { url } of [service, bare]) await load({ ...wanted, url, seconds: WARM_SECONDS });
  const before = await stored(stage);
  const ours: LoadResult[] = [];
  const theirs: LoadResult[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    ours.push(await load({ ...wanted, url: service.url, seconds: SECONDS }));
    theirs.push(await load({ ...wanted, url: bare.url, seconds: SECONDS }));
  }
  const after = await stored(stage);
  const accepted = ours.reduce((sum, { requests }) => sum + requests, 0);
  assert.equal(after.events - before.events, accepted, "every answered event is stored once");
  assert.equal(after.counted - before.counted, accepted, "and counted once");
  assert.equal(ours.concat(theirs).filter(({ refused }) => refused > 0).length, 0);

  const middle = (side: LoadResult[], field: keyof LoadResult) =>
    median(side.map((result) => result[field]));
  const ratio = median(ours.map((one, i) => one.per_second / (theirs[i]?.per_second ?? 1)));
  process.stdout.write(`\ningest: POST /v1/events, ${CONNECTIONS} connections, ${ROUNDS} rounds\n`);
  print("events/s, durable, deduplicated, summed up", figure(middle(ours, "per_second")));
  print("requests/s of the bare route", figure(middle(theirs, "per_second")));
  print("ratio (median of the rounds)", figure(ratio));
  const times = (side: LoadResult[]) =>
    `${figure(middle(side, "p50_ms"))} / ${figure(middle(side, "p99_ms"))} ms`;
  print("p50 / p99", times(ours));
  print("p50 / p99 of the bare route", times(theirs));
  const commits = after.commits - before.commits;
  print("commits per event (distinct xmin of its rows)", figure(commits / accepted));
}

async function batches(stage: Stage, service: Side): Promise<void> {
  const before = await stored(stage);
  const result = await load({
    url: service.url,
    path: "/v1/events/batch",
    headers: headersOf(stage),
    connections: BATCH_CONNECTIONS,
    seconds: SECONDS,
    batch: BATCH,
    subscriptions: SUBSCRIPTIONS,
  });
  const after = await stored(stage);
  assert.equal(result.refused, 0);
  assert.equal(after.events - before.events, result.requests * BATCH);
  process.stdout.write(`\ningest: POST /v1/events/batch, bodies of ${BATCH}\n`);
  print("events/s", figure(result.per_second * BATCH));
  print("p50 / p99", `${figure(result.p50_ms)} / ${figure(result.p99_ms)} ms`);
}

/** Rows as they are: what was answered must be there, once. */
function stored({ db }: Stage) {
  return db.one<{ events: number; counted: number; commits: number }>(sql`
    select count(*) as events, count(distinct xmin::text) as commits,
           (select coalesce(sum(events), 0)::bigint from usage_days) as counted
      from usage_events`);
}
