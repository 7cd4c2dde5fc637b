// The same thing sent to two processes at once, hundreds of times: it happens once. In one process
// the races of the routes and operations hold it every day.

import { afterEach, beforeEach, expect, test } from "vitest";
import { Fleet, tally } from "./fleet.ts";

const TEST_MS = 600_000;

let fleet: Fleet;

beforeEach(async () => {
  fleet = await Fleet.open();
});

afterEach(() => fleet.close());

test("two hundred reports of one payment at once are one payment", {
  timeout: TEST_MS,
}, async () => {
  const apis = await fleet.start("api", 2);
  await fleet.makeSubscriptions(apis[0], 1);
  await fleet.caller.ok(apis[0], "POST", "/v1/subscriptions/ext:s1/terminate", {});
  const { invoices } = await fleet.caller.ok(apis[0], "GET", "/v1/invoices");
  const [invoice] = invoices;
  const payment = {
    invoice_id: invoice.id,
    amount_cents: invoice.total_cents,
    currency: "USD",
    provider: "bank",
    provider_payment_id: "p1",
  };
  const answers = await Promise.all(
    Array.from({ length: 200 }, (_, i) =>
      fleet.answer(apis[i % 2] ?? apis[0], "POST", "/v1/payments", payment),
    ),
  );
  expect(tally(answers.map(({ status }) => status))).toEqual({ 200: 199, 201: 1 });
  expect(await fleet.count("payments")).toBe(1);
  const other = { ...payment, amount_cents: payment.amount_cents - 1 };
  const refused = await fleet.caller.call(apis[1] ?? apis[0], "POST", "/v1/payments", other);
  expect(refused.status).toBe(409);
  await fleet.expectAgreement();
});

test("five hundred creates of one external_id start one subscription and bill its start once", {
  timeout: TEST_MS,
}, async () => {
  const apis = await fleet.start("api", 2);
  const setup = { type: "flat_fee", amount_override_cents: 500, invoice_timing: "immediate" };
  const { plan, customer } = await fleet.makePlan(apis[0], [setup]);
  const body = {
    external_id: "only",
    customer_id: customer.id,
    plan_id: plan.id,
    properties: { seats: 1 },
  };
  const answers = await Promise.all(
    Array.from({ length: 500 }, (_, i) =>
      fleet.answer(apis[i % 2] ?? apis[0], "POST", "/v1/subscriptions", body),
    ),
  );
  expect(tally(answers.map(({ status }) => status))).toEqual({ 201: 1, 409: 499 });
  expect(await fleet.count("subscriptions")).toBe(1);
  expect(await fleet.count("invoices")).toBe(1);
  await fleet.expectAgreement();
});

test("a hundred copies of one event at once, over two processes, count once", {
  timeout: TEST_MS,
}, async () => {
  const apis = await fleet.start("api", 2);
  await fleet.makeSubscriptions(apis[0], 1);
  const event = {
    transaction_id: "once",
    subscription_id: "ext:s1",
    code: "calls",
    properties: { n: "3" },
  };
  const answers = await Promise.all(
    Array.from({ length: 100 }, (_, i) =>
      fleet.answer(apis[i % 2] ?? apis[0], "POST", "/v1/events", event),
    ),
  );
  expect(tally(answers.map(({ body }) => body.duplicate))).toEqual({ false: 1, true: 99 });
  const { usage } = await fleet.caller.ok(apis[0], "GET", "/v1/subscriptions/ext:s1/usage");
  expect(usage.charges[0].units).toBe("3");
  await fleet.expectAgreement();
});
