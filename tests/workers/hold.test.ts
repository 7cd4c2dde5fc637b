// A database that is held after a restore: calls are answered, and nothing happens by itself.

import pino from "pino";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { Bounds } from "../../src/http/admission/bound.ts";
import { healthRoutes } from "../../src/http/routes/system.ts";
import { buildServer } from "../../src/http/server.ts";
import { checkSecretKey } from "../../src/service/open-store.ts";
import { sql } from "../../src/store/db/sql.ts";
import { Hold } from "../../src/workers/hold.ts";
import { startWorkers } from "../../src/workers/start.ts";
import { type App, type Json, startApp } from "../support/app.ts";
import { until } from "../support/processes.ts";
import { Receiver } from "../support/receiver.ts";

const AT = "2026-01-10T00:00:00.000Z";

let app: App;
let receiver: Receiver;
let plan: Json;
let customer: Json;

beforeEach(async () => {
  app = await startApp({ at: AT, env: { WEBHOOK_ALLOW_PRIVATE: "1" } });
  await checkSecretKey(app.context.db, app.context.secret_key, new Date(AT));
  receiver = await Receiver.start();
  const hook = { url: `http://127.0.0.1:${receiver.port}/`, events: ["invoice.created"] };
  await app.post("/v1/webhooks", hook);
  const price = { interval: "monthly", amount_cents: 100, amount_currency: "USD" };
  plan = (await app.post("/v1/plans", { code: "p", name: "P", ...price })).plan;
  customer = (await app.post("/v1/customers", { external_id: "c", name: "C" })).customer;
  const ids = { external_id: "s", customer_id: customer.id, plan_id: plan.id };
  await app.post("/v1/subscriptions", ids);
  await app.post("/v1/addons", { code: "a", name: "A", amount_cents: 5, currency: "USD" });
  await hold(new Date(AT));
});
afterEach(async () => {
  await receiver.close();
  await app.close();
});

function hold(held_since: Date | null): Promise<number> {
  return app.context.db.run(sql`update installation set held_since = ${held_since}`);
}

async function count(of: "invoices" | "webhook_attempts"): Promise<number> {
  const text = `select count(*) as count from ${of}`;
  return (await app.context.db.one<{ count: number }>({ text, values: [] })).count;
}

/** How often anybody has asked whether it is held, from now on. */
function looksAtHold(): () => number {
  const asked = vi.spyOn(app.context.db, "maybeOne");
  return () => asked.mock.calls.filter(([{ text }]) => text.includes("held_since")).length;
}

describe("while it is held", () => {
  test("/readyz is 200 and warns of it, also on HEALTH_PORT, until it goes on", async () => {
    const warning = expect.stringMatching(/restored .* is held: .* dues resume$/);
    const { status, body } = await app.call("GET", "/readyz");
    expect([status, body.status, body.warnings]).toEqual([200, "held", [warning]]);
    const own = { draining: false, schema_version: 1, warnings: ["mind the gap"] };
    const faults = [{ node: "10.0.0.2:5432", why: "the disk is full" }];
    const fault = "Node 10.0.0.2:5432: the disk is full";
    const { fastify } = buildServer(
      app.context,
      healthRoutes({ ...own, writeFaults: () => faults }),
      new Bounds(),
    );
    const asked = async () => (await fastify.inject({ url: "/readyz" })).json();
    expect(await asked()).toMatchObject({
      status: "writes_fail",
      warnings: [fault, warning, "mind the gap"],
    });
    await hold(null);
    expect((await asked()).warnings).toEqual([fault, "mind the gap"]);
    expect((await app.call("GET", "/readyz")).body).not.toHaveProperty("warnings");
    await fastify.close();
  });

  test("what would issue an invoice is refused for now, and leaves nothing", async () => {
    const flat = {
      charge_model: "flat_fee",
      invoice_timing: "immediate",
      amount_override_cents: 9,
    };
    const price = { interval: "monthly", amount_cents: 100, amount_currency: "USD" };
    const now = { code: "now", name: "Now", ...price, charges: [flat] };
    const at_once = (await app.post("/v1/plans", now)).plan;
    const started = { external_id: "s2", customer_id: customer.id, plan_id: at_once.id };
    const { add_ons } = await app.get("/v1/addons");
    const applied = { customer_id: customer.id };
    const answers = [
      await app.call("POST", "/v1/subscriptions", started),
      await app.call("POST", `/v1/addons/${add_ons[0].id}/apply`, applied),
      await app.call("POST", "/v1/clock/advance", { to: "2026-03-01T00:00:00.000Z" }),
    ];
    for (const { status, body, headers } of answers) {
      expect([status, body.error.code]).toEqual([503, "unavailable"]);
      expect(body.error.message).toContain("dues resume");
      expect(headers["retry-after"]).toBe("60");
    }
    expect(await count("invoices")).toBe(0);
    expect((await app.get("/v1/clock")).clock.now).toBe(AT);
  });

  test("usage, customers and plans without an invoice are taken", async () => {
    const metric = { code: "calls", name: "Calls", aggregation_type: "count" };
    await app.post("/v1/metrics", metric);
    const event = { transaction_id: "t", subscription_id: "ext:s", code: "calls" };
    await app.post("/v1/events", { ...event, timestamp: AT, properties: {} });
    await app.patch("/v1/customers/ext:c", { name: "D" });
    const ids = { external_id: "s3", customer_id: customer.id, plan_id: plan.id };
    await app.post("/v1/subscriptions", ids);
  });
});

test("workers close nothing and send nothing, and go on once it ends", async () => {
  await app.context.db.run(sql`
    update subscriptions
       set current_period_start = '2025-12-01', current_period_next = '2026-01-01'
     where external_id = 's'`);
  const looks = looksAtHold();
  const { stop } = startWorkers(app.context, app.connection);
  try {
    const own = new Hold({ db: app.context.db, log: pino({ level: "silent" }) });
    let ticks = 0;
    const tick = async () => ({ done: ++ticks, more: false });
    const any = { name: "any", description: "Nothing.", pause_ms: 1, tick };
    const job = own.unlessHeld(any);
    expect((await job.tick()).done).toBe(0);
    // Each job looks when it starts, and then one of them once a second: by then all had turns.
    const first = looks();
    await until(() => looks() >= first + 3, 15_000);
    expect([await count("invoices"), await count("webhook_attempts")]).toEqual([0, 0]);
    expect(receiver.received).toEqual([]);
    await hold(null);
    await until(
      () => receiver.received.some(({ body }) => body.event === "invoice.created"),
      15_000,
    );
    expect(await count("invoices")).toBe(1);
    expect((await job.tick()).done).toBe(1);
    // It has ended once and for all: nobody asks the database again.
    await hold(new Date(AT));
    expect((await job.tick()).done).toBe(2);
  } finally {
    await stop();
  }
});
