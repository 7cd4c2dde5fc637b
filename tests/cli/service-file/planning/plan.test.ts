// What a sync would do, decided without a server.

import { describe, expect, test } from "vitest";
import { planSync } from "../../../../src/cli/service-file/planning/plan.ts";
import type { Step } from "../../../../src/cli/service-file/planning/steps.ts";
import type { Present } from "../../../../src/cli/service-file/present-state.ts";
import type { Settings } from "../../../../src/client/types.ts";
import type { FileCharge, FilePlan, ServiceFile } from "../../../../src/schema/service-file.ts";
import { HEAD, NOTHING_PRESENT } from "../../../support/service-files.ts";

const AT = "2026-01-01T00:00:00.000Z";
const times = { created_at: AT, updated_at: AT, archived_at: null };
const EMPTY: Present = {
  ...NOTHING_PRESENT,
  settings: { name: "Test", tax_codes: null } as Settings,
};

const seat = {
  id: "i1",
  code: "seat",
  name: "Seat",
  amount_cents: 1500,
  currency: "USD",
  metadata: { team: "a" },
  ...times,
};
const calls = {
  id: "m1",
  code: "calls",
  name: "Calls",
  aggregation_type: "sum",
  field_name: "n",
  dimensions: [],
  weighted_by: null,
  ...times,
} as const;
const charge = {
  id: "c1",
  plan_id: "p1",
  name: null,
  charge_model: "standard",
  billable_metric_id: "m1",
  billable_metric_code: "calls",
  catalog_item_code: null,
  amount_override_cents: null,
  quantity_from: null,
  invoice_timing: "arrears",
  tax_codes: null,
  properties: { amount: "0.10" },
  created_at: AT,
} as const;
const pro = {
  id: "p1",
  code: "pro",
  name: "Pro",
  description: "For teams",
  category: null,
  interval: "monthly",
  amount_cents: 2900,
  amount_currency: "USD",
  minimum_cents: 0,
  base_timing: "arrears",
  trial_days: 0,
  tax_codes: null,
  labels: [],
  archived_at: null,
  created_at: AT,
  charges: [charge],
} as const;
const onSeat = {
  ...charge,
  id: "c2",
  charge_model: "flat_fee",
  billable_metric_id: null,
  billable_metric_code: null,
  catalog_item_code: "seat",
  properties: {},
} as const;
const filePro: FilePlan = {
  code: "pro",
  name: "Pro",
  interval: "monthly",
  amount_cents: 2900,
  currency: "USD",
  charges: [{ type: "standard", metric_ref: "calls", rate: "0.1" }],
};

function plan(file: Partial<ServiceFile>, present: Partial<Present> = {}) {
  return planSync({ ...HEAD, ...file } as ServiceFile, { ...EMPTY, ...present });
}

function told(steps: readonly Step[]): string[] {
  return steps.map(({ act, section, key, changes }) =>
    [act, section, key, ...changes.map(({ field }) => field)].join(" "),
  );
}

describe("sections", () => {
  test("absent ones and empty ones have no step, whatever the project has", () => {
    const present = { catalog: [seat], metrics: [calls], plans: [pro] };
    expect(plan({}, present).steps).toEqual([]);
    const lists = { taxes: [], catalog: [], metrics: [], addons: [], plans: [], coupons: [] };
    const empty = { ...lists, settings: {}, dunning: {}, webhooks: [] };
    expect(plan(empty, present)).toEqual({ steps: [], faults: [] });
  });

  test("steps come in the order of their dependencies, not of the file", () => {
    const file = {
      webhooks: [{ url: "https://a.test", events: ["invoice.created" as const] }],
      dunning: {
        enabled: false,
        steps: [{ days_after_due: 3, webhook_event: "subscription.suspend_requested" as const }],
      },
      coupons: [{ code: "c", name: "C", percent: "10", plan_codes: ["p"], metric_codes: ["m"] }],
      settings: { tax_codes: ["t"] },
      taxes: [{ code: "t", name: "T", percent: "20" }],
      plans: [{ code: "p", name: "P", interval: "weekly" as const, currency: "USD" }],
      addons: [{ code: "a", name: "A", amount_cents: 1 }],
      metrics: [{ code: "m", name: "M", aggregation_type: "count" as const }],
      catalog: [{ code: "c", name: "C", amount_cents: 1 }],
    };
    const order = "taxes settings catalog metrics addons plans coupons dunning webhooks";
    expect(plan(file).steps.map(({ section }) => section)).toEqual(order.split(" "));
  });

  test("what the file does not name is left alone, and shown", () => {
    const file = { catalog: [{ code: "new", name: "New", amount_cents: 1 }] };
    const { steps } = plan(file, { catalog: [seat, { ...seat, code: "old", archived_at: AT }] });
    expect(told(steps)).toEqual([
      "create catalog new name amount_cents currency",
      "left catalog seat",
    ]);
    expect(steps[1]?.request).toBeUndefined();
  });
});

describe("catalog items", () => {
  const entry = { code: "seat", name: "Seat", amount_cents: 1500 };

  test("the same item, its metadata left out, is no change", () => {
    expect(told(plan({ catalog: [entry] }, { catalog: [seat] }).steps)).toEqual([
      "same catalog seat",
    ]);
  });

  test("the currency is USD when left out", () => {
    const euro = { ...seat, currency: "EUR" };
    expect(told(plan({ catalog: [entry] }, { catalog: [euro] }).steps)).toEqual([
      "change catalog seat currency",
    ]);
  });

  test("metadata is compared whatever the order of its keys", () => {
    const item = { ...seat, metadata: { a: 1, b: { c: 2, d: 3 } } };
    const same = { ...entry, metadata: { b: { d: 3, c: 2 }, a: 1 } };
    expect(told(plan({ catalog: [same] }, { catalog: [item] }).steps)).toEqual([
      "same catalog seat",
    ]);
  });

  test("an archived one comes back", () => {
    const { steps } = plan({ catalog: [entry] }, { catalog: [{ ...seat, archived_at: AT }] });
    expect(told(steps)).toEqual(["change catalog seat archived"]);
  });

  test("a new price names the plans it reaches, and not those that override it", () => {
    const over = { ...pro, code: "over", charges: [{ ...onSeat, amount_override_cents: 5 }] };
    const uses = { ...pro, code: "uses", charges: [onSeat] };
    const present = { catalog: [seat], plans: [over, uses, pro] };
    const { steps } = plan({ catalog: [{ ...entry, amount_cents: 1 }] }, present);
    expect(steps[0]?.reprices).toEqual(["uses"]);
  });

  test("another currency than that of a plan that uses it is refused", () => {
    const present = { catalog: [seat], plans: [{ ...pro, charges: [onSeat] }] };
    const { faults } = plan({ catalog: [{ ...entry, currency: "EUR" }] }, present);
    expect(faults[0]).toMatchObject({ path: ["catalog", 0, "currency"] });
  });
});

describe("metrics", () => {
  const entry = { code: "calls", name: "Calls", aggregation_type: "sum", field_name: "n" } as const;

  test("a name changes", () => {
    const { steps } = plan({ metrics: [{ ...entry, name: "All calls" }] }, { metrics: [calls] });
    expect(steps[0]?.request).toEqual({
      operation: "updateMetric",
      id: "m1",
      body: { name: "All calls" },
    });
  });

  test.each([
    ["aggregation_type", { aggregation_type: "max" as const }],
    ["field_name", { field_name: "m" }],
    ["dimensions", { dimensions: ["model"] }],
    ["weighted_by", { weighted_by: "hour" as const }],
  ])("%s never changes: the hint says to take a new code", (field, change) => {
    const { faults } = plan({ metrics: [{ ...entry, ...change }] }, { metrics: [calls] });
    expect(faults).toHaveLength(1);
    expect(faults[0]).toMatchObject({ path: ["metrics", 0, field] });
    expect(faults[0]?.hint).toContain("new code");
  });

  test("dimensions that are left out, or in another order, are not those there are", () => {
    const present = { metrics: [{ ...calls, dimensions: ["model", "kind"] }] };
    const turned = { ...entry, dimensions: ["kind", "model"] };
    expect(plan({ metrics: [entry] }, present).faults[0]?.message).toContain(
      "(it is model, kind, the file says none)",
    );
    expect(plan({ metrics: [turned] }, present).faults).toHaveLength(1);
    const same = { ...entry, dimensions: ["model", "kind"] };
    expect(plan({ metrics: [same] }, present).faults).toEqual([]);
  });

  test("an archived one comes back, if it counts as it did", () => {
    const archived = { ...calls, archived_at: AT };
    const { steps } = plan({ metrics: [entry] }, { metrics: [archived] });
    expect(told(steps)).toEqual([expect.stringContaining(`create metrics ${entry.code}`)]);
    const other = { ...entry, aggregation_type: "max" as const };
    expect(plan({ metrics: [other] }, { metrics: [archived] }).faults).toHaveLength(1);
  });
});

describe("add-ons", () => {
  const addOn = {
    id: "a1",
    code: "setup",
    name: "Setup",
    description: "Once",
    catalog_item_code: null,
    amount_cents: 500,
    currency: "USD",
    invoice_timing: "immediate",
    tax_codes: null,
    ...times,
  } as const;

  test("a description that is left out stays", () => {
    const entry = { code: "setup", name: "Set-up", amount_cents: 500 };
    const { steps } = plan({ addons: [entry] }, { addons: [addOn] });
    expect(told(steps)).toEqual(["change addons setup name"]);
    expect(steps[0]?.request?.body).toMatchObject({ description: "Once" });
  });

  test("a price from the catalog replaces its own", () => {
    const entry = { code: "setup", name: "Setup", catalog_ref: "seat" };
    const { steps } = plan({ addons: [entry] }, { addons: [addOn], catalog: [seat] });
    expect(told(steps)).toEqual(["change addons setup catalog_item_code amount_cents"]);
  });

  test("a new price of the item is no change of the add-on", () => {
    const priced = { ...addOn, catalog_item_code: "seat", amount_cents: 1500 };
    const file = {
      catalog: [{ code: "seat", name: "Seat", amount_cents: 1 }],
      addons: [{ code: "setup", name: "Setup", catalog_ref: "seat", currency: "EUR" }],
    };
    const { steps } = plan(file, { addons: [priced], catalog: [seat] });
    expect(told(steps)).toEqual(["change catalog seat amount_cents", "same addons setup"]);
  });

  test("an unknown item is refused, with the one that was meant", () => {
    const entry = { code: "setup", name: "Setup", catalog_ref: "saet" };
    const { faults } = plan({ addons: [entry] }, { catalog: [seat] });
    expect(faults).toEqual([
      {
        path: ["addons", 0, "catalog_ref"],
        message: "There is no catalog item saet, neither in the file nor in the project.",
        hint: "Did you mean seat?",
      },
    ]);
  });
});

describe("plans", () => {
  const present = { metrics: [calls], plans: [pro], catalog: [seat] };

  test("the same rate in other digits is no change, and a description that is left out stays", () => {
    expect(told(plan({ plans: [filePro] }, present).steps)).toEqual(["same plans pro"]);
  });

  test("charges that are left out stay; an empty list takes them away", () => {
    const { charges: _, ...bare } = filePro;
    expect(told(plan({ plans: [bare] }, present).steps)).toEqual(["same plans pro"]);
    const { steps } = plan({ plans: [{ ...bare, charges: [] }] }, present);
    expect(steps[0]?.request).toMatchObject({ operation: "updatePlan", body: { charges: [] } });
    expect(steps[0]?.reprices).toEqual(["pro"]);
  });

  test("only what changes is sent", () => {
    const { steps } = plan({ plans: [{ ...filePro, name: "Pro 2" }] }, present);
    expect(steps[0]?.request?.body).toEqual({ name: "Pro 2" });
    expect(steps[0]?.reprices).toEqual([]);
  });

  test("amount_cents is 0 when left out", () => {
    const { amount_cents: _, ...bare } = filePro;
    const { steps } = plan({ plans: [bare] }, present);
    expect(steps[0]?.changes).toEqual([{ field: "amount_cents", from: 2900, to: 0 }]);
  });

  test.each([
    ["minimum_cents", 5000, 0, ["pro"]],
    ["base_timing", "advance", "arrears", ["pro"]],
    ["trial_days", 14, 0, []],
  ])("%s is %s, or %s when left out; who it reprices is told", (field, set, unset, reprices) => {
    const { steps } = plan({ plans: [{ ...filePro, [field]: set }] }, present);
    expect(steps[0]?.request?.body).toEqual({ [field]: set });
    expect(steps[0]?.reprices).toEqual(reprices);
    const changed = { ...pro, [field]: set } as typeof pro;
    const back = plan({ plans: [filePro] }, { ...present, plans: [changed] });
    expect(back.steps[0]?.changes).toEqual([{ field, from: set, to: unset }]);
  });

  test("a changed charge shows old and new", () => {
    const charges: FileCharge[] = [{ type: "standard", metric_ref: "calls", rate: "0.2" }];
    const { steps } = plan({ plans: [{ ...filePro, charges }] }, present);
    expect(steps[0]?.changes).toEqual([
      {
        field: "charges[0]",
        from: "standard calls at 0.1, arrears",
        to: "standard calls at 0.2, arrears",
      },
    ]);
  });

  test.each(["interval", "currency"])("%s never changes", (field) => {
    const other = field === "interval" ? "weekly" : "EUR";
    const { faults } = plan({ plans: [{ ...filePro, [field]: other }] }, present);
    expect(faults[0]).toMatchObject({ path: ["plans", 0, field] });
    expect(faults[0]?.hint).toContain("new code");
  });

  test("an archived plan of the code is history: a new one is made", () => {
    const gone = { ...pro, archived_at: AT, interval: "yearly" as const };
    const { steps, faults } = plan({ plans: [filePro] }, { ...present, plans: [gone] });
    expect(faults).toEqual([]);
    expect(steps[0]?.act).toBe("create");
  });

  test("an unknown metric and an item of another currency are refused where they stand", () => {
    const charges: FileCharge[] = [
      { type: "standard", metric_ref: "cals", rate: "1" },
      { type: "flat_fee", catalog_ref: "seat" },
    ];
    const file = { plans: [{ ...filePro, code: "eu", currency: "EUR", charges }] };
    const paths = plan(file, present).faults.map(({ path }) => path.join("."));
    expect(paths).toEqual(["plans.0.charges.0.metric_ref", "plans.0.charges.1.catalog_ref"]);
  });
});
