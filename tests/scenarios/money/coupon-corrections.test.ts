// Coupons and what is corrected later: late usage above and below 0, days given back of a base in
// advance, voids and credit notes.

import { describe, expect, test } from "vitest";
import type { Body, Json } from "../../support/app.ts";
import { fees, flatFee, perUnit, type Sandbox } from "../../support/given.ts";
import {
  applied,
  balanceOf,
  discount,
  discountsOf,
  figures,
  inOrder,
  note,
  oneOff,
  outcome,
  stories,
  takenOf,
  voidInvoice,
} from "../../support/money.ts";
import { creditOf } from "../../support/pricing.ts";

const { begin } = stories();

const FOREVER = { times: null };

type Metered = { story: Sandbox; metric: Json; customer: Json; subscription: Json };

/** A subscription to usage alone from January on, with a coupon of these terms unless undefined. */
async function metered(rate: string, terms?: Body): Promise<Metered & { coupon: Json }> {
  const story = await begin("2026-01-01");
  const metric = await story.metric();
  const customer = await story.customer();
  const coupon = terms && (await discount(story, customer, terms));
  const subscription = await story.subscribe({ customer, charges: [perUnit(metric, rate)] });
  return { story, metric, customer, subscription, coupon };
}

/** Uses of this month and late ones of January, month by month from January on. */
async function play(told: Metered, months: readonly { now?: string; late?: string }[]) {
  const { story, metric, subscription } = told;
  for (const [i, { now, late }] of months.entries()) {
    if (i > 0) await story.travelTo(`2026-0${i + 1}-03`);
    if (now !== undefined) await story.use(subscription, metric, now);
    if (late !== undefined) await story.use(subscription, metric, late, "2026-01-20");
  }
  await story.travelTo(`2026-0${months.length + 1}-01`);
  return inOrder(story, subscription);
}

const discounted = (invoices: readonly Json[]) =>
  invoices.map(({ discount_cents }) => discount_cents);

describe("a percentage and late usage", () => {
  test("M35 bears its part of what is given back", async () => {
    const told = await metered("0.10", { percent: "10", ...FOREVER });
    const [january, february] = await play(told, [{ now: "100" }, { now: "10", late: "-30" }]);
    expect(january.total_cents).toBe(900);
    expect(february.subtotal_cents).toBe(-200);
    expect(discountsOf(february)).toEqual([10, -30]);
    expect(february.coupons).toMatchObject([{ amount_cents: -20 }]);
    expect(await creditOf(told.story, told.customer)).toBe(180);
    const [adjustment] = fees(february, "adjustment");
    expect(adjustment?.properties.invoice_number).toBe(january.number);
  });

  test("M35 also: a coupon whose parts cancel each other is shown, as what the fees bear", async () => {
    const told = await metered("0.10", { percent: "10", ...FOREVER });
    const [, february] = await play(told, [{ now: "100" }, { now: "30", late: "-30" }]);
    expect(discountsOf(february)).toEqual([30, -30]);
    expect(takenOf(february)).toEqual([0]);
    expect(figures(february)).toBe("");
  });

  // January is its one use: the correction belongs to it, February's own usage does not.
  test("M35 also: takes of a period that is its use, when no use is left", async () => {
    const told = await metered("0.10", { percent: "10", times: 1 });
    const [, february] = await play(told, [{ now: "100" }, { now: "50", late: "20" }]);
    expect(discountsOf(february)).toEqual([0, 20]);
    expect(await applied(told.story, told.coupon)).toMatchObject({ uses: 1, used_cents: 120 });
  });

  // Nothing was billed for January. February's own use comes first; January becomes one if another
  // is left: 10 % of 500, and of 200.
  test.each([
    { times: 1, taken: [50, 0], uses: 1 },
    { times: 2, taken: [50, 20], uses: 2 },
  ])("M35 also: can make a period a use, of $times", async ({ times, taken, uses }) => {
    const told = await metered("0.10", { percent: "10", times });
    const [february] = await play(told, [{}, { now: "50", late: "20" }]);
    expect(discountsOf(february)).toEqual(taken);
    expect((await applied(told.story, told.coupon)).uses).toBe(uses);
  });

  // February bills nothing of its own, so the one use is left for January.
  test("M35 also: the last use goes to a late period where the open one has nothing", async () => {
    const told = await metered("0.10", { percent: "10", times: 1 });
    const [february] = await play(told, [{}, { late: "20" }]);
    expect(discountsOf(february)).toEqual([0, 20]);
    expect((await applied(told.story, told.coupon)).uses).toBe(1);
  });

  // January was over when it was applied, so the correction of it is no affair of the coupon.
  test.each([
    { late: "20", subtotal: 700, credit: 0 },
    { late: "-70", subtotal: -200, credit: 250 },
  ])("M35 also: takes nothing of a period before it, late $late", async (each) => {
    const told = await metered("0.10");
    const { story, customer, metric, subscription } = told;
    await story.use(subscription, metric, "100");
    await story.travelTo("2026-02-03");
    await discount(story, customer, { percent: "10", ...FOREVER });
    await story.use(subscription, metric, "50");
    await story.use(subscription, metric, each.late, "2026-01-20");
    await story.travelTo("2026-03-01");
    const [, february] = await inOrder(story, subscription);
    expect(february.subtotal_cents).toBe(each.subtotal);
    expect(discountsOf(february)).toEqual([50, 0]);
    expect(await creditOf(story, customer)).toBe(each.credit);
  });

  // Ended for good, it still takes back its 10 % of what it had given, and nothing above 0.
  test.each([
    { late: "-30", taken: [0, -30] },
    { late: "30", taken: [0, 0] },
  ])("M35 also: ended by DELETE takes corrections below 0 alone: $late", async (each) => {
    const told = await metered("0.10", { percent: "10", ...FOREVER });
    const { story, metric, subscription, coupon } = told;
    await story.use(subscription, metric, "100");
    await story.travelTo("2026-02-03");
    const url = `/v1/applied-coupons/${coupon.id}`;
    expect(outcome(await story.call("DELETE", url))).toBe("204");
    await story.use(subscription, metric, "50");
    await story.use(subscription, metric, each.late, "2026-01-20");
    await story.travelTo("2026-03-01");
    const [, february] = await inOrder(story, subscription);
    expect(discountsOf(february)).toEqual(each.taken);
    expect(await applied(story, coupon)).toMatchObject({
      status: "ended",
      ended_at: "2026-02-03T00:00:00.000Z",
      uses: 1,
    });
  });

  // The plan of an adjustment is that of the period it corrects.
  test("M35 also: of one plan takes the late usage of that plan's period", async () => {
    const story = await begin("2026-01-01");
    const metric = await story.metric();
    const customer = await story.customer();
    const charges = [perUnit(metric, "0.10")];
    const [plan, other] = [await story.plan({ charges }), await story.plan({ charges })];
    await discount(story, customer, { percent: "10", plan_codes: [plan.code], ...FOREVER });
    const subscription = await story.subscribe({ plan, customer });
    await story.use(subscription, metric, "100");
    await story.change(subscription, other, { change_at: "period_end" });
    await story.travelTo("2026-02-03");
    await story.use(subscription, metric, "50");
    await story.use(subscription, metric, "20", "2026-01-20");
    await story.travelTo("2026-03-01");
    const invoices = await inOrder(story, subscription);
    expect(invoices.map(discountsOf)).toEqual([[100], [0, 20]]);
  });
});

describe("a fixed amount and late usage", () => {
  test.each([
    { amount_cents: 1000, taken: [1000, -300, -700], credit: 0 },
    { amount_cents: 333, taken: [333, -100, -233], credit: 667 },
  ])("M42 $amount_cents gives all back when the line falls to 0", async (each) => {
    const told = await metered("1", { amount_cents: each.amount_cents, ...FOREVER });
    const invoices = await play(told, [{ now: "10" }, { late: "-3" }, { late: "-7" }]);
    expect(discounted(invoices)).toEqual(each.taken);
    expect(await creditOf(told.story, told.customer)).toBe(each.credit);
    expect(await applied(told.story, told.coupon)).toMatchObject({ uses: 1, used_cents: 0 });
  });

  test("M42 a pot can give again what it took back", async () => {
    const told = await metered("1", { amount_cents: 1000 });
    const { story, metric, subscription, coupon } = told;
    await play(told, [{ now: "10" }, { late: "-3" }]);
    expect(await applied(story, coupon)).toMatchObject({ remaining_cents: 300, status: "running" });
    await story.use(subscription, metric, "5");
    await story.travelTo("2026-04-01");
    const invoices = await inOrder(story, subscription);
    expect(discounted(invoices)).toEqual([1000, -300, 300]);
    expect(invoices[2].subtotal_cents).toBe(500);
    expect(await applied(story, coupon)).toMatchObject({ remaining_cents: 0, status: "used_up" });
  });

  test.each([{ times: null }, { times: 1 }])(
    "M42 takes no late usage above 0, %j",
    async (each) => {
      const told = await metered("1", { amount_cents: 400, ...each });
      const invoices = await play(told, [{ now: "10" }, { late: "2" }, { late: "-6" }]);
      expect(discounted(invoices)).toEqual([400, 0, -200]);
      expect(await creditOf(told.story, told.customer)).toBe(400);
    },
  );

  // 10 % and then 300: January 1000 − 100 − 300. Late −500: the percentage bears 50, the fixed one
  // what is left, −450, times 300 of the 900 that the percentage had left: −150.
  test("M42 also: takes back of what the coupon before it leaves", async () => {
    const told = await metered("1", { percent: "10", ...FOREVER });
    const fixed = await discount(told.story, told.customer, { amount_cents: 300, ...FOREVER });
    const [january, february] = await play(told, [{ now: "10" }, { late: "-5" }]);
    expect(takenOf(january)).toEqual([100, 300]);
    expect(takenOf(february)).toEqual([-50, -150]);
    expect(await creditOf(told.story, told.customer)).toBe(300);
    expect(await applied(told.story, fixed)).toMatchObject({ uses: 1, used_cents: 150 });
  });

  // What is voided counts for neither T nor L: the corrected fee lies on a voided invoice.
  test("M42 also: takes nothing back of an invoice that was voided", async () => {
    const told = await metered("1", { amount_cents: 400, ...FOREVER });
    const { story, metric, subscription, coupon } = told;
    await story.use(subscription, metric, "10");
    await story.travelTo("2026-02-03");
    const [january] = await inOrder(story, subscription);
    expect(outcome(await voidInvoice(story, january))).toBe("200");
    await story.use(subscription, metric, "-3", "2026-01-20");
    await story.travelTo("2026-03-01");
    expect(discounted(await inOrder(story, subscription))).toEqual([400, 0]);
    expect(await applied(story, coupon)).toMatchObject({ uses: 0, used_cents: 0 });
  });
});

describe("days given back of a base in advance", () => {
  /** 3100 in advance on 1 January, something done, and the end on 10 January at noon. */
  async function ended(terms: Body, act?: (story: Sandbox, start: Json) => Promise<unknown>) {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const coupon = await discount(story, customer, terms);
    const plan = { amount_cents: 3100, base_timing: "advance" };
    const subscription = await story.subscribe({ customer, ...plan });
    const [start] = await inOrder(story, subscription);
    await act?.(story, start);
    await story.travelTo("2026-01-10T12:00");
    await story.terminate(subscription);
    const [, back, ...more] = await inOrder(story, subscription);
    expect(more).toEqual([]);
    return { story, customer, coupon, start, back };
  }
  const TWENTY = { percent: "20" };
  const POT = { amount_cents: 500 };

  test("M45 bear what the base bore of a percentage", async () => {
    const { story, customer, coupon, start, back } = await ended(TWENTY);
    expect(figures(start)).toBe("subtotal 3100, discount 620, total 2480, due 2480");
    expect(figures(back)).toBe("subtotal -2100, discount -420");
    expect(await balanceOf(story, customer)).toBe(1680);
    expect(await applied(story, coupon)).toMatchObject({ uses: 1, used_cents: 200 });
  });

  test("M45 are as much as notes have left of it", async () => {
    const { story, customer, back } = await ended(TWENTY, (told, start) =>
      note(told, start, { 0: 1240 }),
    );
    expect(figures(back)).toBe("subtotal -1050, discount -210");
    expect(await balanceOf(story, customer)).toBe(840);
  });

  test("M45 are none when its invoice is void", async () => {
    const { story, customer, coupon, back } = await ended(TWENTY, voidInvoice);
    expect(back).toBeUndefined();
    expect((await balanceOf(story, customer)) ?? 0).toBe(0);
    expect(await applied(story, coupon)).toMatchObject({ uses: 0, used_cents: 0 });
  });

  test("M45 bear what the base bore of a pot", async () => {
    const { story, customer, coupon, back } = await ended(POT);
    expect(figures(back)).toBe("subtotal -2100, discount -339");
    expect(await balanceOf(story, customer)).toBe(1761);
    expect(await applied(story, coupon)).toMatchObject({ remaining_cents: 339, status: "running" });
  });

  test("M45 are none when a note has credited all of it", async () => {
    const { story, customer, coupon, back } = await ended(POT, (told, start) => note(told, start));
    expect(back).toBeUndefined();
    expect((await balanceOf(story, customer)) ?? 0).toBe(0);
    // A note does not give a coupon back.
    expect(await applied(story, coupon)).toMatchObject({ remaining_cents: 0, status: "used_up" });
  });
});

// 20 days on 1 January; the end is taken back, so the close bills eleven more: 1100, whatever
// became of the 2000.
describe("days added to a base in advance", () => {
  async function added(terms?: Body, act?: (story: Sandbox, start: Json) => Promise<unknown>) {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const coupon = terms && (await discount(story, customer, terms));
    const plan = { amount_cents: 3100, base_timing: "advance" };
    const subscription = await story.subscribe({ customer, ...plan, ends_at: "2026-01-21" });
    const [start] = await inOrder(story, subscription);
    expect(start.subtotal_cents).toBe(2000);
    await act?.(story, start);
    await story.travelTo("2026-01-10");
    await story.update(subscription, { ends_at: null });
    await story.travelTo("2026-02-01");
    const [, close] = await inOrder(story, subscription);
    return { story, coupon, start, close };
  }
  const WHOLE = "subtotal 1100, total 1100, due 1100";

  test("M45 also: are billed in full when its invoice is void", async () => {
    const { start, close } = await added(undefined, voidInvoice);
    expect(figures(close)).toBe(WHOLE);
    const [adjustment] = fees(close, "adjustment");
    expect(adjustment?.properties.invoice_number).toBe(start.number);
    expect(adjustment?.properties).not.toHaveProperty("credited_cents");
  });

  test.each([1000, 2000])("M45 also: are billed in full beside a note of %d", async (cents) => {
    const { close } = await added(undefined, (told, start) => note(told, start, { 0: cents }));
    expect(figures(close)).toBe(WHOLE);
  });

  test("M45 also: bear nothing of a pot that took all of the base", async () => {
    const { story, coupon, close } = await added({ amount_cents: 2000 });
    expect(figures(close)).toBe(WHOLE);
    expect(await applied(story, coupon)).toMatchObject({ remaining_cents: 0, status: "used_up" });
  });

  test("M45 also: bear a percentage that took all of the base", async () => {
    const { story, coupon, close } = await added({ percent: "100" });
    expect(figures(close)).toBe("subtotal 1100, discount 1100");
    expect(await applied(story, coupon)).toMatchObject({ uses: 1, used_cents: 3100 });
  });
});

describe("voids and notes", () => {
  // January is a use as long as either of its two invoices took something.
  test("M32 also: a use is undone when nothing else of its period took", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const once = await discount(story, customer, { percent: "10" });
    const charges = [flatFee({ amount_override_cents: 1000, invoice_timing: "advance" })];
    await story.subscribe({ customer, amount_cents: 500, charges });
    await story.travelTo("2026-02-10");
    const [start, close, next] = await story.invoices();
    expect([start, close, next].map(takenOf)).toEqual([[100], [50], []]);
    await voidInvoice(story, start);
    expect(await applied(story, once)).toMatchObject({ uses: 1, used_cents: 50 });
    await voidInvoice(story, close);
    expect(await applied(story, once)).toMatchObject({ uses: 0, used_cents: 0, status: "running" });
    await story.travelTo("2026-03-01");
    const invoices = await story.invoices();
    // February's close, then March's start, which has no use left.
    expect(invoices.slice(3).map(takenOf)).toEqual([[50], []]);
  });

  test("M32 also: a credit note undoes no use", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const once = await discount(story, customer, { percent: "10" });
    await note(story, await oneOff(story, customer, "1000"));
    expect(await applied(story, once)).toMatchObject({ uses: 1, used_cents: 100 });
    expect(takenOf(await oneOff(story, customer, "1000"))).toEqual([]);
  });
});
