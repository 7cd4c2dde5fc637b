// What coupons take: percentages spread without loss, fixed amounts, pots, several in order, what
// they fit, and how often.

import { describe, expect, test } from "vitest";
import type { Json } from "../../support/app.ts";
import { flatFee, instant, perUnit } from "../../support/given.ts";
import {
  applied,
  applyCoupon,
  coupon,
  discount,
  discountsOf,
  figures,
  inOrder,
  oneOff,
  outcome,
  repeated,
  stories,
  takenOf,
  tax,
  taxesOf,
  voidInvoice,
} from "../../support/money.ts";

const { begin } = stories();

const FOREVER = { times: null };

describe("a percentage", () => {
  test("M20 is taken before the taxes, which are on what is left", async () => {
    const story = await begin("2026-01-01");
    await tax(story, "vat", "20");
    await tax(story, "low", "5.5");
    const customer = await story.customer();
    const once = await discount(story, customer, { percent: "10", times: 3 });
    const invoice = await oneOff(story, customer, "2030 [vat], 1875 [vat], 3600 [low]");
    expect(discountsOf(invoice)).toEqual([203, 188, 360]);
    expect(taxesOf(invoice)).toEqual(["low 5.5 of 3240: 178", "vat 20 of 3514: 703"]);
    expect(figures(invoice)).toBe("subtotal 7505, discount 751, tax 881, total 7635, due 7635");
    expect(invoice.coupons).toEqual([
      {
        applied_coupon_id: once.id,
        code: once.code,
        name: "Coupon",
        percent: "10",
        amount_cents: 751,
      },
    ]);
    expect(await applied(story, once)).toMatchObject({
      uses: 1,
      used_cents: 751,
      status: "running",
    });
  });

  test.each([
    { lines: "100, 100, 100", taken: [33, 34, 33] },
    { lines: "100", taken: [33] },
    { lines: "1", taken: [0] },
    { lines: repeated("1", 7), taken: [0, 1, 0, 0, 1, 0, 0] },
  ])("M21 33.333 % of $lines", async ({ lines, taken }) => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const ever = await discount(story, customer, { percent: "33.333", ...FOREVER });
    const invoice = await oneOff(story, customer, lines);
    expect(discountsOf(invoice)).toEqual(taken);
    // What took nothing is not shown, and is no use.
    const took = lines !== "1";
    expect(invoice.coupons).toHaveLength(took ? 1 : 0);
    expect((await applied(story, ever)).uses).toBe(took ? 1 : 0);
  });

  test.each([
    { lines: repeated("4", 100), taken: 40, total: 360 },
    { lines: "5", taken: 1, total: 4 },
  ])("M22 10 % leaves $total", async ({ lines, taken, total }) => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    await discount(story, customer, { percent: "10" });
    const invoice = await oneOff(story, customer, lines);
    expect(invoice).toMatchObject({ discount_cents: taken, total_cents: total });
  });

  test("M30 of 100 leaves nothing due, late usage neither, and revenue at list price", async () => {
    const story = await begin("2026-01-01");
    const metric = await story.metric();
    const customer = await story.customer();
    await discount(story, customer, { percent: "100", ...FOREVER });
    const charges = [perUnit(metric, "0.10")];
    const subscription = await story.subscribe({ customer, amount_cents: 4900, charges });
    await story.use(subscription, metric, "100");
    await story.travelTo("2026-02-03");
    await story.use(subscription, metric, "20", "2026-01-20");
    await story.travelTo("2026-03-01");
    const invoices = await story.invoices();
    expect(invoices.map(figures)).toEqual([
      "subtotal 5900, discount 5900",
      "subtotal 5100, discount 5100",
    ]);
    expect(discountsOf(invoices[1])).toEqual([4900, 0, 200]);
    for (const { status } of invoices) expect(status).toBe("succeeded");
    expect((await story.get("/v1/analytics")).mrr_cents).toBe(4900);
  });
});

describe("a fixed amount", () => {
  test("M23 once is a pot, and what is left of it stays", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const pot = await discount(story, customer, { amount_cents: 5000 });
    expect(pot).toMatchObject({ times: 1, remaining_cents: 5000, status: "running" });
    const first = await oneOff(story, customer, "3000");
    expect(first).toMatchObject({ total_cents: 0, status: "succeeded" });
    expect(await applied(story, pot)).toMatchObject({ remaining_cents: 2000, status: "running" });
    expect((await oneOff(story, customer, "2500")).total_cents).toBe(500);
    expect(await applied(story, pot)).toMatchObject({ remaining_cents: 0, status: "used_up" });
    expect((await oneOff(story, customer, "100")).total_cents).toBe(100);
  });

  test("M24 several times is given anew each time, and the rest lapses", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const thrice = await discount(story, customer, { amount_cents: 1000, times: 3 });
    const totals: number[] = [];
    for (const line of ["3000", "600", "3000", "3000"]) {
      totals.push((await oneOff(story, customer, line)).total_cents);
    }
    expect(totals).toEqual([2000, 0, 2000, 3000]);
    expect(await applied(story, thrice)).toMatchObject({
      uses: 3,
      used_cents: 2600,
      status: "used_up",
    });
  });

  test("M29 is spread by what each line has left", async () => {
    const story = await begin("2026-01-01");
    await tax(story, "vat", "20");
    await tax(story, "low", "5.5");
    const customer = await story.customer();
    await discount(story, customer, { amount_cents: 1000 });
    const invoice = await oneOff(story, customer, "999 [vat], 1001 [low], 500 []");
    expect(discountsOf(invoice)).toEqual([400, 400, 200]);
    expect(taxesOf(invoice)).toEqual(["low 5.5 of 601: 33", "vat 20 of 599: 120"]);
    expect(invoice.total_cents).toBe(1653);
  });
});

describe("several", () => {
  const TEN = { percent: "10", ...FOREVER };
  const FIVE = { amount_cents: 500, times: null };

  test.each([
    { order: [TEN, FIVE], line: "10000", taken: [1000, 500], total: 8500 },
    { order: [FIVE, TEN], line: "10000", taken: [500, 950], total: 8550 },
    { order: [FIVE, TEN], line: "300", taken: [300], total: 0 },
  ])("M26 leave $total of $line", async ({ order, line, taken, total }) => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    for (const terms of order) await discount(story, customer, terms);
    const invoice = await oneOff(story, customer, line);
    expect(takenOf(invoice)).toEqual(taken);
    expect(invoice.total_cents).toBe(total);
  });

  test("M27 take of the fees that fit their plans and metrics", async () => {
    const story = await begin("2026-01-01");
    const [m, n] = [await story.metric(), await story.metric()];
    const customer = await story.customer();
    const charges = [perUnit(m, "1"), perUnit(n, "1")];
    const pro = await story.plan({ amount_cents: 1000, charges });
    const lite = await story.plan({ amount_cents: 1000, charges: [perUnit(m, "1")] });
    const half = await discount(story, customer, {
      percent: "50",
      plan_codes: [pro.code],
      ...FOREVER,
    });
    const fixed = { amount_cents: 300, metric_codes: [m.code, n.code], ...FOREVER };
    const each = await discount(story, customer, fixed);
    const first = await story.subscribe({ plan: pro, customer });
    const second = await story.subscribe({ plan: lite, customer });
    await story.use(first, m, "20");
    await story.use(first, n, "10");
    await story.use(second, m, "1");
    await story.travelTo("2026-02-01");
    const [dear] = await inOrder(story, first);
    expect(takenOf(dear)).toEqual([2000, 300]);
    expect(discountsOf(dear)).toEqual([500, 1200, 600]);
    expect(dear.total_cents).toBe(1700);
    const [cheap] = await inOrder(story, second);
    expect(takenOf(cheap)).toEqual([100]);
    expect(cheap.total_cents).toBe(1000);
    const other = await oneOff(story, customer, "1000");
    expect([takenOf(other), other.total_cents]).toEqual([[], 1000]);
    expect(await applied(story, half)).toMatchObject({ uses: 1, used_cents: 2000 });
    expect(await applied(story, each)).toMatchObject({ uses: 2, used_cents: 400 });
  });

  test("M31 a fixed one takes in its own currency alone", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    await discount(story, customer, { amount_cents: 500 });
    await discount(story, customer, TEN);
    const taken = async (line: string, currency: string) =>
      takenOf(await oneOff(story, customer, line, { currency }));
    expect(await taken("1000", "EUR")).toEqual([100]);
    expect(await taken("5", "JPY")).toEqual([1]);
    expect(await taken("1000", "USD")).toEqual([500, 50]);
  });

  test("M32 a void undoes what they took, and their uses", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const once = await discount(story, customer, { percent: "10" });
    const pot = await discount(story, customer, { amount_cents: 700 });
    const first = await oneOff(story, customer, "1000");
    expect(takenOf(first)).toEqual([100, 700]);
    for (const each of [once, pot]) expect((await applied(story, each)).status).toBe("used_up");
    expect(outcome(await voidInvoice(story, first))).toBe("200");
    expect(await applied(story, once)).toMatchObject({ status: "running", uses: 0, used_cents: 0 });
    expect(await applied(story, pot)).toMatchObject({ status: "running", remaining_cents: 700 });
    const second = await oneOff(story, customer, "2000");
    expect(takenOf(second)).toEqual([200, 700]);
  });

  // 50 % of 3, 3 and 3: 1.5, 3, 4.5 give 2, 1, 2, leaving 1, 2, 1; 50 % of those: 0.5, 1.5, 2
  // give 1, 1, 0. Each line ends at 0 or above.
  test("M26 also: two halves, each spread on what the other left", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    await discount(story, customer, { percent: "50" });
    await discount(story, customer, { percent: "50" });
    const invoice = await oneOff(story, customer, "3, 3, 3");
    expect(takenOf(invoice)).toEqual([5, 2]);
    expect(discountsOf(invoice)).toEqual([3, 2, 2]);
    expect(invoice.total_cents).toBe(2);
  });
});

describe("uses", () => {
  test("M25 are periods, with what is billed at their start", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const twice = await discount(story, customer, { percent: "10", times: 2 });
    const charges = [flatFee({ amount_override_cents: 1000, invoice_timing: "advance" })];
    await story.subscribe({ customer, amount_cents: 500, charges });
    await story.travelTo("2026-04-01");
    const invoices = await story.invoices();
    expect(invoices.map((each) => `${each.issuing_date}: ${each.total_cents}`)).toEqual([
      "2026-01-01: 900",
      "2026-02-01: 450",
      "2026-02-01: 900",
      "2026-03-01: 450",
      "2026-03-01: 1000",
      "2026-04-01: 500",
      "2026-04-01: 1000",
    ]);
    expect(await applied(story, twice)).toMatchObject({
      uses: 2,
      used_cents: 300,
      status: "used_up",
    });
  });

  test("M33 of one subscription alone when it is bound to it", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const plan = await story.plan({ amount_cents: 1000 });
    const first = await story.subscribe({ plan, customer });
    const second = await story.subscribe({ plan, customer });
    const terms = { percent: "25", times: 2 };
    const bound = await discount(story, customer, terms, { subscription_id: first.id });
    expect(bound.subscription_id).toBe(first.id);
    await story.travelTo("2026-04-01");
    const totals = async (whose: Json) =>
      (await inOrder(story, whose)).map(({ total_cents }) => total_cents);
    expect(await totals(first)).toEqual([750, 750, 1000]);
    expect(await totals(second)).toEqual([1000, 1000, 1000]);
    expect((await oneOff(story, customer, "1000")).total_cents).toBe(1000);
  });

  // The base of each full period shares the one use: 1500 + 3200 are parts of January.
  test.each([
    { terms: { percent: "10", times: 2 }, taken: [150, 320, 620, 0] },
    { terms: { amount_cents: 2000, times: 2 }, taken: [1500, 500, 2000, 0] },
  ])("M44 parts that a change of plan cuts are one use: $taken", async ({ terms, taken }) => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const twice = await discount(story, customer, terms);
    const subscription = await story.subscribe({ customer, amount_cents: 3100 });
    await story.travelTo("2026-01-16T12:00");
    await story.change(subscription, await story.plan({ amount_cents: 6200 }));
    await story.travelTo("2026-04-01");
    const invoices = await story.invoices();
    expect(invoices.map(({ subtotal_cents }) => subtotal_cents)).toEqual([1500, 3200, 6200, 6200]);
    expect(invoices.map(({ discount_cents }) => discount_cents)).toEqual(taken);
    expect(await applied(story, twice)).toMatchObject({ uses: 2, status: "used_up" });
  });

  test("M44 and so are those that an end and a return cut", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const twice = await discount(story, customer, { percent: "10", times: 2 });
    const subscription = await story.subscribe({ customer, amount_cents: 3100 });
    await story.travelTo("2026-01-10T12:00");
    await story.terminate(subscription);
    await story.travelTo("2026-01-20");
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-04-01");
    const invoices = await story.invoices();
    expect(invoices.map(({ subtotal_cents }) => subtotal_cents)).toEqual([1000, 1200, 3100, 3100]);
    expect(invoices.map(({ discount_cents }) => discount_cents)).toEqual([100, 120, 310, 0]);
    expect(await applied(story, twice)).toMatchObject({ uses: 2 });
  });

  // A trial bills nothing and so takes nothing: both uses are of paid months.
  test("M44 also: a trial is no use", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const twice = await discount(story, customer, { percent: "10", times: 2 });
    await story.subscribe({ customer, amount_cents: 3100, trial_days: 31 });
    await story.travelTo("2026-05-01");
    const invoices = await story.invoices();
    expect(invoices.map(({ discount_cents }) => discount_cents)).toEqual([310, 310, 0]);
    expect(await applied(story, twice)).toMatchObject({ uses: 2 });
  });
});

describe("an application", () => {
  test("M28 is made as often as there are redemptions, by ten at once", async () => {
    const story = await begin("2026-01-01");
    const three = await coupon(story, { percent: "10", max_redemptions: 3 });
    const customers: Json[] = [];
    for (let i = 0; i < 10; i++) customers.push(await story.customer());
    const answers = await Promise.all(customers.map((each) => applyCoupon(story, three, each)));
    const refused = Array.from({ length: 7 }, () => "422 coupon_exhausted");
    expect(answers.map(outcome).sort()).toEqual(["201", "201", "201", ...refused]);
    expect((await story.get(`/v1/coupons/${three.id}`)).coupon.redemptions).toBe(3);
  });

  test("M28 is made before redeem_by, once while it runs, and of no archived one", async () => {
    const story = await begin("2026-03-01");
    const terms = { percent: "10", redeem_by: instant("2026-03-05") };
    const spring = await coupon(story, terms);
    const [customer, other] = [await story.customer(), await story.customer()];
    await story.travelTo("2026-03-04T23:59:59.999");
    expect(outcome(await applyCoupon(story, spring, customer))).toBe("201");
    expect(outcome(await applyCoupon(story, spring, customer))).toBe("409 already_exists");
    await story.travelTo("2026-03-05");
    expect(outcome(await applyCoupon(story, spring, other))).toBe("422 coupon_expired");
    const plain = await coupon(story, { percent: "10" });
    expect(outcome(await story.call("DELETE", `/v1/coupons/${plain.id}`))).toBe("204");
    expect(outcome(await applyCoupon(story, plain, other))).toBe("422 coupon_expired");
  });
});
