// Workers that come for the same subscription at once: who waited looks again at what is due.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { ProjectId } from "../../../src/ids.ts";
import { setAsideDue } from "../../../src/operations/closing/close.ts";
import { scheduler } from "../../../src/operations/emit.ts";
import { getSettingsById } from "../../../src/store/tenants/tenants.ts";
import type { Json } from "../../support/app.ts";
import { attended } from "../../support/attended.ts";
import { makeCustomer, RaceCourse } from "../../support/race.ts";

let course: RaceCourse;
beforeAll(async () => {
  course = await RaceCourse.open();
});
afterAll(async () => {
  expect(await course.close()).toEqual([]);
});

const at = (instant: string) => course.setClocks(`${instant}:00.000Z`, `${instant}:00.000Z`);

/** A subscription by usage since 5 January. */
async function metered() {
  const { prompt } = await course.project("live");
  at("2026-01-05T00:00");
  const metric = { code: "used", name: "used", aggregation_type: "sum", field_name: "n" };
  await prompt.post("/v1/metrics", metric);
  const charges = [{ type: "standard", metric_ref: "used", rate: "1" }];
  const terms = { code: "p", name: "p", interval: "monthly", amount_currency: "USD", charges };
  const { plan } = await prompt.post("/v1/plans", terms);
  const { id: customer_id } = await makeCustomer(prompt);
  const { subscription } = await prompt.post("/v1/subscriptions", {
    customer_id,
    plan_id: plan.id,
  });
  let sent = 0;
  const use = (n: string) => {
    sent += 1;
    const event = { transaction_id: `${sent}`, subscription_id: subscription.id, code: "used" };
    const timestamp = "2026-01-06T00:00:00.000Z";
    return prompt.post("/v1/events", { ...event, timestamp, properties: { n } });
  };
  return { prompt, subscription, use };
}

test("late usage that comes while another worker invoices waits for its own midnight", async () => {
  const { prompt, subscription, use } = await metered();
  at("2026-01-10T12:00");
  await prompt.post(`/v1/subscriptions/${subscription.id}/terminate`);
  await use("1");
  at("2026-01-11T12:00");
  let overtaken = false;
  await course.workOn((db) =>
    attended(db, async (text) => {
      if (overtaken || !/from subscriptions\s.*for no key update/s.test(text)) return;
      overtaken = true;
      await course.work();
      await use("5");
    }),
  );
  expect(overtaken).toBe(true);
  const totals = async () =>
    (await prompt.get("/v1/invoices")).invoices.map(({ total_cents }: Json) => total_cents);
  expect(await totals()).toEqual([100]);
  at("2026-01-12T00:01");
  await course.work();
  expect(await totals()).toEqual([500, 100]);
});

test("a close that failed sets nothing aside that another worker has closed meanwhile", async () => {
  const { prompt, subscription } = await metered();
  at("2026-02-01T00:01");
  await course.work();
  const project = prompt.project as ProjectId;
  const { db } = course;
  const settings = await getSettingsById(db, project);
  const now = new Date("2026-02-01T00:01:00.000Z");
  const late = new Error("The write failed.");
  const by = scheduler({ portal_auto_invalidate: false });
  const found = await db.tx((tx) => setAsideDue(tx, settings, subscription.id, late, by, now));
  expect(found).toBeUndefined();
  const path = `/v1/subscriptions/${subscription.id}`;
  expect((await prompt.get(path)).subscription.billing_error).toBeNull();
});
