// Taxes, coupons and credit over the parts of an invoice: what is rounded, spread and netted once,
// and the uses of coupons, which are the same in every mode.

import { describe, expect, test } from "vitest";
import type { Json } from "../../support/app.ts";
import { flatFee, perUnit } from "../../support/given.ts";
import { discount, grant, stories, tax, vat } from "../../support/money.ts";
import { expectTold, type Mode, subscribe, together } from "../../support/together.ts";

const { begin } = stories();

const FOREVER = { times: null };

async function from(mode: Mode = "customer") {
  const made = await together(await begin("2026-01-01"), mode);
  return { ...made, made };
}

type Made = Awaited<ReturnType<typeof from>>;

/** Subscriptions with a base in arrears, by their names. */
async function bases({ made }: Made, cents: Readonly<Record<string, number>>, customer?: Json) {
  const begun: Json[] = [];
  for (const [name, amount_cents] of Object.entries(cents)) {
    begun.push(await subscribe(made, name, { amount_cents, ...(customer && { customer }) }));
  }
  return begun;
}

/** Three subscriptions of one base for c, and the same for d, who is billed apart. */
async function twice(given: Made, cents: number): Promise<Json[]> {
  const { story, c } = given;
  const d = await story.customer({ external_id: "d", invoice_grouping: "separate" });
  await bases(given, { c1: cents, c2: cents, c3: cents });
  await bases(given, { d1: cents, d2: cents, d3: cents }, d);
  return [c, d];
}

describe("taxes", () => {
  test("G25 are rounded once", async () => {
    const given = await from();
    await vat(given.story, "20");
    const customers = await twice(given, 2);
    await given.story.travelTo("2026-02-01");
    await expectTold(
      given,
      "c 02-01: c1 period 2 + c2 period 2 + c3 period 2; vat 20 % of 6 → 1; total 7. d 02-01: d1 period 2; vat 20 % of 2 → 0; total 2. d 02-01: d2 period 2; vat 20 % of 2 → 0; total 2. d 02-01: d3 period 2; vat 20 % of 2 → 0; total 2",
      { customers },
    );
  });

  test("G26 have one line for each code and percent over all parts", async () => {
    const given = await from();
    const { story, made } = given;
    await vat(story, "20");
    await tax(story, "low", "5.5");
    await bases(given, { a: 1999 });
    await subscribe(made, "b", { amount_cents: 1001, tax_codes: ["low"] });
    await bases(given, { d: 333 });
    await story.travelTo("2026-02-01");
    await expectTold(
      made,
      "02-01: a period 1999 + b period 1001 + d period 333; low 5.5 % of 1001 → 55, vat 20 % of 2332 → 466; total 3854",
    );
  });
});

describe("a coupon", () => {
  test("G27 has uses by period, also where two meet on one invoice", async () => {
    const { story, c, made } = await from("subscription");
    const coupons = [await discount(story, c, { percent: "10", times: 2 })];
    const charges = [flatFee({ amount_override_cents: 1000, invoice_timing: "advance" })];
    await subscribe(made, "a", { amount_cents: 500, charges });
    await story.travelTo("2026-04-01");
    await expectTold(
      made,
      "01-01: a start 1000; discount 100 (100); total 900. 02-01: a period 500 + a advance 1000; discount 150 (50, 100); total 1350. 03-01: a period 500 + a advance 1000; discount 50 (50, 0); total 1450. 04-01: a period 500 + a advance 1000; total 1500. Uses 2",
      { coupons },
    );
  });

  test("G28 has a use for each part of another subscription", async () => {
    const given = await from();
    const { story, c, made } = given;
    const coupons = [await discount(story, c, { percent: "10", times: 2 })];
    await bases(given, { a: 1000, b: 1000, d: 1000 });
    await story.travelTo("2026-03-01");
    await expectTold(
      made,
      "02-01: a period 1000 + b period 1000 + d period 1000; discount 200 (100, 100, 0); total 2800. 03-01: a period 1000 + b period 1000 + d period 1000; total 3000. Uses 2",
      { coupons },
    );
  });

  test("G29 of a percentage runs on over all lines", async () => {
    const given = await from();
    const { story, c, made } = given;
    const customers = await twice(given, 100);
    const coupons: Json[] = [];
    for (const each of customers) {
      coupons.push(await discount(story, each, { percent: "33.333", ...FOREVER }));
    }
    await story.travelTo("2026-02-01");
    await expectTold(
      { ...made, c },
      "c 02-01: c1 period 100 + c2 period 100 + c3 period 100; discount 100 (33, 34, 33); total 200. d 02-01: d1 period 100; discount 33 (33); total 67. d 02-01: d2 period 100; discount 33 (33); total 67. d 02-01: d3 period 100; discount 33 (33); total 67. Uses 3, 3",
      { coupons, customers },
    );
  });

  test("G30 with a pot is spread over all lines", async () => {
    const given = await from();
    const { story, c, made } = given;
    await vat(story, "20");
    await tax(story, "low", "5.5");
    const coupons = [await discount(story, c, { amount_cents: 1000 })];
    await bases(given, { a: 999 });
    await subscribe(made, "b", { amount_cents: 1001, tax_codes: ["low"] });
    await subscribe(made, "d", { amount_cents: 500, tax_codes: [] });
    await story.travelTo("2026-02-01");
    await expectTold(
      made,
      "02-01: a period 999 + b period 1001 + d period 500; discount 1000 (400, 400, 200); low 5.5 % of 601 → 33, vat 20 % of 599 → 120; total 1653. Uses 3",
      { coupons },
    );
  });

  test("G31 of a fixed amount gives it in each use", async () => {
    const given = await from();
    const { story, c, made } = given;
    const coupons = [await discount(story, c, { amount_cents: 300, times: 3 })];
    await bases(given, { a: 1000, b: 200 });
    await story.travelTo("2026-03-01");
    await expectTold(
      made,
      "02-01: a period 1000 + b period 200; discount 500 (300, 200); total 700. 03-01: a period 1000 + b period 200; discount 300 (300, 0); total 900. Uses 3",
      { coupons },
    );
  });

  test("G32 that is bound to a subscription sees its parts alone", async () => {
    const given = await from();
    const { story, c, made } = given;
    const [, b] = await bases(given, { a: 1000, b: 1000 });
    const bound = { subscription_id: b.id };
    const coupons = [await discount(story, c, { percent: "25", ...FOREVER }, bound)];
    await story.travelTo("2026-02-01");
    await expectTold(
      made,
      "02-01: a period 1000 + b period 1000; discount 250 (0, 250); total 1750. Uses 1",
      { coupons },
    );
  });

  test("G33 fits lines by plan and by metric, whatever the part", async () => {
    const given = await from();
    const { story, c, calls, made } = given;
    const charges = [perUnit(calls, "1")];
    const p = await story.plan({ code: "p", amount_cents: 1000, charges });
    const q = await story.plan({ code: "q", amount_cents: 1000, charges });
    const half = { percent: "50", plan_codes: ["p"], ...FOREVER };
    const fixed = { amount_cents: 300, metric_codes: ["calls"], ...FOREVER };
    const coupons = [await discount(story, c, half), await discount(story, c, fixed)];
    for (const [name, plan] of [
      ["a", p],
      ["b", q],
    ]) {
      await story.use(await subscribe(made, name, { plan }), calls, "5");
    }
    await story.travelTo("2026-02-01");
    await expectTold(
      made,
      "02-01: a period 1500 + b period 1500; discount 1300 (500, 500, 0, 300); total 1700. Uses 1, 2",
      { coupons },
    );
  });

  test("G37 is given back with the days, on the invoice of the change", async () => {
    const { story, c, calls, made } = await from("subscription");
    await vat(story, "20");
    const coupons = [await discount(story, c, { percent: "20", times: 1 })];
    const terms = { base_timing: "advance", charges: [perUnit(calls, "0.10")] };
    const a = await subscribe(made, "a", { amount_cents: 3100, ...terms });
    const plan = await story.plan({ amount_cents: 6200, ...terms });
    await story.travelTo("2026-01-16T12:00");
    await story.change(a, plan);
    await story.travelTo("2026-02-01");
    await expectTold(
      made,
      "01-01: a start 3100; discount 620 (620); vat 20 % of 2480 → 496; total 2976. 01-16: a period -1600 + a advance 3200; discount 320 (0, -320, 640); vat 20 % of 1280 → 256; total 1536. 02-01: a period 0 + a advance 6200; vat 20 % of 6200 → 1240; total 7440. Uses 1",
      { coupons },
    );
  });
});

describe("credit and terms", () => {
  test("G34 grants are used once, up to the total", async () => {
    const given = await from();
    const { story, c, made } = given;
    await vat(story, "20");
    await grant(story, c, 5000);
    await bases(given, { a: 3000, b: 3000 });
    await story.travelTo("2026-02-01");
    await expectTold(
      made,
      "02-01: a period 3000 + b period 3000; vat 20 % of 6000 → 1200; total 7200, credit applied 5000, due 2200. Balance 0",
    );
  });

  test("G35 a part below 0 lowers the others, and a total below 0 becomes credit", async () => {
    const given = await from();
    const { story, calls, made } = given;
    const a = await subscribe(made, "a", { charges: [perUnit(calls, "1")] });
    await bases(given, { b: 500 });
    await story.use(a, calls, "10");
    await story.travelTo("2026-02-03");
    await story.use(a, calls, "-8", "2026-01-20");
    await story.travelTo("2026-04-01");
    await expectTold(
      made,
      "02-01: a period 1000 + b period 500; total 1500. 03-01: a period -800 + b period 500; total 0, credit 300. 04-01: a period 0 + b period 500; total 500, credit applied 300, due 200. Balance 0",
    );
  });

  test("G36 late usage gives back its coupon and its tax", async () => {
    const given = await from();
    const { story, c, calls, made } = given;
    await vat(story, "20");
    const coupons = [await discount(story, c, { percent: "10", ...FOREVER })];
    const a = await subscribe(made, "a", { charges: [perUnit(calls, "1")] });
    await bases(given, { b: 1000 });
    await story.use(a, calls, "100");
    await story.travelTo("2026-02-03");
    await story.use(a, calls, "-30", "2026-01-20");
    await story.use(a, calls, "10");
    await story.travelTo("2026-03-01");
    await expectTold(
      made,
      "02-01: a period 10000 + b period 1000; discount 1100 (1000, 100); vat 20 % of 9900 → 1980; total 11880. 03-01: a period -2000 + b period 1000; discount -100 (100, -300, 100); vat 20 % of -900 → -180; total 0, credit 1080. Uses 4. Balance 1080",
      { coupons },
    );
  });

  test("G38 the customer's days to pay count, once", async () => {
    const given = await from();
    const { story, c, made } = given;
    await story.ok("PUT", "/v1/settings", { net_payment_days: 14 });
    await story.patch(`/v1/customers/${c.id}`, { net_payment_days: 30 });
    await bases(given, { a: 1000, b: 1000 });
    await story.travelTo("2026-02-01");
    await expectTold(made, "02-01: a period 1000 + b period 1000; total 2000");
    const [invoice] = await story.invoices();
    expect(invoice.due_date).toBe("2026-03-03");
  });
});
