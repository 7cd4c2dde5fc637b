// A customer whose invoices have every kind of line: all charge models, dimensions, minimums,
// quantities over time, corrections of all of these, and days given back.

import type { App, Json } from "./app.ts";
import { flatFee, perUnit, type Sandbox, sandbox } from "./given.ts";
import { graduated, packages, percentage, tiers, useOf, volume } from "./pricing.ts";

export type PricedStory = {
  readonly project: Sandbox;
  readonly customer: Json;
  readonly subscription: Json;
  /** January: every model, once. */
  readonly january: Json;
  /** February: the same plan, with corrections of January. */
  readonly february: Json;
  /** The end of a period in advance, on 10 March. */
  readonly ended: Json;
};

export async function pricedStory(app: App): Promise<PricedStory> {
  const project = await sandbox(app, "2026-01-01");
  await project.ok("PUT", "/v1/settings", {
    name: "Northwind Metering",
    address: "1 Sample Street\nSampletown AB1 2CD",
    tax_id: "GB000000000",
    logo_color: "#0b6e4f",
  });
  const customer = await project.customer({ name: "Blue Harbour Shipping", currency: "USD" });
  const metrics = await metricsOf(project);
  const plan = await scalePlan(project, metrics);
  const subscription = await project.subscribe({ plan, customer, properties: { seats: 3 } });
  await useJanuary(project, subscription, metrics);
  await project.travelTo("2026-01-15T10:00");
  await project.update(subscription, { properties: { seats: 5 } });
  await project.travelTo("2026-02-03");
  const [january] = await project.invoices();
  const { calls, exports, tokens, mails } = metrics;
  await project.use(subscription, calls, "30", "2026-01-20");
  await project.use(subscription, exports, "1", "2026-01-20");
  await project.use(subscription, mails, "400", "2026-01-20");
  const output = { model: "large", kind: "output" };
  await useOf(project, subscription, tokens, { value: "10", of: output, at: "2026-01-20" });
  const base = { amount_cents: 3_100, base_timing: "advance" };
  const prepaid = await project.plan({ code: "flat", name: "Flat rate", ...base });
  await project.change(subscription, prepaid, { change_at: "period_end" });
  await project.travelTo("2026-03-10T12:00");
  await project.terminate(subscription);
  const invoices = await project.invoices();
  const ended = invoices.at(-1) as Json;
  const february = invoices.find(({ period_start }) => period_start === "2026-02-01") as Json;
  return { project, customer, subscription, january: january as Json, february, ended };
}

type Metrics = Readonly<Record<(typeof NAMES)[number][0], Json>>;

const NAMES = [
  ["calls", "Calls"],
  ["exports", "Exports"],
  ["mails", "Mails"],
  ["paid", "Card payments"],
  ["scans", "Scans"],
  ["tokens", "Tokens"],
] as const;

async function metricsOf(project: Sandbox): Promise<Metrics> {
  const found: [string, Json][] = [];
  for (const [code, name] of NAMES) {
    const more = code === "tokens" ? { dimensions: ["model", "kind"] } : {};
    found.push([code, await project.metric("sum", { code, name, ...more })]);
  }
  return Object.fromEntries(found) as Metrics;
}

async function scalePlan(project: Sandbox, metrics: Metrics): Promise<Json> {
  const seat = await project.item({ code: "seat", name: "Seat", amount_cents: 1_000 });
  const prices = [
    { match: { model: "large", kind: "output" }, amount: "0.10" },
    { match: { model: "large" }, amount: "0.05" },
  ];
  const fixed = { fixed_amount: "0.30", free_events: 1, free_units: "50" };
  return project.plan({
    code: "scale",
    name: "Scale",
    amount_cents: 2_900,
    minimum_cents: 40_000,
    charges: [
      { ...graduated(metrics.calls, "<=100 @0.10 + 5, rest @0.05"), name: "API requests" },
      volume(metrics.exports, "<=100 @1.00, rest @0.50"),
      packages(metrics.mails, "100", "5", { free_units: "1000" }),
      percentage(metrics.paid, "2.9", fixed),
      perUnit(metrics.scans, "0.10", { free_units: "100", minimum_cents: 500 }),
      perUnit(metrics.tokens, "0.02", { prices }),
      flatFee({
        catalog_item_code: seat.code,
        seats: true,
        properties: { quantity_mode: "prorated" },
      }),
    ],
  });
}

async function useJanuary(project: Sandbox, subscription: Json, metrics: Metrics): Promise<void> {
  const { calls, exports, mails, paid, scans, tokens } = metrics;
  const day = "2026-01-01T06:00";
  await project.use(subscription, calls, "120", day);
  await project.use(subscription, exports, "100", day);
  await project.use(subscription, mails, "1250", day);
  for (const value of ["100", "49.99", "0.01"]) await project.use(subscription, paid, value, day);
  await project.use(subscription, scans, "130", day);
  const of = [
    [{ model: "large", kind: "output" }, "120"],
    [{ model: "large" }, "40"],
    [{ model: "small", kind: "" }, "11"],
  ] as const;
  for (const [properties, value] of of) {
    await useOf(project, subscription, tokens, { value, of: properties, at: day });
  }
}

/** A charge with so many tiers that its explanation does not fit a page. */
export function manyTiers(metric: Json, count: number): Json {
  const steps = Array.from({ length: count - 1 }, (_, i) => `<=${(i + 1) * 10} @1.${199 - i}`);
  const properties = { tiers: tiers([...steps, "rest @0.01"].join(", ")) };
  return { charge_model: "graduated", billable_metric_id: metric.id, properties };
}
