// How coupons are written, changed, found and ended, and what an application refuses.

import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Body, Json } from "../../support/app.ts";
import { flatFee, perUnit } from "../../support/given.ts";
import {
  applied,
  applyCoupon,
  coupon,
  discount,
  discountsOf,
  inOrder,
  oneOff,
  outcome,
  stories,
  takenOf,
} from "../../support/money.ts";

const { begin } = stories();

const FIXED = { amount_cents: 100, currency: "USD" };

test.each<[string, Body, string]>([
  ["no price", {}, "422 validation_error"],
  ["both prices", { percent: "10", ...FIXED }, "422 validation_error"],
  ["0 %", { percent: "0" }, "422 validation_error"],
  ["more than 100 %", { percent: "100.1" }, "422 validation_error"],
  ["a number", { percent: 10 }, "422 validation_error"],
  ["five decimals", { percent: "10.00001" }, "422 validation_error"],
  ["an amount of 0", { ...FIXED, amount_cents: 0 }, "422 validation_error"],
  ["half a cent", { ...FIXED, amount_cents: 1.5 }, "422 validation_error"],
  ["no currency", { amount_cents: 100 }, "422 validation_error"],
  ["no times", { percent: "10", times: 0 }, "422 validation_error"],
  ["times and a half", { percent: "10", times: 1.5 }, "422 validation_error"],
  ["an unknown plan", { percent: "10", plan_codes: ["nobody"] }, "404 not_found"],
  ["an unknown metric", { percent: "10", metric_codes: ["nobody"] }, "404 not_found"],
])("M37 %s", async (_, terms, expected) => {
  const story = await begin("2026-01-01");
  const answer = await story.call("POST", "/v1/coupons", { code: "c", name: "C", ...terms });
  expect(outcome(answer)).toBe(expected);
  expect((await story.get("/v1/coupons")).coupons).toEqual([]);
});

test("M37 also: what is not said is answered with its default", async () => {
  const story = await begin("2026-01-01");
  const sent = { code: "welcome", name: "Welcome", percent: "10.50" };
  const first = await story.call("POST", "/v1/coupons", sent);
  expect(outcome(first)).toBe("201");
  expect(first.body.coupon).toMatchObject({
    code: "welcome",
    name: "Welcome",
    percent: "10.5",
    amount_cents: null,
    currency: null,
    times: 1,
    plan_codes: null,
    metric_codes: null,
    redeem_by: null,
    max_redemptions: null,
    redemptions: 0,
    archived_at: null,
  });
  const again = await story.call("POST", "/v1/coupons", { ...sent, percent: "20", times: null });
  expect(outcome(again)).toBe("200");
  expect(again.body.coupon).toMatchObject({ id: first.body.coupon.id, percent: "20", times: null });
  expect((await story.get("/v1/coupons?code=welcome")).coupon).toEqual(again.body.coupon);
  expect(outcome(await story.call("GET", "/v1/coupons?code=other"))).toBe("404 not_found");
});

describe("an application", () => {
  test("M28 also: keeps the terms of its own instant", async () => {
    const story = await begin("2026-01-01");
    const terms = { code: "deal", percent: "10", times: null };
    const [early, late] = [await story.customer(), await story.customer()];
    const first = await discount(story, early, terms);
    const second = await discount(story, late, { ...terms, percent: "50", times: 2 });
    expect([first.percent, second.percent]).toEqual(["10", "50"]);
    expect((await applied(story, first)).percent).toBe("10");
    expect(takenOf(await oneOff(story, early, "1000"))).toEqual([100]);
    expect(takenOf(await oneOff(story, late, "1000"))).toEqual([500]);
  });

  test("M28 also: can be made again once it is used up or ended", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const made = await coupon(story, { percent: "10" });
    const apply = () => applyCoupon(story, made, customer);
    const first = await apply();
    expect(outcome(first)).toBe("201");
    await oneOff(story, customer, "100");
    const second = await apply();
    expect(outcome(second)).toBe("201");
    expect(outcome(await apply())).toBe("409 already_exists");
    const { id } = second.body.applied_coupon;
    const takeOff = () => story.call("DELETE", `/v1/applied-coupons/${id}`);
    const answers = await Promise.all([takeOff(), takeOff(), takeOff(), takeOff(), takeOff()]);
    expect(new Set(answers.map(outcome))).toEqual(new Set(["204"]));
    expect(takenOf(await oneOff(story, customer, "100"))).toEqual([]);
    expect(outcome(await apply())).toBe("201");
    const found = async (status: string) => {
      const url = `/v1/applied-coupons?customer_id=${customer.id}&status=${status}&limit=1`;
      const { applied_coupons, has_more } = await story.get(url);
      return [applied_coupons.map((one: Json) => one.status), has_more];
    };
    for (const status of ["running", "used_up", "ended"]) {
      expect(await found(status)).toEqual([[status], false]);
    }
    for (const type of ["coupon.applied", "coupon.ended"]) {
      expect([type, (await story.log(type)).length]).toEqual([
        type,
        type === "coupon.applied" ? 3 : 1,
      ]);
    }
  });

  test("M28 also: a pot is used up when it has given all", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    await discount(story, customer, { amount_cents: 500, currency: "USD", times: 1 });
    const found = async (asked: string) => {
      const { applied_coupons } = await story.get(`/v1/applied-coupons?${asked}`);
      return applied_coupons.map((one: Json) => one.status);
    };
    for (const [now, other] of [
      ["running", "used_up"],
      ["used_up", "running"],
    ] as const) {
      await oneOff(story, customer, "300");
      expect(await found(`customer_id=${customer.id}&status=${now}`)).toEqual([now]);
      expect(await found(`customer_id=${customer.id}&status=${other}`)).toEqual([]);
    }
    expect(await found("customer_id=")).toEqual([]);
  });

  test("M28 also: 20 run at most", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    for (let i = 0; i < 20; i++) await discount(story, customer, { percent: "1" });
    const more = await coupon(story, { percent: "1" });
    expect(outcome(await applyCoupon(story, more, customer))).toBe("422 limit_exceeded");
    expect(outcome(await applyCoupon(story, more, await story.customer()))).toBe("201");
    const { applied_coupons } = await story.get(
      `/v1/applied-coupons?all=1&customer_id=${customer.id}`,
    );
    await story.call("DELETE", `/v1/applied-coupons/${applied_coupons[0].id}`);
    expect(outcome(await applyCoupon(story, more, customer))).toBe("201");
  });

  test("M28 also: to what is not there, or is somebody else's, is 404", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const other = await story.subscribe({ amount_cents: 1 });
    const made = await coupon(story, { percent: "10" });
    const id = randomUUID();
    for (const answer of [
      await applyCoupon(story, { id }, customer),
      await applyCoupon(story, made, { id }),
      await applyCoupon(story, made, customer, { subscription_id: other.id }),
      await applyCoupon(story, made, customer, { subscription_id: id }),
    ]) {
      expect(outcome(answer)).toBe("404 not_found");
    }
    expect((await story.get(`/v1/coupons/${made.id}`)).coupon.redemptions).toBe(0);
  });
});

// Its fees are base 1000, usage of 0, the charge's minimum of 500 and a flat fee of 200: the
// metric has the usage and the minimum, 50 % of 500.
test("M27 also: a charge's minimum has its metric, base and flat fees have none", async () => {
  const story = await begin("2026-01-01");
  const metric = await story.metric();
  const customer = await story.customer();
  await discount(story, customer, { percent: "50", metric_codes: [metric.code] });
  const charges = [
    perUnit(metric, "1", { minimum_cents: 500 }),
    flatFee({ amount_override_cents: 200 }),
  ];
  const subscription = await story.subscribe({ customer, amount_cents: 1000, charges });
  await story.travelTo("2026-02-01");
  const [invoice] = await inOrder(story, subscription);
  expect(discountsOf(invoice)).toEqual([0, 0, 250, 0]);
});

// 2000 for each period: 1500 of the start and the 500 that are left for its close.
test("M24 also: a fixed amount of a period is shared by its start and its close", async () => {
  const story = await begin("2026-01-01");
  const customer = await story.customer();
  const each = await discount(story, customer, { amount_cents: 2000, times: null });
  const charges = [flatFee({ amount_override_cents: 1500, invoice_timing: "advance" })];
  await story.subscribe({ customer, amount_cents: 1000, charges });
  await story.travelTo("2026-03-01");
  const invoices = await story.invoices();
  expect(invoices.map(takenOf)).toEqual([[1500], [500], [1500], [500], [1500]]);
  expect(await applied(story, each)).toMatchObject({ uses: 3, used_cents: 5500 });
});

// An add-on has no plan and no metric: a coupon for all takes of it, one for plans does not.
test("M27 also: add-ons fit a coupon for all alone", async () => {
  const story = await begin("2026-01-01");
  const customer = await story.customer();
  const plan = await story.plan();
  await discount(story, customer, { percent: "50", plan_codes: [plan.code] });
  await discount(story, customer, { percent: "10" });
  await story.apply(await story.addOn({ amount_cents: 1000 }), customer);
  const [invoice] = await story.invoices();
  expect(takenOf(invoice)).toEqual([100]);
});
