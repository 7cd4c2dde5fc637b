// A file with every word that prices can be written in, and the tool's own words for what a
// subscription can do.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { stringify } from "yaml";
import { type Shell, startShell } from "../../cli/support.ts";

let shell: Shell;
let made = 0;
const AT = "2026-01-10T00:00:00.000Z";
beforeAll(async () => {
  shell = await startShell({ at: AT });
});
afterAll(() => shell.close());

type Sections = Readonly<Record<string, unknown>>;

async function project() {
  made += 1;
  const slug = `priced-${made}`;
  const id = await shell.project(slug);
  await shell.app.ok("POST", "/v1/clock", { frozen_at: AT }, { "x-project-id": id });
  const head = { version: "1", org: "acme", workspace: "main", project: slug };
  const sync = (sections: Sections, ...flags: string[]) =>
    shell.run(["sync", shell.file(`${slug}.yaml`, stringify({ ...head, ...sections })), ...flags]);
  const get = (path: string) => shell.app.ok("GET", path, undefined, { "x-project-id": id });
  return { id, sync, get };
}

const metrics = [
  { code: "calls", name: "Calls", aggregation_type: "sum", field_name: "n" },
  { code: "mails", name: "Mails", aggregation_type: "count" },
  { code: "paid", name: "Paid", aggregation_type: "sum", field_name: "money" },
  {
    code: "tokens",
    name: "Tokens",
    aggregation_type: "sum",
    field_name: "n",
    dimensions: ["model", "kind"],
  },
  {
    code: "storage",
    name: "Storage",
    aggregation_type: "weighted_sum",
    field_name: "gb",
    weighted_by: "period",
  },
];
const volume = {
  type: "volume",
  metric_ref: "calls",
  name: "API calls",
  tiers: [
    { up_to: "100", rate: "1" },
    { up_to: null, rate: "0.5", flat_amount: "2" },
  ],
};
const seats = {
  type: "flat_fee",
  catalog_ref: "seat",
  quantity_from: "subscription_property.seats",
  quantity_mode: "prorated",
};
const pro = {
  code: "pro",
  name: "Pro",
  interval: "monthly",
  amount_cents: 2900,
  currency: "USD",
  minimum_cents: 5000,
  trial_days: 14,
  base_timing: "advance",
  charges: [
    volume,
    {
      type: "package",
      metric_ref: "mails",
      rate: "5",
      package_size: "100",
      free_units: "1000",
      minimum_cents: 300,
    },
    {
      type: "percentage",
      metric_ref: "paid",
      percent: "2.9",
      fixed_amount: "0.30",
      free_events: 1,
    },
    {
      type: "standard",
      metric_ref: "tokens",
      rate: "0.02",
      free_units: "10",
      prices: [
        { match: { model: "large", kind: "output" }, rate: "0.10" },
        { match: { model: "large" }, rate: "0.05", free_units: "5" },
      ],
    },
    {
      type: "graduated",
      metric_ref: "storage",
      tiers: [
        { up_to: 10, rate: "0.10" },
        { up_to: null, rate: "0.05" },
      ],
    },
    seats,
  ],
};
const EVERYTHING = {
  catalog: [{ code: "seat", name: "Seat", amount_cents: 1500 }],
  metrics,
  plans: [pro],
};

describe("a file with every word", () => {
  test("P188 is applied, and a second sync changes nothing", async () => {
    const { id, sync, get } = await project();
    const first = await sync(EVERYTHING);
    expect(first.code, first.err).toBe(0);
    shell.takeWrites();
    const second = await sync(EVERYTHING);
    expect(second.out).toContain("Nothing to do.");
    expect(shell.takeWrites()).toEqual([]);
    const { plan } = await get("/v1/plans?code=pro");
    expect(plan).toMatchObject({ minimum_cents: 5000, trial_days: 14, base_timing: "advance" });
    expect(plan.charges).toMatchObject([
      {
        charge_model: "volume",
        name: "API calls",
        properties: {
          tiers: [
            { up_to: "100", amount: "1" },
            { up_to: null, amount: "0.5", flat_amount: "2" },
          ],
        },
      },
      {
        charge_model: "package",
        name: null,
        properties: { amount: "5", package_size: "100", free_units: "1000", minimum_cents: 300 },
      },
      {
        charge_model: "percentage",
        properties: { percent: "2.9", fixed_amount: "0.30", free_events: 1 },
      },
      {
        charge_model: "standard",
        properties: {
          amount: "0.02",
          free_units: "10",
          prices: [
            { match: { model: "large", kind: "output" }, amount: "0.10" },
            { match: { model: "large" }, amount: "0.05", free_units: "5" },
          ],
        },
      },
      { charge_model: "graduated", properties: { tiers: [{ up_to: "10" }, { up_to: null }] } },
      { charge_model: "flat_fee", properties: { quantity_mode: "prorated" } },
    ]);
    const { metrics: kept } = await get("/v1/metrics?all=1");
    const byCode = Object.fromEntries(kept.map((each: { code: string }) => [each.code, each]));
    expect(byCode.tokens).toMatchObject({ dimensions: ["model", "kind"], weighted_by: null });
    expect(byCode.storage).toMatchObject({ dimensions: [], weighted_by: "period" });
    // What is exported is a file that has nothing to do either.
    const exported = await shell.run(["export", "--project", id]);
    expect(exported.code, exported.err).toBe(0);
    const again = await shell.run(["sync", shell.file("exported.yaml", exported.out)]);
    expect(again.out, again.err).toContain("Nothing to do.");
  });

  test.each<[string, object, string]>([
    [
      "amount inside tiers",
      { ...volume, tiers: [{ up_to: null, amount: "1" }] },
      "tiers[0].amount",
    ],
    [
      "the API's properties",
      { type: "percentage", metric_ref: "paid", properties: { percent: "1" } },
      "",
    ],
    [
      "amount inside prices",
      {
        type: "standard",
        metric_ref: "tokens",
        rate: "1",
        prices: [{ match: { model: "a" }, amount: "1" }],
      },
      "prices[0].amount",
    ],
    ["a rate that is a number", { ...volume, tiers: [{ up_to: null, rate: 1 }] }, "tiers[0].rate"],
    [
      "tiers that fall",
      {
        ...volume,
        tiers: [
          { up_to: 2, rate: "1" },
          { up_to: 1, rate: "1" },
          { up_to: null, rate: "1" },
        ],
      },
      "tiers[1].up_to",
    ],
  ])("P188 %s is refused", async (_, charge, field) => {
    const { sync, get } = await project();
    const ran = await sync({ ...EVERYTHING, plans: [{ ...pro, charges: [charge] }] });
    expect(ran.code).toBe(65);
    expect(ran.err).toContain(`plans[0].charges[0].${field}`);
    expect((await get("/v1/plans")).plans).toEqual([]);
  });

  test("P188 dimensions and weighted_by never change, prices do", async () => {
    const { sync, get } = await project();
    await sync(EVERYTHING);
    for (const changed of [
      { ...metrics[3], dimensions: ["model"] },
      { ...metrics[4], weighted_by: "hour" },
    ]) {
      const ran = await sync({ metrics: [changed] });
      expect(ran.code, ran.out).not.toBe(0);
    }
    const dearer = { ...pro, minimum_cents: 6000, trial_days: 7, base_timing: "arrears" };
    const ran = await sync({ plans: [dearer] }, "--yes");
    expect(ran.code, ran.err).toBe(0);
    const { plan } = await get("/v1/plans?code=pro");
    expect(plan).toMatchObject({ minimum_cents: 6000, trial_days: 7, base_timing: "arrears" });
  });
});

describe("also: the tool's own words", () => {
  async function json(...args: string[]) {
    const ran = await shell.run([...args, "--json"]);
    expect(ran.code, `${args.join(" ")}\n${ran.err}`).toBe(0);
    return JSON.parse(ran.out);
  }

  // From 10 January 2026: a trial of 5 days, whole periods from the 31st, an end in June.
  test("create, change and preview", async () => {
    const { id, sync } = await project();
    const base = { name: "A", interval: "monthly", amount_cents: 3100, currency: "USD" };
    await sync({
      plans: [
        { ...base, code: "a" },
        { ...base, code: "b", amount_cents: 6200 },
      ],
    });
    const here = ["--project", id];
    const named = ["--external-id", "acme", "--name", "Acme"];
    await json("customers", "create", ...named, ...here);
    const created = await json(
      ...["subscriptions", "create", "--customer", "ext:acme", "--plan", "a"],
      ...["--external-id", "acme-a", "--billing-time", "anniversary"],
      ...["--anchor-date", "2026-01-31", "--trial-days", "5"],
      ...["--starts-at", "2026-02-01T00:00:00Z", "--ends-at", "2026-06-01T00:00:00Z"],
      ...here,
    );
    expect(created.subscription).toMatchObject({
      status: "pending",
      billing_time: "anniversary",
      anchor_date: "2026-01-31",
      trial_ends_at: "2026-02-06T00:00:00.000Z",
      ends_at: "2026-06-01T00:00:00.000Z",
    });
    const plain = ["--customer", "ext:acme", "--plan", "a", "--external-id", "acme-b"];
    await json("subscriptions", "create", ...plain, ...here);
    const preview = await json("invoices", "preview", "acme-b", "--plan", "b", ...here);
    expect(preview.next_invoice_previews).toHaveLength(1);
    const scheduled = await json(
      ...["subscriptions", "change", "ext:acme-b", "--plan", "b", "--at", "period_end"],
      ...here,
    );
    expect(scheduled.subscription.scheduled_plan_id).toMatch(/-/);
    const changed = await json("subscriptions", "change", "ext:acme-b", "--plan", "b", ...here);
    expect(changed.subscription).toMatchObject({ scheduled_plan_id: null });
    expect(changed.subscription.plan_id).toBe(scheduled.subscription.scheduled_plan_id);
  });
});
