// Usage through the API against the pure rules: whatever the batches, the order and the
// repeats, the sums in the database are what folding the accepted events gives.

import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { unitsOf, usageValue, weightedUnits } from "../../../src/domain/aggregation.ts";
import {
  add,
  decimal,
  formatDecimal,
  integer,
  multiply,
  ZERO,
} from "../../../src/domain/decimal.ts";
import { formatFraction } from "../../../src/domain/fraction.ts";
import type { ProjectId } from "../../../src/ids.ts";
import { UsageMemory } from "../../../src/operations/usage/memory.ts";
import { recordUsage } from "../../../src/operations/usage/record.ts";
import type { UsageEventInput } from "../../../src/schema/events.ts";
import { getSettingsById, type ProjectSettings } from "../../../src/store/tenants/tenants.ts";
import * as usageSums from "../../../src/store/usage/sums.ts";
import { type App, startApp } from "../../support/app.ts";
import { checkInvariants } from "../../support/invariants.ts";
import { type CountedUsage, unitsOfEvents } from "../../support/usage-oracle.ts";

/** By code; each is billed at a cent a unit. */
const METRICS = {
  sum: { aggregation_type: "sum" },
  count: { aggregation_type: "count" },
  count_unique: { aggregation_type: "count_unique" },
  max: { aggregation_type: "max" },
  latest: { aggregation_type: "latest" },
  weighted_sum: { aggregation_type: "weighted_sum", weighted_by: "hour" },
  sum_by: { aggregation_type: "sum", dimensions: ["region"] },
  latest_by: { aggregation_type: "latest", dimensions: ["region"] },
  weighted_by: { aggregation_type: "weighted_sum", weighted_by: "hour", dimensions: ["region"] },
} as const;
type Code = keyof typeof METRICS;
const CODES = Object.keys(METRICS) as Code[];

const STARTED = new Date("2025-01-10T09:30:00.000Z");
const NOW = new Date("2025-03-20T12:00:00.000Z");
/** Where the periods of a subscription from STARTED on begin; the last one is open at NOW. */
const STARTS = [
  STARTED,
  new Date("2025-02-01T00:00:00.000Z"),
  new Date("2025-03-01T00:00:00.000Z"),
];

/** Behind all events: up to here levels are measured. */
const END = new Date("2025-04-01T00:00:00.000Z");

let app: App;
let plan_id: string;
let customer_id: string;

beforeAll(async () => {
  app = await startApp({ at: STARTED.toISOString() });
  for (const code of CODES) {
    await app.post("/v1/metrics", { code, name: code, field_name: "n", ...METRICS[code] });
  }
  const terms = { name: "P", interval: "monthly", amount_currency: "USD" };
  const charges = CODES.map((code) => ({
    charge_model: "standard",
    billable_metric_code: code,
    properties: { amount: "0.01" },
  }));
  plan_id = (await app.post("/v1/plans", { code: "p", ...terms, charges })).plan.id;
  const customer = { external_id: "c", name: "C", email: "c@example.com", currency: "USD" };
  customer_id = (await app.post("/v1/customers", customer)).customer.id;
});

afterAll(() => app.close());

/** Few instants and few values, so that ties and repeats are the rule. */
const sent = fc.record({
  key: fc.integer({ min: 0, max: 25 }),
  code: fc.constantFrom(...CODES),
  hour: fc.integer({ min: -30, max: 24 * 68 }),
  ms: fc.constantFrom(0, 0, 1, 999),
  n: fc.constantFrom("1", "-2", "0.5", "7", "7.250", "12345.678901"),
  region: fc.constantFrom("eu", "us", null),
});
type Sent = typeof sent extends fc.Arbitrary<infer T> ? T : never;

const plan = fc.record({
  events: fc.array(sent, { minLength: 1, maxLength: 40 }),
  sizes: fc.array(fc.integer({ min: 1, max: 20 }), { minLength: 1, maxLength: 8 }),
});

/** A key always carries the same content here: only the first copy counts anyway. */
function inputOf(one: Sent, subscription: string, run: string): UsageEventInput {
  const timestamp = new Date(STARTED.getTime() + one.hour * 3_600_000 + one.ms).toISOString();
  const transaction_id = `${run} ${one.key}`;
  return {
    transaction_id,
    subscription_id: subscription,
    code: one.code,
    timestamp,
    properties: { n: one.n, region: one.region },
  };
}

let made = 0;
const memory = new UsageMemory();

/** A subscription that started long ago and has its periods closed up to now. */
async function freshSubscription(): Promise<{ id: string; settings: ProjectSettings }> {
  const wanted = { external_id: `s${made++}`, customer_id, plan_id };
  const { subscription } = await app.post("/v1/subscriptions", wanted);
  const project = app.profile.project_id as ProjectId;
  return { id: subscription.id, settings: await getSettingsById(app.context.db, project) };
}

/** The events in batches of the given sizes, over and over, as of NOW. */
async function send(
  settings: ProjectSettings,
  inputs: readonly UsageEventInput[],
  sizes: readonly number[],
  arrivals: ReadonlyMap<string, number>,
): Promise<void> {
  for (let start = 0, i = 0; start < inputs.length; i++) {
    const size = sizes[i % sizes.length] ?? 1;
    const batch = inputs.slice(start, start + size).map((input) => ({
      input,
      received_at: NOW,
      arrival: arrivals.get(input.transaction_id) ?? 0,
    }));
    await recordUsage(app.context.db, memory, settings, batch, app.context.config);
    start += size;
  }
}

/** First copies only, each in the period that its timestamp lies in. */
function accepted(inputs: readonly UsageEventInput[], arrivals: ReadonlyMap<string, number>) {
  const firsts = new Map<string, UsageEventInput>();
  for (const input of inputs) {
    if (!firsts.has(input.transaction_id)) firsts.set(input.transaction_id, input);
  }
  const folded = new Map<string, CountedUsage[]>();
  for (const input of firsts.values()) {
    const at = new Date(input.timestamp ?? "");
    const period = STARTS.filter((start) => start <= at).length;
    if (period === 0) continue;
    const code = input.code as Code;
    const value = usageValue({ ...METRICS[code], field_name: "n" }, input);
    if (!value.ok) throw new Error(value.message);
    const region = "dimensions" in METRICS[code] ? ` ${input.properties?.region}` : "";
    const key = `${code} ${period}${region}`;
    const arrival = BigInt(arrivals.get(input.transaction_id) ?? 0);
    folded.set(key, [...(folded.get(key) ?? []), { at, arrival, ...value }]);
  }
  return new Map(
    [...folded].map(([key, events]) => {
      const { aggregation_type } = METRICS[key.split(" ")[0] as Code];
      const units = formatDecimal(unitsOfEvents(aggregation_type, events));
      return [key, `${units}${lastedFrom(aggregation_type, events)}`] as const;
    }),
  );
}

/** How long the changes of a weighted sum lasted, in units times milliseconds. */
function lastedFrom(aggregation: string, events: readonly CountedUsage[]): string {
  if (aggregation !== "weighted_sum") return "";
  const lasted = events
    .map(({ at, quantity }) =>
      multiply(decimal(quantity ?? "0"), integer(END.getTime() - at.getTime())),
    )
    .reduce(add, ZERO);
  return ` for ${formatDecimal(lasted)}`;
}

/** What the close would bill, by metric and period. */
async function totals(settings: ProjectSettings, subscription_id: string) {
  const periods = STARTS.map((_, i) => ({ subscription_id, period_no: i + 1 }));
  const rows = await usageSums.totals(app.context.db, settings.id, periods);
  const { metrics } = await app.get("/v1/metrics?all=1");
  const codes = new Map(metrics.map((one: { id: string; code: string }) => [one.id, one.code]));
  return new Map(
    rows.map((row) => {
      const code = codes.get(row.metric_id) as Code;
      const { aggregation_type } = METRICS[code];
      const region = row.combination === null ? "" : ` ${JSON.parse(row.combination)[0]}`;
      const lasted =
        aggregation_type === "weighted_sum"
          ? ` for ${formatFraction(weightedUnits([row], ZERO, { start: STARTED, end: END }, 1))}`
          : "";
      const units = formatDecimal(unitsOf(aggregation_type, [row]));
      return [`${code} ${row.period_no}${region}`, `${units}${lasted}`] as const;
    }),
  );
}

const sorted = (map: ReadonlyMap<string, string>) => [...map].sort();

describe("usage sums", () => {
  test("are the fold of the accepted events, whatever the batches, the order and the repeats", async () => {
    await fc.assert(
      fc.asyncProperty(plan, fc.infiniteStream(fc.nat()), async ({ events, sizes }, seeds) => {
        const run = `run ${made}`;
        const distinct = [...new Map(events.map((one) => [one.key, one])).values()];
        const arrivals = new Map(
          distinct.map((one, i) => [`${run} ${one.key}`, 1_000 + i] as const),
        );
        const { id, settings } = await freshSubscription();
        await closeUpToNow(id);
        const inputs = distinct.map((one) => inputOf(one, id, run));
        const shuffled = inputs
          .flatMap((input) => [input, ...(input.code === "sum" ? [input] : [])])
          .map((input) => ({ input, rank: seeds.next().value ?? 0 }))
          .sort((a, b) => a.rank - b.rank)
          .map(({ input }) => input);
        await send(settings, shuffled, sizes, arrivals);
        await send(settings, inputs, [sizes.length], arrivals);
        const expected = sorted(accepted(inputs, arrivals));
        expect(sorted(await totals(settings, id))).toEqual(expected);
      }),
      { numRuns: 60 },
    );
    const broken = await checkInvariants(app.context.db);
    expect(
      broken.filter((rule) => /^(daily sums|distinct values|no accepted unit)/.test(rule)),
    ).toEqual([]);
  });
});

/** The subscription as it is at NOW, two empty periods closed; the project's clock stays. */
async function closeUpToNow(id: string): Promise<void> {
  const { db } = app.context;
  await db.tx(async (tx) => {
    for (const [i, start] of STARTS.slice(0, -1).entries()) {
      await tx.run({
        text: `insert into closed_periods (project_id, subscription_id, period_no, starts_at, ends_at,
                 plan_id, plan_version, billable, billed, closed_at)
               select project_id, id, $2, $3, $4, plan_id, plan_version, true, '{}', $4
                 from subscriptions where id = $1`,
        values: [id, i + 1, start, STARTS[i + 1]],
      });
    }
    await tx.run({
      text: `update subscriptions set period_no = 3, current_period_start = $2,
               current_period_next = '2025-04-01T00:00:00.000Z' where id = $1`,
      values: [id, STARTS.at(-1)],
    });
  });
}

test("late usage of the final period of an ended subscription is billed once", async () => {
  const ended = await startApp({ at: "2025-01-10T00:00:00.000Z" });
  const post = ended.post.bind(ended);
  await post("/v1/metrics", { code: "n", name: "N", aggregation_type: "sum", field_name: "n" });
  const charges = [{ type: "standard", metric_ref: "n", rate: "1" }];
  const terms = { code: "p", name: "P", interval: "monthly", amount_currency: "USD", charges };
  const { plan } = await post("/v1/plans", terms);
  const named = { external_id: "c", name: "C", email: "c@example.com", currency: "USD" };
  const { customer } = await post("/v1/customers", named);
  await post("/v1/subscriptions", { external_id: "s", customer_id: customer.id, plan_id: plan.id });
  await ended.travelTo("2025-01-15T00:00:00.000Z");
  await post("/v1/subscriptions/ext:s/terminate");
  await post("/v1/events", {
    transaction_id: "late",
    subscription_id: "ext:s",
    code: "n",
    timestamp: "2025-01-12T00:00:00.000Z",
    properties: { n: "8" },
  });
  await ended.travelTo("2025-01-20T00:00:00.000Z");
  const { invoices } = await ended.get("/v1/invoices");
  expect(invoices.map((invoice: { total_cents: number }) => invoice.total_cents)).toEqual([800]);
  expect(await checkInvariants(ended.context.db)).toEqual([]);
  await ended.close();
});
