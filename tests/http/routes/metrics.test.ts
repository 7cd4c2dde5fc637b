// When a metric may be archived, and how an archived one comes back.

import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type App, type Json, sharedApp } from "../../support/app.ts";
import { perUnit, type Sandbox, sandbox } from "../../support/given.ts";

let app: App;
let story: Sandbox;
let metric: Json;
beforeAll(async () => {
  app = await sharedApp();
});
beforeEach(async () => {
  story = await sandbox(app, "2026-01-01");
  metric = await story.metric();
});

const archive = () => story.call("DELETE", `/v1/metrics/${metric.id}`);
const HELD = { status: 422, body: { error: { code: "has_dependencies" } } };

describe("a metric is held", () => {
  test("by the open periods of a plan that no longer names it, until they end", async () => {
    const plan = await story.plan({ charges: [perUnit(metric, "1")] });
    const subscription = await story.subscribe({ plan });
    await story.patch(`/v1/plans/${plan.id}`, { charges: [] });
    expect(await archive()).toMatchObject(HELD);
    await story.use(subscription, metric, "5");
    await story.travelTo("2026-02-01");
    expect((await story.invoices())[0].total_cents).toBe(500);
    expect((await archive()).status).toBe(204);
  });

  test("by a suspended subscription, also when its plan was archived", async () => {
    const plan = await story.plan({ charges: [perUnit(metric, "1")] });
    const subscription = await story.subscribe({ plan });
    await story.post(`/v1/subscriptions/${subscription.id}/suspend`);
    await story.call("DELETE", `/v1/plans/${plan.id}`);
    expect(await archive()).toMatchObject(HELD);
    await story.terminate(subscription);
    expect((await archive()).status).toBe(204);
  });

  test("by the plan that a live subscription changes to", async () => {
    const [plan, next] = [
      await story.plan({ amount_cents: 100 }),
      await story.plan({ charges: [perUnit(metric, "1")] }),
    ];
    const subscription = await story.subscribe({ plan });
    await story.patch(`/v1/subscriptions/${subscription.id}`, {
      plan_id: next.id,
      change_at: "period_end",
    });
    await story.call("DELETE", `/v1/plans/${next.id}`);
    expect(await archive()).toMatchObject(HELD);
  });
});

describe("an archived metric", () => {
  test("comes back under its id, and takes events again", async () => {
    const subscription = await story.subscribe({ plan: await story.plan({ amount_cents: 100 }) });
    await archive();
    const { code, aggregation_type, field_name } = metric;
    const again = await story.post("/v1/metrics", {
      code,
      aggregation_type,
      field_name,
      name: "Again",
    });
    expect(again.metric).toMatchObject({ id: metric.id, name: "Again", archived_at: null });
    await story.use(subscription, metric, "1");
    const [entry] = await story.log("metric.updated");
    expect(entry).toMatchObject({ resource_id: metric.id, payload: { name: "Again" } });
  });

  test.each([{ aggregation_type: "max" }, { field_name: "others" }, { dimensions: ["region"] }])(
    "that counts otherwise stays archived: %o",
    async (change) => {
      await archive();
      const { code, name, aggregation_type, field_name } = metric;
      const body = { code, name, aggregation_type, field_name, ...change };
      const refused = await story.call("POST", "/v1/metrics", body);
      expect(refused.status).toBe(409);
      expect(refused.body.error.details[0].existing_id).toBe(metric.id);
    },
  );
});
