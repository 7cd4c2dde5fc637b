// Changes whose times are not in the order in which they are made: a request reads the time before
// it waits for the lock, and machines have clocks of their own.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { Client } from "../../support/client.ts";
import { makeCustomer, RaceCourse } from "../../support/race.ts";

let course: RaceCourse;
beforeAll(async () => {
  course = await RaceCourse.open();
});
afterAll(async () => expect(await course.close()).toEqual([]));

/** A subscription from 1 January with so many seats, at a price for each, counted in this way. */
async function seated(quantity_mode: string, count = 1) {
  const { prompt: client } = await course.project("live");
  set("2026-01-01T00:00:00.000Z");
  const seats = {
    charge_model: "flat_fee",
    name: "seats",
    amount_override_cents: 3100,
    quantity_from: "subscription_property.seats",
    properties: { quantity_mode },
  };
  const plan = { code: "p", name: "p", interval: "monthly", amount_currency: "USD" };
  const { id: plan_id } = (await client.post("/v1/plans", { ...plan, charges: [seats] })).plan;
  const { id: customer_id } = await makeCustomer(client);
  const wanted = { customer_id, plan_id, properties: { seats: count } };
  const { id } = (await client.post("/v1/subscriptions", wanted)).subscription;
  return { client, id, plan: { ...plan, charges: [seats] } };
}

function set(at: string): void {
  course.setClocks(at, at);
}

/** The seats change at each of these times, in this order. */
async function change(client: Client, id: string, changes: readonly [string, number][]) {
  for (const [at, seats] of changes) {
    set(at);
    await client.call("PATCH", `/v1/subscriptions/${id}`, { properties: { seats } });
  }
}

test.each([
  // 19 days of one seat, and 12 of two.
  ["prorated", "4300"],
  ["max", "310000"],
])("quantities that are %s follow one another as they were changed", async (mode, billed) => {
  const { client, id } = await seated(mode);
  await change(client, id, [
    ["2026-01-20T12:00:30.000Z", 100],
    ["2026-01-20T12:00:10.000Z", 2],
  ]);
  set("2026-02-01T00:00:00.000Z");
  await course.work();
  expect(await course.bill(client, id, "2026-02-01")).toEqual([`p seats 2026-01 ${billed}`]);
});

test("a change of plan comes behind the quantities that were changed before it", async () => {
  const { client, id, plan } = await seated("max", 100);
  await change(client, id, [["2026-01-20T12:00:30.000Z", 2]]);
  set("2026-01-20T12:00:10.000Z");
  const { id: plan_id } = (await client.post("/v1/plans", { ...plan, code: "q" })).plan;
  await client.call("PATCH", `/v1/subscriptions/${id}`, { plan_id });
  set("2026-02-01T00:00:00.000Z");
  await course.work();
  // Two seats from the first moment of the new plan on.
  expect(await course.bill(client, id, "2026-02-01")).toContain("q seats 2026-01 6200");
});
