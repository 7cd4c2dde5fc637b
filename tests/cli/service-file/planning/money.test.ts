// What a sync would do about settings, taxes and coupons, decided without a server.

import { describe, expect, test } from "vitest";
import { planSync } from "../../../../src/cli/service-file/planning/plan.ts";
import type { Present } from "../../../../src/cli/service-file/present-state.ts";
import { renderPlan } from "../../../../src/cli/service-file/render.ts";
import type { Io } from "../../../../src/cli/terminal/io.ts";
import type { AddOn, Coupon, Plan, Settings, Tax } from "../../../../src/client/types.ts";
import type { FilePlan, ServiceFile } from "../../../../src/schema/service-file.ts";
import { NEW_SETTINGS } from "../../../../src/schema/settings.ts";
import { HEAD, NOTHING_PRESENT } from "../../../support/service-files.ts";

const AT = "2026-01-01T00:00:00.000Z";
const times = { created_at: AT, updated_at: AT, archived_at: null };
const SETTINGS: Settings = { name: "Test", ...NEW_SETTINGS };
const EMPTY: Present = { ...NOTHING_PRESENT, settings: SETTINGS, dunning: undefined };
const vat: Tax = { id: "t1", code: "vat", name: "VAT", percent: "20", description: null, ...times };
const welcome: Coupon = {
  id: "k1",
  code: "welcome",
  name: "Welcome",
  percent: "10",
  amount_cents: null,
  currency: null,
  times: 3,
  plan_codes: ["pro", "scale"],
  metric_codes: null,
  redeem_by: "2030-01-01T00:00:00.000Z",
  max_redemptions: 500,
  redemptions: 7,
  ...times,
};
const pro: Plan = {
  id: "p1",
  code: "pro",
  name: "Pro",
  description: null,
  category: null,
  interval: "monthly",
  amount_cents: 100,
  amount_currency: "USD",
  minimum_cents: 0,
  base_timing: "arrears",
  trial_days: 0,
  tax_codes: null,
  labels: [],
  charges: [],
  archived_at: null,
  created_at: AT,
};
const filePro: FilePlan = {
  code: "pro",
  name: "Pro",
  interval: "monthly",
  amount_cents: 100,
  currency: "USD",
};
const scale: Plan = { ...pro, id: "p2", code: "scale" };

function plan(file: Partial<ServiceFile>, present: Partial<Present> = {}) {
  return planSync({ ...HEAD, ...file }, { ...EMPTY, ...present });
}

/** As people see it. */
function shown(file: Partial<ServiceFile>, present: Partial<Present> = {}): string[] {
  const { steps, faults } = plan(file, present);
  expect(faults).toEqual([]);
  return renderPlan({ color: false } as Io, steps)
    .split("\n")
    .filter(Boolean);
}

test("a tax number that is kept as VAT ids are written is no change", () => {
  const settings = { ...SETTINGS, tax_id: "DE123456789" };
  const [step] = plan({ settings: { tax_id: "de 123 456 789" } }, { settings }).steps;
  expect(step).toMatchObject({ section: "settings", act: "same" });
});

describe("taxes", () => {
  const entry = { code: "vat", name: "VAT", percent: "20" };

  test("a new one, the same one in other digits, and one that the file does not name", () => {
    expect(
      shown({ taxes: [{ ...entry, code: "low", percent: "5.50" }] }, { taxes: [vat] }),
    ).toEqual([
      "+ taxes     low",
      "    name: VAT",
      "    percent: 5.5",
      "! taxes     vat  not in the file: left alone",
    ]);
    expect(shown({ taxes: [{ ...entry, percent: "20.00" }] }, { taxes: [vat] })).toEqual([
      "= taxes     vat",
    ]);
  });

  test("a new percentage is a change; a description that is left out stays", () => {
    const present = { taxes: [{ ...vat, description: "Standard" }] };
    expect(shown({ taxes: [{ ...entry, percent: "19" }] }, present)).toEqual([
      "~ taxes     vat",
      "    percent: 20 → 19",
    ]);
    expect(shown({ taxes: [{ ...entry, description: null }] }, present)).toEqual([
      "~ taxes     vat",
      "    description: Standard → none",
    ]);
  });

  test("an archived one becomes live again", () => {
    expect(shown({ taxes: [entry] }, { taxes: [{ ...vat, archived_at: AT }] })).toEqual([
      "~ taxes     vat",
      "    archived: true → false",
    ]);
  });
});

describe("settings", () => {
  test("only what the file says is compared and sent", () => {
    const settings = { city: "Paris", net_payment_days: 14, tax_codes: ["vat"] };
    const { steps } = plan({ settings }, { taxes: [vat] });
    expect(steps.map(({ request }) => request)).toEqual([
      { operation: "setSettings", body: { city: "Paris", tax_codes: ["vat"] } },
    ]);
    expect(shown({ settings }, { taxes: [vat] })).toEqual([
      "~ settings  project",
      '    city: "" → Paris',
      "    tax_codes: not said → vat",
    ]);
  });

  test("codes in another order and a colour in capitals are the same", () => {
    const taxes = [vat, { ...vat, code: "b" }];
    const present = { taxes, settings: { ...SETTINGS, tax_codes: ["b", "vat"] } };
    const settings = { tax_codes: ["vat", "b"], logo_color: "#3347C4" };
    expect(shown({ settings }, present)).toEqual(["= settings  project"]);
  });

  test("no tax is another thing than saying nothing", () => {
    expect(shown({ settings: { tax_codes: [] } })).toEqual([
      "~ settings  project",
      "    tax_codes: not said → no tax",
    ]);
    expect(shown({ settings: { tax_codes: null } })).toEqual(["= settings  project"]);
  });
});

describe("coupons", () => {
  const entry = {
    code: "welcome",
    name: "Welcome",
    percent: "10.0",
    times: 3,
    plan_codes: ["scale", "pro"],
    max_redemptions: 500,
    redeem_by: "2030-01-01T01:00:00+01:00",
  };
  const present = { coupons: [welcome], plans: [pro, scale] };

  test("the same terms in another writing are no change", () => {
    expect(shown({ coupons: [entry] }, present)).toEqual(["= coupons   welcome"]);
  });

  test("what is left out is its default, and is told in words", () => {
    const bare = { code: "welcome", name: "Welcome", amount_cents: 500, currency: "USD" };
    expect(shown({ coupons: [bare] }, present)).toEqual([
      "~ coupons   welcome",
      "    percent: 10 → none",
      "    amount_cents: none → 500",
      "    currency: none → USD",
      "    times: 3 → 1",
      "    plan_codes: pro, scale → all",
      "    redeem_by: 2030-01-01T00:00:00.000Z → none",
      "    max_redemptions: 500 → none",
    ]);
    expect(shown({ coupons: [{ code: "x", name: "X", percent: "5", times: null }] })).toEqual([
      "+ coupons   x",
      "    name: X",
      "    percent: 5",
      "    times: for ever",
    ]);
  });

  test("plans and metrics that nobody has are refused, of a coupon that stays they are not", () => {
    const file = { coupons: [{ ...entry, name: "New", metric_codes: ["calls"] }] };
    const { faults } = plan(file, { ...present, plans: [pro, { ...scale, archived_at: AT }] });
    expect(faults.map(({ path, message }) => `${path.join(".")}: ${message}`)).toEqual([
      "coupons.0.plan_codes.0: There is no plan scale, neither in the file nor in the project.",
      "coupons.0.metric_codes.0: There is no metric calls, neither in the file nor in the project.",
    ]);
    expect(plan({ coupons: [entry] }, { coupons: [welcome] }).faults).toEqual([]);
  });
});

describe("tax_codes", () => {
  const addOn: AddOn = {
    id: "a1",
    code: "setup",
    name: "Setup",
    description: null,
    catalog_item_code: null,
    amount_cents: 500,
    currency: "USD",
    invoice_timing: "immediate",
    tax_codes: ["vat"],
    ...times,
  };
  const fileAddOn = { code: "setup", name: "Setup", amount_cents: 500 };

  test("of a plan are part of its price; left out, they say nothing", () => {
    const taxed = { ...filePro, tax_codes: ["vat"] };
    const { steps } = plan({ plans: [taxed] }, { plans: [pro], taxes: [vat] });
    expect(steps).toMatchObject([{ act: "change", reprices: ["pro"] }]);
    expect(steps[0]?.request?.body).toEqual({ tax_codes: ["vat"] });
    const before = { plans: [{ ...pro, tax_codes: ["vat"] }], taxes: [vat] };
    expect(shown({ plans: [filePro] }, before)).toEqual([
      "~ plans     pro",
      "    tax_codes: vat → not said",
    ]);
    expect(shown({ plans: [taxed] }, before)).toEqual(["= plans     pro"]);
  });

  test("of a charge have a line of their own", () => {
    const fee = { type: "flat_fee", amount_override_cents: 5 } as const;
    const file = { plans: [{ ...filePro, charges: [{ ...fee, tax_codes: [] }] }] };
    expect(shown(file)).toContain("    charge.tax_codes: no tax");
  });

  test("of an add-on are replaced as a whole", () => {
    const present = { addons: [addOn], taxes: [vat] };
    expect(shown({ addons: [fileAddOn] }, present)).toEqual([
      "~ addons    setup",
      "    tax_codes: vat → not said",
    ]);
    expect(shown({ addons: [{ ...fileAddOn, tax_codes: ["vat"] }] }, present)).toEqual([
      "= addons    setup",
    ]);
  });

  test("that no tax has, or only an archived one, are refused at their place", () => {
    const fee = { type: "flat_fee", amount_override_cents: 5, tax_codes: ["vta"] } as const;
    const file = {
      settings: { tax_codes: ["old"] },
      addons: [{ ...fileAddOn, tax_codes: ["vat", "x"] }],
      plans: [{ ...filePro, tax_codes: ["y"], charges: [fee] }],
    };
    const { faults } = plan(file, { taxes: [vat, { ...vat, code: "old", archived_at: AT }] });
    expect(faults.map(({ path, hint }) => `${path.join(".")}: ${hint}`)).toEqual([
      "settings.tax_codes.0: Declare it in the file.",
      "addons.0.tax_codes.1: Declare it in the file.",
      "plans.0.tax_codes.0: Declare it in the file.",
      "plans.0.charges.0.tax_codes.0: Did you mean vat?",
    ]);
  });
});
