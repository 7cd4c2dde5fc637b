// What events cost since there are dimensions: those of a metric without any against the version
// before, and those of a metric with two against those without.

import { strict as assert } from "node:assert";
import { sql } from "../src/store/sql.ts";
import { BEFORE_PRICING, buildBefore } from "./before.ts";
import { send } from "./ingest.ts";
import type { Ask } from "./load.ts";
import { atLeast, atMost, type Figure, type Options, type Round, ratio } from "./report.ts";
import { call, openStage, type Side, type Stage, startService } from "./stage.ts";

const SUBSCRIPTIONS = 100;
const CONNECTIONS = 64;
const BATCH = 1_000;
const BATCH_CONNECTIONS = 4;
/** A bar of 3 % needs more rounds than others. */
const ROUNDS = 9;
const SECONDS = 4;
const WARM_UP_SECONDS = 6;

/** The same text for all: six combinations where they count, and none where they do not. */
const PROPERTIES = ["large", "small", "tiny"].flatMap((model) =>
  ["input", "output"].map((kind) => JSON.stringify({ n: "3", model, kind })),
);

type Way = { readonly name: string; readonly batch: number; readonly connections: number };
const WAYS: readonly Way[] = [
  { name: "single events", batch: 1, connections: CONNECTIONS },
  { name: `batches of ${BATCH}`, batch: BATCH, connections: BATCH_CONNECTIONS },
];

type Runner = { readonly stage: Stage; readonly side: Side };

export async function benchEvents(options: Options): Promise<Figure[]> {
  const before = buildBefore(BEFORE_PRICING.commit);
  const runners: Runner[] = [];
  const start = async (schema?: number, folder?: string): Promise<Runner> => {
    const stage = await openStage(schema);
    const runner = { stage, side: await startService(stage, "api", {}, folder) };
    runners.push(runner);
    await openMeters(runner, folder === undefined);
    return runner;
  };
  try {
    const then = await start(BEFORE_PRICING.schema, before.folder);
    const now = await start();
    return await measure(now, then, options);
  } finally {
    for (const { stage, side } of runners) {
      await side.stop();
      await stage.end();
    }
    before.remove();
  }
}

/** By calls that both versions know. */
async function openMeters({ stage, side }: Runner, hasDimensions: boolean): Promise<void> {
  const post = <T>(path: string, body: object) => call<T>(stage, side, path, body);
  const metric = { name: "M", aggregation_type: "sum", field_name: "n" };
  await post("/v1/metrics", { ...metric, code: "calls" });
  const charges = [{ type: "standard", metric_ref: "calls", rate: "0.0001" }];
  if (hasDimensions) {
    await post("/v1/metrics", { ...metric, code: "tokens", dimensions: ["model", "kind"] });
    charges.push({ type: "standard", metric_ref: "tokens", rate: "0.0001" });
  }
  const terms = { code: "p", name: "P", interval: "monthly", amount_currency: "USD", charges };
  const { plan } = await post<{ plan: { id: string } }>("/v1/plans", terms);
  const named = { external_id: "c", name: "C", email: "c@example.com", currency: "USD" };
  const { customer } = await post<{ customer: { id: string } }>("/v1/customers", named);
  for (let n = 1; n <= SUBSCRIPTIONS; n++) {
    const wanted = { external_id: `s${n}`, customer_id: customer.id, plan_id: plan.id };
    await post("/v1/subscriptions", wanted);
  }
}

async function measure(now: Runner, then: Runner, { quick }: Options): Promise<Figure[]> {
  const seconds = quick ? 1 : SECONDS;
  const rounds = quick ? 2 : ROUNDS;
  const figures: Figure[] = [];
  for (const way of WAYS) {
    const through = (runner: Runner, code: string, time = seconds) =>
      perSecond(runner, way, code, time);
    const warm_up = quick ? 1 : WARM_UP_SECONDS;
    await through(then, "calls", warm_up);
    await through(now, "calls", warm_up);
    await through(now, "tokens", warm_up);
    const against: Round[] = [];
    const within: Round[] = [];
    for (let round = 0; round < rounds; round++) {
      // In turns, and who is first changes: what was begun later has the larger tables.
      const first = round % 2 === 0;
      const early = await through(first ? now : then, "calls");
      const late = await through(first ? then : now, "calls");
      const plain = first ? early : late;
      against.push([plain, first ? late : early]);
      within.push([plain, await through(now, "tokens")]);
    }
    const name = `${way.name}, metric without dimensions`;
    figures.push(
      ratio(`${name}: now ÷ before pricing`, "events/s", against, atLeast(0.97)),
      ratio(`${name} ÷ with two`, "events/s", within, atMost(1.5)),
    );
  }
  await assertCounted(now);
  await assertCounted(then);
  return figures;
}

async function perSecond(
  { stage, side }: Runner,
  { batch, connections }: Way,
  code: string,
  seconds: number,
): Promise<number> {
  const ask: Ask = {
    kind: "events",
    batch,
    code,
    subscriptions: SUBSCRIPTIONS,
    properties: PROPERTIES,
  };
  const { per_second } = await send(stage, side, ask, connections, seconds);
  return per_second * batch;
}

/** Every event that is stored is in the sums once, of its combination where it has one. */
async function assertCounted({ stage }: Runner): Promise<void> {
  const { db } = stage;
  const { exists } = await db.one<{ exists: boolean }>(sql`
    select to_regclass('usage_parts') is not null as exists`);
  const { events, days } = await db.one<{ events: number; days: number }>(sql`
    select (select count(*) from usage_events) as events,
           (select coalesce(sum(events), 0)::bigint from usage_days) as days`);
  const parts = exists
    ? await db.one<{ events: number; combinations: number }>(sql`
        select coalesce(sum(events), 0)::bigint as events,
               count(distinct combination) as combinations
          from usage_parts`)
    : { events: 0, combinations: 0 };
  assert.equal(days + parts.events, events, "every event is counted once");
  if (exists) assert.equal(parts.combinations, PROPERTIES.length, "in all combinations");
}
