// What a tax is put on and how much it is: who decides, rounding, percents that change, late usage
// and amounts below 0.

import { describe, expect, test } from "vitest";
import type { Body, Json } from "../../support/app.ts";
import { fees, flatFee, perUnit, type Sandbox } from "../../support/given.ts";
import {
  balanceOf,
  discount,
  discountsOf,
  figures,
  grant,
  grantState,
  grantsOf,
  inOrder,
  oneOff,
  paid,
  repeated,
  settings,
  standing,
  stories,
  tax,
  taxesOf,
  vat,
} from "../../support/money.ts";
import { creditOf } from "../../support/pricing.ts";

const { begin } = stories();

async function addOnInvoice(story: Sandbox, addOn: Json, customer: Json): Promise<Json> {
  const { body } = await story.apply(addOn, customer);
  return story.invoice(body.applied_add_on.invoice_id);
}

test("M1 a tax of the settings is on one-off invoices, add-ons and periods", async () => {
  const story = await begin("2026-01-01");
  expect(await vat(story, "20.00")).toMatchObject({ code: "vat", percent: "20" });
  const customer = await story.customer();
  const invoice = await oneOff(story, customer, "10000");
  expect(figures(invoice)).toBe("subtotal 10000, tax 2000, total 12000, due 12000");
  expect(taxesOf(invoice)).toEqual(["vat 20 of 10000: 2000"]);
  const addOn = await story.addOn({ amount_cents: 2500 });
  const { body } = await story.apply(addOn, customer);
  expect(body.applied_add_on.amount_cents).toBe(2500);
  const added = await story.invoice(body.applied_add_on.invoice_id);
  expect(figures(added)).toBe("subtotal 2500, tax 500, total 3000, due 3000");
  const subscription = await story.subscribe({ customer, amount_cents: 3100 });
  await story.travelTo("2026-02-01");
  const [january] = await inOrder(story, subscription);
  expect(figures(january)).toBe("subtotal 3100, tax 620, total 3720, due 3720");
  await paid(story, invoice, 12_000);
  expect(await standing(story, invoice)).toEqual([
    "subtotal 10000, tax 2000, total 12000, paid 12000",
    "succeeded, succeeded",
  ]);
});

describe("the first that says something decides alone", () => {
  async function abcd() {
    const story = await begin("2026-01-01");
    for (const [i, code] of ["a", "b", "c", "d"].entries()) await tax(story, code, String(i + 1));
    await settings(story, { tax_codes: ["d"] });
    return { story, customer: await story.customer({ tax_codes: ["c"] }) };
  }

  test("M2 charge, plan, customer, settings", async () => {
    const { story, customer } = await abcd();
    const charges = [
      flatFee({ amount_override_cents: 10_000, tax_codes: ["a"] }),
      flatFee({ amount_override_cents: 10_001, tax_codes: null }),
      flatFee({ amount_override_cents: 10_002, tax_codes: [] }),
    ];
    const plan = await story.plan({ amount_cents: 10_000, tax_codes: ["b"], charges });
    expect(plan.tax_codes).toEqual(["b"]);
    expect(plan.charges.map((charge: Json) => charge.tax_codes)).toEqual([["a"], null, []]);
    const plain = await story.plan({ amount_cents: 10_000 });
    expect(plain.tax_codes).toBeNull();
    const first = await story.subscribe({ plan, customer });
    const second = await story.subscribe({ plan: plain, customer });
    const third = await story.subscribe({ plan: plain });
    await story.travelTo("2026-02-01");
    const [taxed] = await inOrder(story, first);
    expect(taxesOf(taxed)).toEqual(["a 1 of 10000: 100", "b 2 of 20001: 400"]);
    expect(taxed.total_cents).toBe(40_503);
    expect(taxed.fees.map((fee: Json) => fee.taxes)).toEqual([
      [{ code: "b", percent: "2" }],
      [{ code: "a", percent: "1" }],
      [{ code: "b", percent: "2" }],
      [],
    ]);
    expect((await inOrder(story, second)).map(taxesOf)).toEqual([["c 3 of 10000: 300"]]);
    expect((await inOrder(story, third)).map(taxesOf)).toEqual([["d 4 of 10000: 400"]]);
  });

  test("M2 add-on or line, customer", async () => {
    const { story, customer } = await abcd();
    const own = await story.addOn({ amount_cents: 10_000, tax_codes: ["a", "b"] });
    expect(own.tax_codes).toEqual(["a", "b"]);
    const none = await story.addOn({ amount_cents: 10_000 });
    expect(taxesOf(await addOnInvoice(story, own, customer))).toEqual([
      "a 1 of 10000: 100",
      "b 2 of 10000: 200",
    ]);
    expect(taxesOf(await addOnInvoice(story, none, customer))).toEqual(["c 3 of 10000: 300"]);
    const invoice = await oneOff(story, customer, "10000 [a], 10000, 10000 []");
    expect(taxesOf(invoice)).toEqual(["a 1 of 10000: 100", "c 3 of 10000: 300"]);
  });

  // The plan's minimum of 9000 lacks 9000 − 100 − 500 = 8400 and begins at the plan, the charge's
  // minimum of 500 lacks all of it and begins at the charge: a on 500, b on 100 + 8400.
  test("M2 also: a charge's minimum begins at the charge, the plan's at the plan", async () => {
    const { story, customer } = await abcd();
    const metric = await story.metric();
    const charges = [{ ...perUnit(metric, "1", { minimum_cents: 500 }), tax_codes: ["a"] }];
    const terms = { amount_cents: 100, minimum_cents: 9000, tax_codes: ["b"], charges };
    const subscription = await story.subscribe({ customer, ...terms });
    await story.travelTo("2026-02-01");
    const [invoice] = await inOrder(story, subscription);
    expect(taxesOf(invoice)).toEqual(["a 1 of 500: 5", "b 2 of 8500: 170"]);
  });

  // `[]` says "no tax" and is not the same as saying nothing: the settings are not asked.
  test("M2 also: a customer or plan with an empty list has no tax", async () => {
    const { story } = await abcd();
    const customer = await story.customer({ tax_codes: [] });
    expect(figures(await oneOff(story, customer, "100"))).toBe("subtotal 100, total 100, due 100");
    const subscription = await story.subscribe({ amount_cents: 100, tax_codes: [] });
    await story.travelTo("2026-02-01");
    expect((await inOrder(story, subscription)).map(taxesOf)).toEqual([[]]);
  });
});

describe("rounded per tax and invoice", () => {
  test.each([
    { lines: "6833, 6833, 5750, 8500", tax: 5583, total: 33_499 },
    { lines: repeated("4", 100), tax: 80, total: 480 },
    { lines: "1, 1, 1", tax: 1, total: 4 },
  ])("M3 M4 20 % of lines that come to $total", async ({ lines, tax: tax_cents, total }) => {
    const story = await begin("2026-01-01");
    await vat(story, "20");
    const invoice = await oneOff(story, await story.customer(), lines);
    expect(invoice).toMatchObject({ tax_cents, total_cents: total, amount_due_cents: total });
  });

  test.each([
    { percent: "20", taxes: [0, 0, 0], total: 1 },
    { percent: "49.9999", taxes: [0, 0, 0], total: 1 },
    { percent: "50", taxes: [1, 1, 1], total: 4 },
  ])("M4 three taxes of $percent % on a line of 1", async ({ percent, taxes, total }) => {
    const story = await begin("2026-01-01");
    for (const code of ["x", "y", "z"]) await tax(story, code, percent);
    const invoice = await oneOff(story, await story.customer(), "1 [x y z]");
    expect(invoice.taxes.map((line: Json) => line.tax_cents)).toEqual(taxes);
    expect(invoice.total_cents).toBe(total);
  });

  test.each([
    { currency: "JPY", line: 999, percent: "10", expected: 100 },
    { currency: "JPY", line: 5, percent: "10", expected: 1 },
    { currency: "JPY", line: 1234, percent: "8", expected: 99 },
    { currency: "KWD", line: 1501, percent: "5", expected: 75 },
    { currency: "KWD", line: 1, percent: "50", expected: 1 },
  ])("M5 $percent % of $line $currency", async ({ currency, line, percent, expected }) => {
    const story = await begin("2026-01-01");
    await vat(story, percent);
    const invoice = await oneOff(story, await story.customer(), String(line), { currency });
    expect(invoice).toMatchObject({ currency, tax_cents: expected, total_cents: line + expected });
  });
});

describe("percents and codes that change", () => {
  test("M6 a percent counts as at the instant of issue, and stays with its name", async () => {
    const story = await begin("2026-01-01");
    await tax(story, "vat", "20", { name: "VAT" });
    await settings(story, { tax_codes: ["vat"] });
    const subscription = await story.subscribe({ amount_cents: 3100 });
    await story.travelTo("2026-01-20");
    await tax(story, "vat", "10", { name: "VAT" });
    await story.travelTo("2026-02-01T00:00:01");
    const [january] = await inOrder(story, subscription);
    await tax(story, "vat", "5", { name: "Sales tax" });
    await story.travelTo("2026-03-01");
    const [again, february] = await inOrder(story, subscription);
    expect(again).toEqual({ ...january, status: again.status });
    expect(again.taxes).toEqual([
      { code: "vat", name: "VAT", percent: "10", taxable_cents: 3100, tax_cents: 310 },
    ]);
    expect(february.taxes).toEqual([
      { code: "vat", name: "Sales tax", percent: "5", taxable_cents: 3100, tax_cents: 155 },
    ]);
  });

  test("M7 the codes of a plan belong to its price list", async () => {
    const story = await begin("2026-01-01");
    await tax(story, "vat", "20");
    await tax(story, "low", "5.5");
    const plan = await story.plan({ amount_cents: 10_000, tax_codes: ["vat"] });
    await story.subscribe({ plan });
    await story.travelTo("2026-01-15");
    const patched = await story.patch(`/v1/plans/${plan.id}`, { tax_codes: ["low"] });
    expect(patched.plan.tax_codes).toEqual(["low"]);
    await story.travelTo("2026-03-01");
    const invoices = await story.invoices();
    expect(invoices.map(taxesOf)).toEqual([["vat 20 of 10000: 2000"], ["low 5.5 of 10000: 550"]]);
  });

  // Those of a customer and of the settings are none of the price list: as at issue.
  test("M7 also: the codes of a customer count at once", async () => {
    const story = await begin("2026-01-01");
    await vat(story, "20");
    await tax(story, "low", "5.5");
    const customer = await story.customer();
    await story.subscribe({ customer, amount_cents: 10_000 });
    await story.travelTo("2026-01-31T23:59:59.999");
    await story.patch(`/v1/customers/${customer.id}`, { tax_codes: ["low"] });
    await story.travelTo("2026-02-10");
    await story.patch(`/v1/customers/${customer.id}`, { tax_codes: null });
    await story.travelTo("2026-03-01");
    const invoices = await story.invoices();
    expect(invoices.map(taxesOf)).toEqual([["low 5.5 of 10000: 550"], ["vat 20 of 10000: 2000"]]);
  });
});

describe("late usage", () => {
  async function january100(at = "2026-01-01") {
    const story = await begin(at);
    await vat(story, "20");
    const metric = await story.metric();
    const customer = await story.customer();
    const subscription = await story.subscribe({ customer, charges: [perUnit(metric, "0.10")] });
    await story.use(subscription, metric, "100");
    await story.travelTo("2026-02-03");
    return { story, metric, customer, subscription };
  }

  test("M10 is taxed at the percents of the period that it corrects", async () => {
    const { story, metric, subscription } = await january100();
    await tax(story, "vat", "10");
    await story.use(subscription, metric, "20", "2026-01-20");
    await story.use(subscription, metric, "50");
    await story.travelTo("2026-03-01");
    const [january, february] = await story.invoices();
    expect(figures(january)).toBe("subtotal 1000, tax 200, total 1200, due 1200");
    expect(february.fees.map((fee: Json) => fee.amount_cents)).toEqual([500, 200]);
    expect(taxesOf(february)).toEqual(["vat 10 of 500: 50", "vat 20 of 200: 40"]);
    expect(figures(february)).toBe("subtotal 700, tax 90, total 790, due 790");
  });

  test("M11 below 0 has a tax below 0, and the credit has it too", async () => {
    const { story, metric, customer, subscription } = await january100();
    await story.use(subscription, metric, "-30", "2026-01-20");
    await story.use(subscription, metric, "10");
    await story.travelTo("2026-03-01");
    const [, february] = await story.invoices();
    expect(figures(february)).toBe("subtotal -200, tax -40");
    expect(february).toMatchObject({ total_cents: 0, status: "succeeded" });
    expect(await creditOf(story, customer)).toBe(240);
    expect(await grantsOf(story, customer)).toMatchObject([
      { kind: "negative_total", amount_cents: 240, priority: 50, expires_at: null },
    ]);
    await story.use(subscription, metric, "50");
    await story.travelTo("2026-04-01");
    const march = (await story.invoices()).at(-1);
    expect(figures(march)).toBe("subtotal 500, tax 100, total 600, credit 240, due 360");
  });

  // Nothing was billed for January, so it is taxed as it would have been at the close of then: the
  // customer had no codes of its own yet, and the percent was 20.
  test("M10 also: of a period that had no invoice is taxed as at its close", async () => {
    const story = await begin("2026-01-01");
    await vat(story, "20");
    const metric = await story.metric();
    const customer = await story.customer();
    const subscription = await story.subscribe({ customer, charges: [perUnit(metric, "0.10")] });
    await story.travelTo("2026-02-03");
    await tax(story, "vat", "10");
    await tax(story, "own", "1");
    await story.patch(`/v1/customers/${customer.id}`, { tax_codes: ["own"] });
    await story.use(subscription, metric, "20", "2026-01-20");
    await story.use(subscription, metric, "50");
    await story.travelTo("2026-03-01");
    const [february] = await story.invoices();
    expect(taxesOf(february)).toEqual(["own 1 of 500: 5", "vat 20 of 200: 40"]);
  });

  // No tax for an exempt customer but on late lines: January was taxed before the exemption.
  test("M10 also: keeps its tax when the customer is exempt by now", async () => {
    const { story, metric, customer, subscription } = await january100();
    await story.patch(`/v1/customers/${customer.id}`, { tax_exemption: "exempt" });
    await story.use(subscription, metric, "20", "2026-01-20");
    await story.use(subscription, metric, "50");
    await story.travelTo("2026-03-01");
    const [, february] = await story.invoices();
    expect(taxesOf(february)).toEqual(["vat 20 of 200: 40"]);
    expect(february.tax_note).toBe("Exempt from tax");
    const [adjustment] = fees(february, "adjustment");
    expect(adjustment?.taxes).toEqual([{ code: "vat", percent: "20" }]);
  });
});

// May starts suspended, so its start bills no day of the base; back on the 11th its close bills 21.
describe("days added to a base in advance of which no day was billed", () => {
  async function resumed(charges: readonly Body[], act?: (story: Sandbox) => Promise<unknown>) {
    const story = await begin("2026-04-01");
    await vat(story, "20");
    const plan = { amount_cents: 3100, base_timing: "advance", charges };
    const subscription = await story.subscribe(plan);
    await story.travelTo("2026-04-30T12:00");
    await story.suspend(subscription);
    await story.travelTo("2026-05-11");
    await story.setStatus(subscription, "active");
    await act?.(story);
    const previewed = await story.preview(subscription, "period_end");
    await story.travelTo("2026-06-01");
    const invoices = await inOrder(story, subscription);
    return { previewed, invoices };
  }

  test("M10 also: have the tax of the settings", async () => {
    const { invoices } = await resumed([]);
    expect(figures(invoices[1])).toBe("subtotal 2100, tax 420, total 2520, due 2520");
  });

  test("M10 also: are taxed as at the close when nothing was billed at the start", async () => {
    const { previewed, invoices } = await resumed([], (story) => tax(story, "vat", "10"));
    expect(figures(invoices[1])).toBe("subtotal 2100, tax 210, total 2310, due 2310");
    expect(figures(previewed)).toBe(figures(invoices[1]));
  });

  // The start billed the seat, and beside it a base of 0 at the 20 % of then.
  test("M10 also: are taxed as the base of 0 was at the start", async () => {
    const seat = flatFee({ amount_override_cents: 500, invoice_timing: "advance" });
    const { invoices } = await resumed([seat], (story) => tax(story, "vat", "10"));
    const [, start, close] = invoices;
    expect(start.fees.map((fee: Json) => fee.amount_cents)).toEqual([0, 500]);
    expect(figures(start)).toBe("subtotal 500, tax 100, total 600, due 600");
    expect(taxesOf(close)).toEqual(["vat 20 of 2100: 420"]);
    const [adjustment] = fees(close, "adjustment");
    expect(adjustment?.properties.invoice_number).toBe(start.number);
  });
});

test("M16 a preview has every figure of the invoice to come, and uses nothing up", async () => {
  const story = await begin("2026-01-01");
  await vat(story, "20");
  await tax(story, "low", "5.5");
  const metric = await story.metric();
  const customer = await story.customer();
  const coupon = await discount(story, customer, { percent: "33.333", times: null });
  const free = await grant(story, customer, 1234);
  const charges = [
    perUnit(metric, "0.0125"),
    flatFee({ amount_override_cents: 3600, tax_codes: ["low"] }),
  ];
  const subscription = await story.subscribe({ customer, amount_cents: 2999, charges });
  await story.use(subscription, metric, "1537");
  await story.travelTo("2026-01-31T23:59:59");
  const shown = "subtotal 8520, discount 2840, tax 788, total 6468, credit 1234, due 5234";
  const preview = await story.preview(subscription, "period_end");
  const [uses] = (await story.get(`/v1/applied-coupons?customer_id=${customer.id}`))
    .applied_coupons;
  expect(uses).toMatchObject({ id: coupon.id, uses: 0, used_cents: 0, status: "running" });
  expect(await grantState(story, free)).toBe("active 1234 of 1234");
  await story.travelTo("2026-02-01");
  const [invoice] = await story.invoices();
  for (const each of [preview, invoice]) {
    expect(figures(each)).toBe(shown);
    expect(discountsOf(each)).toEqual([1000, 640, 1200]);
    expect(taxesOf(each)).toEqual(["low 5.5 of 2400: 132", "vat 20 of 3280: 656"]);
  }
  for (const list of ["coupons", "taxes", "credits", "seller", "buyer"]) {
    expect([list, preview[list]]).toEqual([list, invoice[list]]);
  }
  expect(await balanceOf(story, customer)).toBe(0);
});
