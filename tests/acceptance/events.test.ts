// Usage events, sentence by sentence.

import { beforeAll, expect, test } from "vitest";
import { type Api, openService, type Service } from "../support/acceptance.ts";
import { code, makeMetric, makePlan, makeSubscription } from "../support/records.ts";
import { expectError } from "../support/shapes.ts";

const START = "2026-01-10T09:00:00.000Z";

let service: Service;
let api: Api;
let metric: { id: string; code: string };
let subscription: { id: string; external_id: string };

beforeAll(async () => {
  service = await openService();
  api = await service.project(START);
  metric = await makeMetric(api, { field_name: "calls" });
  subscription = await subscribe(api, metric.id);
});

async function subscribe(there: Api, billable_metric_id: string) {
  const charge = { charge_model: "standard", billable_metric_id, properties: { amount: "0.25" } };
  const plan = await makePlan(there, { amount_cents: 0, charges: [charge] });
  return makeSubscription(there, { plan_id: plan.id });
}

function eventOf(fields: object = {}) {
  return {
    transaction_id: code("tx"),
    subscription_id: subscription.id,
    code: metric.code,
    value: "400",
    timestamp: "2026-01-10T08:00:00.000Z",
    properties: {},
    ...fields,
  };
}

async function units(): Promise<string> {
  const { usage } = await api.ok("GET", `/v1/subscriptions/${subscription.id}/usage`);
  return usage.charges[0].units;
}

test("POST /v1/events: response 200 {accepted: true, duplicate: false}", async () => {
  const sent = await api.post("/v1/events", eventOf({ timestamp: START }));
  expect([sent.status, sent.body]).toEqual([200, { accepted: true, duplicate: false }]);
});

test("when the transaction_id was seen before, 200 {accepted: true, duplicate: true} and the event is not counted again", async () => {
  const event = eventOf({ timestamp: START });
  await api.ok("POST", "/v1/events", event);
  const counted = await units();
  const again = await api.post("/v1/events", event);
  expect([again.status, again.body]).toEqual([200, { accepted: true, duplicate: true }]);
  expect(await units()).toBe(counted);
});

test("subscription_id: uuid or ext:<external_id>", async () => {
  const before = Number(await units());
  for (const ref of [subscription.id, `ext:${subscription.external_id}`]) {
    await api.ok("POST", "/v1/events", eventOf({ subscription_id: ref, timestamp: START }));
  }
  expect(await units()).toBe(String(before + 800));
});

test("the event property named by field_name is aggregated, else the value", async () => {
  const before = Number(await units());
  const event = eventOf({ value: "1", properties: { calls: "70" }, timestamp: START });
  await api.ok("POST", "/v1/events", event);
  expect(await units()).toBe(String(before + 70));
});

test("unknown subscription or metric: 404; a refused event leaves its transaction_id free", async () => {
  const transaction_id = code("tx");
  const lost = eventOf({ transaction_id, subscription_id: "ext:nobody", timestamp: START });
  expectError(await api.post("/v1/events", lost), 404, "not_found");
  const unmeasured = eventOf({ transaction_id, code: "nothing", timestamp: START });
  expectError(await api.post("/v1/events", unmeasured), 404, "not_found");
  const good = await api.post("/v1/events", eventOf({ transaction_id, timestamp: START }));
  expect(good.body).toEqual({ accepted: true, duplicate: false });
});

test("value is a string; a value that is no decimal cannot be summed", async () => {
  for (const value of [400, "many", "1e3", "NaN"]) {
    const refused = await api.post("/v1/events", eventOf({ value, timestamp: START }));
    expectError(refused, 422, "validation_error");
  }
});

test("usage of before the start is accepted with a warning and never billed", async () => {
  const before = await units();
  const early = await api.post("/v1/events", eventOf());
  expect(early.body).toEqual({ accepted: true, duplicate: false, warning: "before_start" });
  expect(await units()).toBe(before);
});

test("accepts usage events, aggregates them through billable metrics, and produces invoices with fees at period close", async () => {
  const there = await service.project(START);
  const cases = [
    { aggregation_type: "sum", field_name: "n", units: "7.5", amount_cents: 188 },
    { aggregation_type: "count", field_name: null, units: "4", amount_cents: 100 },
    { aggregation_type: "count_unique", field_name: "n", units: "3", amount_cents: 75 },
    { aggregation_type: "max", field_name: "n", units: "4", amount_cents: 100 },
    { aggregation_type: "latest", field_name: "n", units: "1.5", amount_cents: 38 },
  ];
  const started: { id: string; code: string }[] = [];
  for (const { aggregation_type, field_name } of cases) {
    const measured = await makeMetric(there, { aggregation_type, field_name });
    const { id } = await subscribe(there, measured.id);
    started.push({ id, code: measured.code });
  }
  await there.ok("POST", "/v1/clock/advance", { to: "2026-01-15T00:00:00.000Z" });
  for (const { id, code: measured } of started) {
    for (const [i, n] of ["1", "4", "1", "1.5"].entries()) {
      const event = { transaction_id: code("tx"), subscription_id: id, code: measured };
      const timestamp = `2026-01-1${i + 1}T00:00:00.000Z`;
      await there.ok("POST", "/v1/events", { ...event, timestamp, properties: { n } });
    }
  }
  await there.ok("POST", "/v1/clock/advance", { to: "2026-02-01T00:00:00.000Z" });
  for (const [i, { units, amount_cents }] of cases.entries()) {
    const { invoices } = await there.ok("GET", `/v1/invoices?subscription_id=${started[i]?.id}`);
    const { invoice } = await there.ok("GET", `/v1/invoices/${invoices[0].id}`);
    const [fee] = invoice.fees.filter((one: { fee_type: string }) => one.fee_type === "charge");
    expect(fee).toMatchObject({ units, amount_cents });
  }
});

test("GET /v1/events/:transaction_id: the event as the list shows it, and 404 when there is none", async () => {
  const uuid = "0b0e8e43-6c5b-4c2b-9f5e-0d3f3a1c9e11";
  for (const transaction_id of [
    code("tx"),
    uuid,
    uuid.toUpperCase(),
    "a/b ü? #1",
    "次".repeat(255),
  ]) {
    const event = eventOf({ transaction_id, timestamp: START, properties: { calls: "3" } });
    await api.ok("POST", "/v1/events", event);
    const path = `/v1/events?subscription_id=${subscription.id}&limit=100`;
    const { events } = await api.ok("GET", path);
    const listed = events.find((one: typeof event) => one.transaction_id === transaction_id);
    expect(listed).toMatchObject({ ...event, state: "billable", reason: null });
    const found = await api.call("GET", `/v1/events/${encodeURIComponent(transaction_id)}`);
    expect([found.status, found.body]).toEqual([200, { event: listed }]);
  }
  expectError(await api.call("GET", "/v1/events/never-sent"), 404, "not_found");
  expectError(await api.call("GET", `/v1/events/${"x".repeat(256)}`), 404, "not_found");
  const elsewhere = await service.project(START);
  expectError(await elsewhere.call("GET", `/v1/events/${uuid}`), 404, "not_found");
});
