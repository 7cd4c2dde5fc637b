// The portal's data: what a stranger with the link sees, how long it is kept, and what drops it.

import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { apiServer } from "../../src/service/api-server.ts";
import { initTenant } from "../../src/service/first-tenant.ts";
import { type App, type Json, startApp } from "../support/app.ts";
import { perUnit, type Sandbox, sandbox } from "../support/given.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

const STRANGER = { authorization: undefined, "x-project-id": undefined };

function portal(id: string, query = "") {
  return app.call("GET", `/v1/portal/${id}${query}`, undefined, STRANGER);
}

async function cacheOf(id: string, query = ""): Promise<unknown> {
  const { status, headers } = await portal(id, query);
  expect(status).toBe(200);
  return headers["x-portal-cache"];
}

async function usedUp(project: Sandbox) {
  const metric = await project.metric("sum", { code: "calls", name: "API calls" });
  const plan = await project.plan({
    code: "pro",
    amount_cents: 2_900,
    charges: [perUnit(metric, "0.25")],
  });
  const customer = await project.customer({ name: "Blue Ltd", email: "billing@blue.test" });
  const subscription = await project.subscribe({ plan, customer, external_id: "blue-1" });
  await project.use(subscription, metric, "400", "2025-01-10T12:00");
  await project.use(subscription, metric, "30.5", "2025-01-11T08:00");
  return { metric, plan, customer, subscription };
}

describe("what it shows", () => {
  test("subscriptions with usage so far, invoices, payments and totals, and nothing more", async () => {
    const project = await sandbox(app, "2025-01-10T09:00");
    const { customer, subscription, metric } = await usedUp(project);
    await project.travelTo("2025-02-03T00:00");
    await project.use(subscription, metric, "8", "2025-02-02T12:00");
    const [invoice] = await project.invoices();
    await project.pay(invoice, 1_000, { provider_payment_id: "secret-reference" });

    const { body } = await portal(customer.id);
    const [shown] = body.invoices;
    expect(body).toEqual({
      customer: {
        id: customer.id,
        short_id: customer.short_id,
        name: "Blue Ltd",
        email: "b***@blue.test",
        currency: "USD",
      },
      subscriptions: [
        {
          id: subscription.id,
          external_id: "blue-1",
          status: "active",
          plan: {
            code: "pro",
            name: "pro",
            interval: "monthly",
            amount_cents: 2_900,
            amount_currency: "USD",
          },
          current_period_start: "2025-02-01T00:00:00.000Z",
          current_period_end: "2025-02-28T23:59:59.999Z",
          trial_ends_at: null,
          ends_at: null,
          usage: [{ code: "calls", name: "API calls", units: "8", amount_cents: 200 }],
        },
      ],
      invoices: [
        {
          id: invoice.id,
          number: "INV-2025-0001",
          status: "outstanding",
          payment_status: "partially_paid",
          invoice_type: "subscription",
          currency: "USD",
          subtotal_cents: invoice.total_cents,
          discount_cents: 0,
          tax_cents: 0,
          total_cents: invoice.total_cents,
          credit_applied_cents: 0,
          offset_cents: 0,
          part_count: 1,
          amount_paid_cents: 1_000,
          amount_due_cents: invoice.total_cents - 1_000,
          issuing_date: "2025-02-01",
          due_date: "2025-02-15",
          period_start: "2025-01-10",
          period_end: "2025-01-31",
          payment_url: null,
        },
      ],
      payments: [
        {
          id: expect.any(String),
          invoice_number: "INV-2025-0001",
          amount_cents: 1_000,
          refunded_cents: 0,
          currency: "USD",
          provider: "bank",
          status: "succeeded",
          paid_at: "2025-02-03T00:00:00.000Z",
        },
      ],
      credit_notes: [],
      wallets: [],
      totals: {
        outstanding_cents: shown.amount_due_cents,
        overdue_cents: 0,
        currency: "USD",
        by_currency: [
          { currency: "USD", outstanding_cents: shown.amount_due_cents, overdue_cents: 0 },
        ],
      },
      generated_at: "2025-02-03T00:00:00.000Z",
    });
    const text = JSON.stringify(body);
    expect(text).not.toContain(project.project_id);
    expect(text).not.toContain(app.profile.organization_id);
    expect(text).not.toContain("secret-reference");
    expect(text).not.toContain("billing@");
  });

  test("what is due in other currencies than the customer's stands beside it", async () => {
    const project = await sandbox(app, "2025-01-01");
    const customer = await project.customer({ currency: "EUR" });
    await project.apply(await project.addOn({ amount_cents: 1_000, currency: "USD" }), customer);
    const { totals } = (await portal(customer.id)).body;
    expect(totals).toEqual({
      outstanding_cents: 0,
      overdue_cents: 0,
      currency: "EUR",
      by_currency: [{ currency: "USD", outstanding_cents: 1_000, overdue_cents: 0 }],
    });
  });

  test("a note beside a payment is the owner's: strangers see what the provider calls it", async () => {
    const project = await sandbox(app, "2025-01-01");
    const customer = await project.customer();
    const lines = [{ name: "Setup", unit_amount_cents: 1_000 }];
    await project.post("/v1/invoices", { customer_id: customer.id, lines });
    const [invoice] = await project.invoices();
    const reference = "dispute threatened, do not ship";
    await project.pay(invoice, 100, { provider_payment_id: "BANK-1", reference });
    const path = `/portal/${customer.id}/invoices/${invoice.number}`;
    const page = await app.call("GET", path, undefined, STRANGER);
    expect(page.body).toContain("BANK-1");
    expect(page.body).not.toContain("dispute");
    const own = await project.call("GET", `/v1/invoices/${invoice.id}/document`);
    expect(own.body).toContain(reference);
    expect(JSON.stringify((await portal(customer.id)).body)).not.toContain("dispute");
  });

  test("what is overdue is told apart, and a void invoice is not due", async () => {
    const project = await sandbox(app, "2025-01-01");
    const customer = await project.customer();
    const addOn = await project.addOn({ amount_cents: 500, currency: "USD" });
    await project.apply(addOn, customer);
    await project.travelTo("2025-01-20");
    await project.apply(addOn, customer);
    await project.apply(addOn, customer);
    const last = (await project.invoices()).at(-1);
    await project.post(`/v1/invoices/${last.id}/void`);
    const { body } = await portal(customer.id);
    const due = { outstanding_cents: 1_000, overdue_cents: 500, currency: "USD" };
    expect(body.totals).toEqual({ ...due, by_currency: [due] });
    expect(body.invoices.map((each: Json) => each.status)).toEqual([
      "voided",
      "outstanding",
      "overdue",
    ]);
  });

  test("only the newest fifty invoices and payments", async () => {
    const project = await sandbox(app, "2025-01-01");
    const customer = await project.customer();
    const addOn = await project.addOn({ amount_cents: 1, currency: "USD" });
    for (let i = 0; i < 52; i++) await project.apply(addOn, customer);
    for (const invoice of await project.invoices()) await project.pay(invoice, 1);
    const { body } = await portal(customer.id);
    expect(body.invoices).toHaveLength(50);
    expect(body.payments).toHaveLength(50);
    expect(body.invoices[0].number).toBe("INV-2025-0052");
    expect(body.payments[0].invoice_number).toBe("INV-2025-0052");
  });

  test("an id that is no canonical UUID, or nobody's, is a 404", async () => {
    const project = await sandbox(app, "2025-01-10");
    const customer = await project.customer({ external_id: "mine" });
    const ids = ["ext:mine", customer.short_id, customer.id.toUpperCase(), randomUUID(), "x"];
    for (const id of ids) {
      const { status, body } = await portal(id);
      expect([id, status, body.error.code]).toEqual([id, 404, "not_found"]);
    }
  });

  test("it is not to be stored, indexed or framed, and any origin may read it", async () => {
    const project = await sandbox(app, "2025-01-10");
    const { headers } = await portal((await project.customer()).id);
    expect(headers).toMatchObject({
      "cache-control": "no-store",
      "x-robots-tag": "noindex",
      "referrer-policy": "no-referrer",
      "x-content-type-options": "nosniff",
      "content-security-policy": expect.stringContaining("default-src 'none'"),
      "access-control-allow-origin": "*",
    });
    const other = await app.call("GET", "/v1/customers", undefined, {
      origin: "https://elsewhere.test",
    });
    expect(other.headers).not.toHaveProperty("access-control-allow-origin");
  });
});

describe("how long it is kept", () => {
  test("the first read computes it, the next is the same view, also after a change", async () => {
    const project = await sandbox(app, "2025-01-10");
    const customer = await project.customer();
    const first = await portal(customer.id);
    expect(first.headers["x-portal-cache"]).toBe("miss");
    const addOn = await project.addOn({ amount_cents: 500, currency: "USD" });
    await project.apply(addOn, customer);
    // What is misspelled is refused, and computes nothing anew.
    expect((await portal(customer.id, "?refersh=1")).status).toBe(422);
    const second = await portal(customer.id);
    expect(second.headers["x-portal-cache"]).toBe("hit");
    expect(second.body).toEqual(first.body);
    const fresh = await portal(customer.id, "?refresh=1");
    expect(fresh.headers["x-portal-cache"]).toBe("miss");
    expect(fresh.body.invoices).toHaveLength(1);
    const third = await portal(customer.id);
    expect(third.headers["x-portal-cache"]).toBe("hit");
    expect(third.body).toEqual(fresh.body);
  });

  test("a change of the customer drops it, and of nobody else", async () => {
    const project = await sandbox(app, "2025-01-10");
    const one = await project.customer();
    const other = await project.customer();
    for (const { id } of [one, other]) await portal(id);
    await project.patch(`/v1/customers/${one.id}`, { name: "Renamed" });
    const { headers, body } = await portal(one.id);
    expect([headers["x-portal-cache"], body.customer.name]).toEqual(["miss", "Renamed"]);
    expect(await cacheOf(other.id)).toBe("hit");
  });

  test("a refused change keeps it", async () => {
    const project = await sandbox(app, "2025-01-10");
    const { id } = await project.customer();
    await portal(id);
    expect((await project.call("PATCH", `/v1/customers/${id}`, {})).status).toBe(422);
    expect(await cacheOf(id)).toBe("hit");
  });

  test("it lives for thirty days of the project's clock", async () => {
    const project = await sandbox(app, "2025-01-01");
    const { id } = await project.customer();
    await portal(id);
    await project.travelTo("2025-01-30T23:59:59.999Z");
    expect(await cacheOf(id)).toBe("hit");
    await project.travelTo("2025-01-31");
    expect(await cacheOf(id)).toBe("miss");
    expect(await cacheOf(id)).toBe("hit");
  });

  test("a second server on the same database gives the same view and sees the purge", async () => {
    const project = await sandbox(app, "2025-01-10");
    const { id } = await project.customer();
    const readiness = { draining: false, schema_version: 0, warnings: [] };
    const second = apiServer(app.context, readiness);
    const read = async () => {
      const answer = await second.fastify.inject({ method: "GET", url: `/v1/portal/${id}` });
      return answer.headers["x-portal-cache"];
    };
    await portal(id);
    expect(await read()).toBe("hit");
    await project.ok("DELETE", `/v1/portal-cache/${id}`);
    expect(await read()).toBe("miss");
    expect(await cacheOf(id)).toBe("hit");
    await second.fastify.close();
  });
});

describe("purges", () => {
  test("one customer's view, logged, and repeatable", async () => {
    const project = await sandbox(app, "2025-01-10");
    const { id } = await project.customer();
    await portal(id);
    const answer = await project.call("DELETE", `/v1/portal-cache/${id}`);
    expect([answer.status, answer.body]).toEqual([200, { purged: true, customer_id: id }]);
    expect(await cacheOf(id)).toBe("miss");
    const [entry] = await project.log("portal_cache.purged");
    expect(entry).toMatchObject({ resource_type: "portal_cache", resource_id: id });
    expect(entry.actor_token_id).not.toBeNull();
  });

  test("all views of the project in the header, and of no other", async () => {
    const project = await sandbox(app, "2025-01-10");
    const neighbour = await sandbox(app, "2025-01-10");
    const mine = [await project.customer(), await project.customer()];
    const theirs = await neighbour.customer();
    for (const { id } of [...mine, theirs]) await portal(id);
    expect(await project.ok("DELETE", "/v1/portal-cache")).toEqual({ purged: true, count: 2 });
    expect(await project.ok("DELETE", "/v1/portal-cache")).toEqual({ purged: true, count: 0 });
    for (const { id } of mine) expect(await cacheOf(id)).toBe("miss");
    expect(await cacheOf(theirs.id)).toBe("hit");
    expect((await project.log("portal_cache.purged"))[0].payload).toEqual({ count: 2 });
  });

  test("without the header, all views of the organization and of no other", async () => {
    const project = await sandbox(app, "2025-01-10");
    const neighbour = await sandbox(app, "2025-01-10");
    const ids = [(await project.customer()).id, (await neighbour.customer()).id];
    await app.call("DELETE", "/v1/portal-cache", undefined, { "x-project-id": undefined });
    for (const id of ids) await portal(id);
    const none = { "x-project-id": undefined };
    const answer = await app.call("DELETE", "/v1/portal-cache", undefined, none);
    expect([answer.status, answer.body]).toEqual([200, { purged: true, count: 2 }]);
    for (const id of ids) expect(await cacheOf(id)).toBe("miss");
  });

  test("a customer of another project is as unknown as nobody, and keeps its view", async () => {
    const project = await sandbox(app, "2025-01-10");
    const neighbour = await sandbox(app, "2025-01-10");
    const { id } = await neighbour.customer();
    await portal(id);
    for (const each of [id, randomUUID()]) {
      const { status, body } = await project.call("DELETE", `/v1/portal-cache/${each}`);
      expect([status, body]).toEqual([200, { purged: true, customer_id: each }]);
    }
    expect(await cacheOf(id)).toBe("hit");
    expect((await project.call("DELETE", "/v1/portal-cache/x")).status).toBe(404);
  });

  test("another organization purges nothing of ours, with or without a header", async () => {
    const project = await sandbox(app, "2025-01-10");
    const { id } = await project.customer();
    await portal(id);
    const slugs = { org: "rival", workspace: "main", project: "main" };
    const now = app.context.clock.now();
    const rival = await initTenant(app.context.db, slugs, "sandbox", "", now);
    for (const header of [undefined, rival.project_id]) {
      const as = { authorization: `Bearer ${rival.token}`, "x-project-id": header };
      const one = await app.call("DELETE", `/v1/portal-cache/${id}`, undefined, as);
      expect([one.status, one.body]).toEqual([200, { purged: true, customer_id: id }]);
      const all = await app.call("DELETE", "/v1/portal-cache", undefined, as);
      expect([all.status, all.body]).toEqual([200, { purged: true, count: 0 }]);
    }
    expect(await cacheOf(id)).toBe("hit");
    expect(await project.log("portal_cache.purged")).toEqual([]);
  });

  test("need a token with the scope write", async () => {
    const { organization_id } = app.profile;
    const wanted = { name: "reader", organization_id, scopes: ["read"] };
    const { token } = await app.post("/v1/keys", wanted);
    for (const path of ["/v1/portal-cache", `/v1/portal-cache/${randomUUID()}`]) {
      const reader = { authorization: `Bearer ${token}` };
      expect((await app.call("DELETE", path, undefined, reader)).status).toBe(403);
      expect((await app.call("DELETE", path, undefined, STRANGER)).status).toBe(401);
    }
  });
});
