// Amounts beyond what an invoice can be over, and sums beyond what JSON carries: refused in words,
// never an error of ours, and nobody else is held up.

import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type App, type Json, sharedApp } from "../../support/app.ts";
import { perUnit, type Sandbox, sandbox } from "../../support/given.ts";
import { expectError } from "../../support/shapes.ts";

/** At a dollar a unit, 10^15 cents. */
const MOST = "10000000000000";
const TOO_MUCH = "999999999999999";

let app: App;
beforeAll(async () => {
  app = await sharedApp();
});

async function metered(): Promise<{ project: Sandbox; plan: Json; metric: Json }> {
  const project = await sandbox(app, "2025-01-01T00:00");
  const metric = await project.metric("sum");
  return { project, metric, plan: await project.plan({ charges: [perUnit(metric, "1")] }) };
}

describe("one event", () => {
  test("that would cost more than an invoice can be over is refused, by its field", async () => {
    const { project, plan, metric } = await metered();
    const subscription = await project.subscribe({ plan });
    for (let i = 0; i < 2; i++) {
      const body = project.usage(subscription, metric, TOO_MUCH);
      const answer = await project.call("POST", "/v1/events", body);
      expectError(answer, 422, "validation_error");
      expect(answer.body.error.details).toMatchObject([{ field: "value", code: "maximum" }]);
    }
    await project.use(subscription, metric, MOST);
    expect((await project.runningUsage(subscription)).amount_cents).toBe(10 ** 15);
  });

  test("counts as it is where its metric has no price", async () => {
    const { project, metric } = await metered();
    const subscription = await project.subscribe({ plan: await project.plan() });
    const answer = await project.use(subscription, metric, TOO_MUCH);
    expect(answer.accepted).toBe(true);
  });
});

describe("several events that together cost too much", () => {
  let project: Sandbox;
  let metric: Json;
  let subscription: Json;

  beforeEach(async () => {
    const { plan, ...made } = await metered();
    ({ project, metric } = made);
    subscription = await project.subscribe({ plan });
    await project.use(await project.subscribe({ plan }), metric, "5");
    for (let i = 0; i < 2; i++) await project.use(subscription, metric, MOST);
  });

  test("usage, preview and portal say so", async () => {
    const { id, customer_id } = subscription;
    const calls = [
      await project.call("GET", `/v1/subscriptions/${id}/usage`),
      await project.call("POST", "/v1/invoices/preview", { subscription_id: id, at: "period_end" }),
      await app.call("GET", `/v1/portal/${customer_id}`, undefined, { authorization: undefined }),
    ];
    for (const answer of calls) expectError(answer, 422, "limit_exceeded");
  });

  test("the portal's page for people says so in its own words", async () => {
    const page = `/portal/${subscription.customer_id}`;
    const headers = { authorization: undefined, accept: "text/html" };
    const answer = await app.call("GET", page, undefined, headers);
    expect(answer.status).toBe(422);
    expect(answer.headers["content-type"]).toMatch(/^text\/html/);
    expect(answer.body).toContain("<h1>This page cannot be shown</h1>");
    expect(answer.body).not.toContain("Try again");
  });

  test("the others are billed, and the one is set aside, in its record and in the log", async () => {
    await project.travelTo("2025-02-01");
    expect(await project.totals()).toEqual([500]);
    const { billing_error } = await project.subscription(subscription.id);
    expect(billing_error).toContain("2000000000000000 is beyond 1000000000000000");
    expect(await project.log("subscription.set_aside")).toMatchObject([
      { resource_id: subscription.id, payload: { reason: billing_error } },
    ]);
  });

  test("a correction mends it", async () => {
    await project.travelTo("2025-02-01");
    const body = project.usage(subscription, metric, `-${MOST}`, "2025-01-15T00:00");
    expect((await project.call("POST", "/v1/events", body)).status).toBe(200);
    expect((await project.runningUsage(subscription)).amount_cents).toBe(10 ** 15);
  });
});

test("analytics refuses in words a sum that JSON cannot carry", async () => {
  const { project, plan, metric } = await metered();
  for (let i = 0; i < 10; i++) {
    await project.use(await project.subscribe({ plan }), metric, MOST);
  }
  await project.travelTo("2025-02-01");
  expect(await project.totals()).toEqual(Array.from({ length: 10 }, () => 10 ** 15));
  const answer = await project.call("GET", "/v1/analytics");
  expectError(answer, 422, "limit_exceeded");
  expect(answer.body.error.message).toContain("10000000000000000");
});
