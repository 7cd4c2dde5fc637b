// What twin projects have before their story begins: metrics of each kind, plans that charge for
// them in every way, customers, taxes, coupons; and all that can be read of a project, without ids.

import type { Body, Json } from "./app.ts";
import { flatFee, perUnit, type Sandbox } from "./given.ts";
import { graduated, packages, percentage, volume } from "./pricing.ts";

const CURRENCY = "USD";

export type World = {
  readonly metrics: readonly Json[];
  readonly plans: readonly Json[];
  readonly customers: readonly Json[];
  readonly coupons: readonly Json[];
  readonly item: Json;
  readonly addOn: Json;
  readonly currency: typeof CURRENCY;
};

export async function worldOf(story: Sandbox): Promise<World> {
  for (const [code, percent] of [
    ["vat", "20"],
    ["low", "5.5"],
  ]) {
    await story.post("/v1/taxes", { code, name: code, percent });
  }
  await story.ok("PUT", "/v1/settings", { tax_codes: ["vat"] });
  const metrics = await metricsOf(story);
  const item = await story.item({ code: "seat", amount_cents: 1_900 });
  const plans = await plansOf(story, metrics, item);
  const customers: Json[] = [];
  for (let i = 0; i < 4; i++) customers.push(await story.customer({ external_id: `c-${i}` }));
  const coupons: Json[] = [];
  for (const terms of [
    { percent: "12.5", times: null },
    { amount_cents: 900, currency: CURRENCY, times: 2 },
    { percent: "40", times: 1 },
  ]) {
    const named = { code: `coupon-${coupons.length}`, name: "Coupon", ...terms };
    coupons.push((await story.post("/v1/coupons", named)).coupon);
  }
  const addOn = await story.addOn({ amount_cents: 2_500 });
  return { metrics, plans, customers, coupons, item, addOn, currency: CURRENCY };
}

async function metricsOf(story: Sandbox): Promise<Json[]> {
  const made: Json[] = [];
  for (const [kind, fields] of [
    ["sum", { dimensions: ["region"] }],
    ["sum", {}],
    ["count_unique", {}],
    ["max", {}],
    ["latest", {}],
    ["weighted_sum", { weighted_by: "period" }],
    ["weighted_sum", { weighted_by: "hour" }],
  ] as const) {
    made.push(await story.metric(kind, { code: `m-${made.length}`, ...fields }));
  }
  return made;
}

async function plansOf(story: Sandbox, metrics: readonly Json[], item: Json): Promise<Json[]> {
  const [calls, bytes, people, peak, level, seats, hours] = metrics as [Json, ...Json[]];
  const perSeat = flatFee({ catalog_item_code: item.code, seats: true });
  const prorated = { ...perSeat, properties: { quantity_mode: "prorated" } };
  const regions = { prices: [{ match: { region: "eu" }, amount: "0.07" }] };
  const terms: Body[] = [
    {
      amount_cents: 4_900,
      charges: [perUnit(calls, "0.0333", regions), perUnit(people, "1.5", { minimum_cents: 300 })],
    },
    {
      amount_cents: 7_777,
      base_timing: "advance",
      charges: [graduated(bytes, "<=10 @0.10 + 1, rest @0.05"), prorated],
    },
    {
      amount_cents: 0,
      minimum_cents: 2_000,
      charges: [packages(bytes, "10", "5"), perUnit(seats, "2.5"), perUnit(hours, "0.01")],
    },
    {
      interval: "weekly",
      amount_cents: 1_000,
      base_timing: "advance",
      trial_days: 5,
      charges: [volume(calls, "<=20 @1.00, rest @0.50"), perSeat],
    },
    {
      interval: "yearly",
      amount_cents: 120_000,
      charges: [percentage(bytes, "2.9", { fixed_amount: "0.30" }), perUnit(peak, "0.4")],
    },
    { amount_cents: 100, charges: [perUnit(level, "0.9"), perUnit(peak, "1.1")] },
  ];
  const made: Json[] = [];
  for (const each of terms) made.push(await story.plan({ code: `plan-${made.length}`, ...each }));
  return made;
}

/** What a project answers about all that was billed, paid and told. */
export class Reader {
  readonly #story: Sandbox;
  readonly #customers: readonly Json[];
  /** Invoices as they were listed and answered last, by id. */
  readonly #known = new Map<string, readonly [listed: string, whole: Json]>();

  constructor(story: Sandbox, { customers }: World) {
    this.#story = story;
    this.#customers = customers;
  }

  async read(): Promise<Json> {
    const all = (path: string) => this.#story.get(`/v1/${path}?all=1`);
    const { subscriptions } = await all("subscriptions");
    const ledgers: Json[] = [];
    for (const { id } of this.#customers) {
      ledgers.push(await all(`customers/${id}/ledger`));
      ledgers.push((await this.#story.get(`/v1/customers/${id}/wallets`)).wallets);
    }
    const { billing_events } = await all("billing-events");
    const usage: Json[] = [];
    for (const each of subscriptions.filter(isRunning)) {
      usage.push(await this.#story.runningUsage(each));
    }
    return {
      invoices: await this.#invoices(),
      subscriptions,
      ledgers,
      usage,
      payments: await all("payments"),
      notes: await all("credit-notes"),
      grants: await all("grants"),
      coupons: await all("applied-coupons"),
      analytics: await this.#story.get("/v1/analytics"),
      // The moves of the clock are what the twins differ in.
      log: billing_events.filter(({ event_type }: Json) => !event_type.startsWith("clock.")),
    };
  }

  /** Oldest first. One that is listed as before is not asked for again. */
  async #invoices(): Promise<Json[]> {
    const { invoices } = await this.#story.get("/v1/invoices?all=1");
    const found: Json[] = [];
    for (const row of invoices.reverse()) {
      const listed = JSON.stringify(row);
      const known = this.#known.get(row.id);
      const whole = known?.[0] === listed ? known[1] : await this.#story.invoice(row.id);
      this.#known.set(row.id, [listed, whole]);
      found.push(whole);
    }
    return found;
  }
}

function isRunning({ status, terminated_at }: Json): boolean {
  return terminated_at === null && status !== "pending";
}

/** Ids differ between two tellings; who is who must not. */
export function withoutIds(record: unknown): unknown {
  const names = new Map<string, string>();
  const uuid = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/g;
  const text = JSON.stringify(record).replace(uuid, (id) => {
    const name = names.get(id) ?? `id ${names.size + 1}`;
    names.set(id, name);
    return name;
  });
  // The seller has the name of its project; a short id is drawn by lot.
  return JSON.parse(text.replace(/"story-\d+"/g, '"story"').replace(/"cust_\w+"/g, '"short"'));
}
