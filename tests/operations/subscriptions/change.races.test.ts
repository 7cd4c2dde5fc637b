// Calls for one subscription that wait for one another: who waited finds the subscription as those
// before have left it, whatever they changed of it.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type App, type Json, startApp } from "../../support/app.ts";
import { attended } from "../../support/attended.ts";
import { type Sandbox, sandbox } from "../../support/given.ts";
import { inLine } from "../../support/in-line.ts";
import { outcome } from "../../support/money.ts";
import { closeSound } from "../../support/pricing.ts";
import { makeCustomer, RaceCourse } from "../../support/race.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => closeSound(app));

async function subscribed(): Promise<{ story: Sandbox; path: string; subscription: Json }> {
  const story = await sandbox(app, "2026-01-10");
  const subscription = await story.subscribe({ plan: await story.plan({ amount_cents: 3100 }) });
  return { story, path: `/v1/subscriptions/${subscription.id}`, subscription };
}

test.each([
  ["POST", "/suspend", undefined, "suspended"],
  ["POST", "/terminate", undefined, "terminated"],
  ["PATCH", "", { status: "canceled" }, "canceled"],
  ["PATCH", "", { properties: { seats: 2 } }, "active"],
])("%s %s that waited for a change of plan has its effect", async (method, act, body, status) => {
  const { story, path, subscription } = await subscribed();
  const other = await story.plan({ amount_cents: 6200 });
  const row = { table: "subscriptions", project: story.project_id, id: subscription.id };
  const answers = await inLine(app.connection, row, [
    () => story.call("PATCH", path, { plan_id: other.id }),
    () => story.call(method, `${path}${act}`, body),
  ]);
  expect(answers.map(outcome)).toEqual(["200", "200"]);
  const after = await story.get(path);
  expect(after.subscription).toMatchObject({ plan_id: other.id, status });
});

test("changes of plan at once are all made, and the last one counts", async () => {
  const { story, path, subscription } = await subscribed();
  const plans: Json[] = [];
  for (let i = 0; i < 6; i++) plans.push(await story.plan({ amount_cents: 100 * i }));
  const row = { table: "subscriptions", project: story.project_id, id: subscription.id };
  const calls = plans.map(
    ({ id }) =>
      () =>
        story.call("PATCH", path, { plan_id: id }),
  );
  const answers = await inLine(app.connection, row, calls);
  expect(new Set(answers.map(outcome))).toEqual(new Set(["200"]));
  const after = await story.get(path);
  expect(plans.map(({ id }) => id)).toContain(after.subscription.plan_id);
});

test("ext: means who has the name when its turn has come", async () => {
  const course = await RaceCourse.open();
  let isOvertaken = false;
  const { prompt, slow } = await course.project("live", (db) =>
    attended(db, async (text) => {
      if (isOvertaken || !/from subscriptions\s.*for no key update/s.test(text)) return;
      isOvertaken = true;
      await prompt.post("/v1/subscriptions/ext:a/terminate");
      await prompt.post("/v1/subscriptions", wanted);
    }),
  );
  course.setClocks("2026-01-10T00:00:00.000Z", "2026-01-10T00:00:00.000Z");
  const plan = { code: "p", name: "p", interval: "monthly", amount_currency: "USD" };
  const { id: plan_id } = (await prompt.post("/v1/plans", plan)).plan;
  const { id: customer_id } = await makeCustomer(prompt);
  const wanted = { customer_id, plan_id, external_id: "a" };
  await prompt.post("/v1/subscriptions", wanted);
  expect(outcome(await slow.call("POST", "/v1/subscriptions/ext:a/suspend"))).toBe("200");
  const { subscriptions } = await prompt.get("/v1/subscriptions");
  const statuses = subscriptions.map(({ status }: Json) => status);
  expect(statuses).toEqual(["suspended", "terminated"]);
  expect(await course.close()).toEqual([]);
});

test.each([
  ["POST", "/terminate", undefined],
  ["PATCH", "", { status: "canceled" }],
])(
  "%s %s of one whose start has come bills it, in the order of locks",
  async (method, act, body) => {
    const course = await RaceCourse.open();
    const { prompt } = await course.project("live");
    course.setClocks("2026-01-10T00:00:00.000Z", "2026-01-10T00:00:00.000Z");
    const terms = { interval: "monthly", amount_cents: 700, amount_currency: "USD" };
    const plan = { code: "p", name: "p", ...terms, base_timing: "advance" };
    const { id: plan_id } = (await prompt.post("/v1/plans", plan)).plan;
    const { id: customer_id } = await makeCustomer(prompt);
    // Its invoice takes the lock of a customer who has credit.
    await prompt.post("/v1/grants", { customer_id, amount_cents: 100, kind: "free" });
    const wanted = { customer_id, plan_id, starts_at: "2026-01-11T00:00:00.000Z" };
    const { id } = (await prompt.post("/v1/subscriptions", wanted)).subscription;
    course.setClocks("2026-01-12T00:00:00.000Z", "2026-01-12T00:00:00.000Z");
    expect(outcome(await prompt.call(method, `/v1/subscriptions/${id}${act}`, body))).toBe("200");
    const { invoices } = await prompt.get("/v1/invoices");
    expect(invoices.at(-1).credit_applied_cents).toBe(100);
    expect(await course.close()).toEqual([]);
  },
);
