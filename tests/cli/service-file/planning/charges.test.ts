// Charges of the file and of the API: what is the same, how a difference is shown, and what is
// exported.

import { describe, expect, test } from "vitest";
import { chargeInput, fileCharge } from "../../../../src/cli/service-file/charge-terms.ts";
import { checkFile } from "../../../../src/cli/service-file/checking/file.ts";
import {
  changesOfCharges,
  changesOfNewCharge,
} from "../../../../src/cli/service-file/planning/charges.ts";
import type { Charge } from "../../../../src/client/types.ts";
import { draftCharge } from "../../../../src/domain/charges.ts";
import type { FileCharge } from "../../../../src/schema/service-file.ts";

const BARE = {
  id: "c1",
  plan_id: "p1",
  name: null,
  billable_metric_id: null,
  billable_metric_code: null,
  catalog_item_code: null,
  amount_override_cents: null,
  quantity_from: null,
  invoice_timing: "arrears",
  tax_codes: null,
  created_at: "2026-01-01T00:00:00.000Z",
} as const;

function usage(charge_model: Charge["charge_model"], properties: Charge["properties"]): Charge {
  return { ...BARE, charge_model, billable_metric_code: "calls", properties };
}

/** What the service would answer for a charge of the file. */
function answered(charge: FileCharge): Charge {
  const draft = draftCharge(chargeInput(charge), "");
  const { name, charge_model, invoice_timing, properties } = draft;
  const { catalog_item_code, amount_override_cents, quantity_from, tax_codes } = draft;
  const found = { name, charge_model, invoice_timing, properties, tax_codes };
  const price = { catalog_item_code, amount_override_cents, quantity_from };
  const billable_metric_code = charge.metric_ref ?? null;
  return { ...BARE, ...found, ...price, billable_metric_code };
}

function shown(before: readonly Charge[], after: readonly FileCharge[]): string[] {
  return changesOfCharges(before, after).map(({ field, from, to }) => `${field}: ${from} → ${to}`);
}

const graduated: FileCharge = {
  type: "graduated",
  metric_ref: "calls",
  tiers: [
    { up_to: "100", rate: "0.10", flat_amount: "5" },
    { up_to: null, rate: "0.05" },
  ],
};

describe("the same", () => {
  test.each<[string, Charge, FileCharge]>([
    [
      "units as a number, a string and with more digits",
      usage("package", { amount: "5.0", package_size: "100", free_units: "1000" }),
      { type: "package", metric_ref: "calls", rate: "5", package_size: 100, free_units: "1000.0" },
    ],
    [
      "prices with other digits, in tiers too",
      usage("graduated", {
        tiers: [
          { up_to: "100", amount: "0.1", flat_amount: "5.00" },
          { up_to: null, amount: "0.050" },
        ],
      }),
      graduated,
    ],
    [
      "the values to match in another order",
      usage("standard", { amount: "1", prices: [{ match: { a: "x", b: "y" }, amount: "2" }] }),
      {
        type: "standard",
        metric_ref: "calls",
        rate: "1",
        prices: [{ match: { b: "y", a: "x" }, rate: "2.0" }],
      },
    ],
    [
      "properties without a meaning for the price",
      usage("standard", { amount: "1", note: 1 }),
      { type: "standard", metric_ref: "calls", rate: "1", properties: { note: 1 } },
    ],
  ])("%s", (_, before, after) => {
    expect(changesOfCharges([before], [after])).toEqual([]);
    expect(changesOfCharges([before], [fileCharge(before)])).toEqual([]);
  });
});

describe("a difference is shown by the line", () => {
  test("one tier of many", () => {
    const [first, last] = graduated.tiers ?? [];
    const dearer = { ...graduated, tiers: [{ ...first, rate: "0.2" }, last] } as FileCharge;
    expect(shown([answered(graduated)], [dearer])).toEqual([
      "charges[0].tiers[0]: up to 100 at 0.1 and 5 once → up to 100 at 0.2 and 5 once",
    ]);
  });

  test("a tier more: the open one moves", () => {
    const [first, last] = graduated.tiers ?? [];
    const more = { ...graduated, tiers: [first, { up_to: 200, rate: "0.07" }, last] };
    expect(shown([answered(graduated)], [more as FileCharge])).toEqual([
      "charges[0].tiers[1]: rest at 0.05 → up to 200 at 0.07",
      "charges[0].tiers[2]: undefined → rest at 0.05",
    ]);
  });

  test("a value to match is text: 1.0 is not 1", () => {
    const priced = (value: string): FileCharge => ({
      type: "standard",
      metric_ref: "calls",
      rate: "1",
      prices: [{ match: { version: value }, rate: "2" }],
    });
    expect(shown([answered(priced("1.0"))], [priced("1")])).toEqual([
      "charges[0].prices[0]: version 1.0 at 2 → version 1 at 2",
    ]);
  });

  test("name, minimum and quantity", () => {
    const seats: FileCharge = { type: "flat_fee", catalog_ref: "seat" };
    const calls: FileCharge = { type: "standard", metric_ref: "calls", rate: "1" };
    const before = [answered({ ...calls, minimum_cents: 300 }), answered(seats)];
    const after = [
      { ...calls, name: "API calls", minimum_cents: 500 },
      { ...seats, quantity_mode: "prorated" as const },
    ];
    expect(shown(before, after)).toEqual([
      "charges[0].name: undefined → API calls",
      "charges[0].minimum_cents: 300 → 500",
      "charges[1]: flat_fee seat, arrears → flat_fee seat, prorated, arrears",
    ]);
  });

  test("a new charge has its tiers under it, also those of its prices", () => {
    const { tiers } = graduated;
    const charge = { ...graduated, prices: [{ match: { model: "a" }, tiers }] } as FileCharge;
    expect(changesOfNewCharge(charge).map(({ field, to }) => `${field}: ${to}`)).toEqual([
      "charge: graduated calls, arrears",
      "charge.tiers[0]: up to 100 at 0.1 and 5 once",
      "charge.tiers[1]: rest at 0.05",
      "charge.prices[0]: model a",
      "charge.prices[0].tiers[0]: up to 100 at 0.1 and 5 once",
      "charge.prices[0].tiers[1]: rest at 0.05",
    ]);
  });

  test.each<[FileCharge, string]>([
    [
      { type: "package", metric_ref: "calls", rate: "5", package_size: 100, free_units: 7 },
      "package calls at 5 for 100, 7 free, arrears",
    ],
    [
      {
        type: "percentage",
        metric_ref: "calls",
        percent: "2.9",
        fixed_amount: "0.30",
        free_events: 1,
      },
      "percentage calls at 2.9 % and 0.3 for an event, 1 event free, arrears",
    ],
  ])("%j", (charge, text) => {
    expect(changesOfNewCharge(charge)).toMatchObject([{ to: text }]);
  });
});

test("what is exported is in the file's words, and a good file", () => {
  const charges: FileCharge[] = [
    { ...graduated, name: "API calls", minimum_cents: 0 },
    {
      type: "percentage",
      metric_ref: "calls",
      percent: "2.9",
      fixed_amount: "0.30",
      free_events: 1,
      prices: [{ match: { model: "" }, percent: "1" }],
    },
    {
      type: "flat_fee",
      amount_override_cents: 5,
      quantity_from: "subscription_property.seats",
      quantity_mode: "max",
    },
  ];
  const exported = charges.map((charge) => fileCharge(answered(charge)));
  expect(exported).toEqual(charges);
  expect(JSON.stringify(exported)).not.toContain('"amount"');
  const plans = [{ code: "p", name: "P", interval: "monthly", currency: "USD", charges: exported }];
  const file = { version: "1", org: "a", workspace: "b", project: "c", plans };
  expect(checkFile(Buffer.from(JSON.stringify(file)))).toHaveProperty("wanted");
});
