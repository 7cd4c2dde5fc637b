// Idempotency-Key: the same request under the same key happens once, whatever the network does.

import { afterAll, expect, test } from "vitest";
import { sql } from "../../../src/store/db/sql.ts";
import { lock } from "../../../src/store/tenants/idempotency.ts";
import { type Body, startApp } from "../../support/app.ts";
import { newProject } from "../../support/client.ts";
import { code, makeAddOn, makeCustomer, makeSubscription } from "../../support/records.ts";
import { expectError } from "../../support/shapes.ts";

const app = await startApp({ at: "2026-01-10T09:00:00.000Z" });
afterAll(() => app.close());

const keyed = (key: string): Body => ({ "idempotency-key": key });

test("a repeat gets the first answer, byte for byte, and says so", async () => {
  const body = { external_id: code("c"), name: "Acme" };
  const headers = keyed(code("key"));
  const first = await app.call("POST", "/v1/customers", body, headers);
  expect(first.status).toBe(201);
  expect(first.headers).not.toHaveProperty("idempotent-replayed");
  await app.patch(`/v1/customers/${first.body.customer.id}`, { name: "Changed" });
  const again = await app.call("POST", "/v1/customers", body, headers);
  expect([again.status, again.body]).toEqual([201, first.body]);
  expect(again.headers["idempotent-replayed"]).toBe("true");
  expect(again.headers["content-type"]).toBe(first.headers["content-type"]);
});

test("another request under the same key is a conflict", async () => {
  const headers = keyed(code("key"));
  const body = { external_id: code("c"), name: "Acme" };
  await app.ok("POST", "/v1/customers", body, headers);
  const others = [
    app.call("POST", "/v1/customers", { ...body, name: "Other" }, headers),
    app.call("POST", "/v1/catalog", { code: "x", name: "X", amount_cents: 1 }, headers),
  ];
  for (const answer of await Promise.all(others)) {
    // Both may meet each other at the lock, which is the other honest answer.
    expect(answer.status).toBe(409);
    expect(answer.body.error.code).toMatch(/^idempotency_(conflict|in_flight)$/);
  }
  const alone = await app.call("POST", "/v1/customers", { ...body, name: "Other" }, headers);
  expectError(alone, 409, "idempotency_conflict");
});

test("an advance of the clock under one key happens once, however the clock moves on", async () => {
  const other = await newProject(app, "2026-01-01T00:00:00.000Z");
  await makeSubscription(other);
  const headers = keyed(code("key"));
  const to = { to: "2026-02-01T00:00:00.000Z" };
  const first = await other.call("POST", "/v1/clock/advance", to, headers);
  await other.post("/v1/clock/advance", { to: "2026-03-15T00:00:00.000Z" });
  const again = await other.call("POST", "/v1/clock/advance", to, headers);
  expect([again.status, again.body]).toEqual([200, first.body]);
  expect(again.headers["idempotent-replayed"]).toBe("true");
  const later = { to: "2026-04-01T00:00:00.000Z" };
  expectError(
    await other.call("POST", "/v1/clock/advance", later, headers),
    409,
    "idempotency_conflict",
  );
});

test("an answer to a batch that is too long to be kept says so, and events count once", async () => {
  const events = Array.from({ length: 10_000 }, () => ({ transaction_id: 5 }));
  const answer = await app.call("POST", "/v1/events/batch", { events }, keyed(code("key")));
  expectError(answer, 422, "validation_error");
  expect(answer.body.error.message).toMatch(/too long to be kept .* without Idempotency-Key/);
});

test("a request that was refused leaves its key free", async () => {
  const headers = keyed(code("key"));
  const external_id = code("c");
  expectError(await app.call("POST", "/v1/customers", {}, headers), 422, "validation_error");
  const made = await app.call("POST", "/v1/customers", { external_id, name: "A" }, headers);
  expect(made.status).toBe(201);
});

test("keys belong to a project: another one may use the same", async () => {
  const other = await newProject(app);
  const headers = keyed(code("key"));
  const body = { external_id: code("c"), name: "Acme" };
  const here = await app.call("POST", "/v1/customers", body, headers);
  const there = await other.call("POST", "/v1/customers", body, headers);
  expect([here.status, there.status]).toEqual([201, 201]);
  expect(there.body.customer.id).not.toBe(here.body.customer.id);
});

test("PATCH and DELETE are repeated too, and an empty answer stays empty", async () => {
  const subscription = await makeSubscription(app);
  const path = `/v1/subscriptions/${subscription.id}`;
  const change = { properties: { seats: 1 } };
  const patchKey = keyed(code("key"));
  const first = await app.call("PATCH", path, change, patchKey);
  await app.patch(path, { properties: { seats: 2 } });
  expect((await app.call("PATCH", path, change, patchKey)).body).toEqual(first.body);
  const addOn = await makeAddOn(app);
  const deleteKey = keyed(code("key"));
  for (let i = 0; i < 2; i++) {
    const gone = await app.call("DELETE", `/v1/addons/${addOn.id}`, undefined, deleteKey);
    expect([gone.status, gone.body]).toEqual([204, ""]);
  }
});

test("eight at once make one invoice; the others are told to try again, or get its answer", async () => {
  const [addOn, customer] = [await makeAddOn(app), await makeCustomer(app)];
  const body = { customer_id: customer.id };
  const headers = keyed(code("key"));
  const apply = () => app.call("POST", `/v1/addons/${addOn.id}/apply`, body, headers);
  const answers = await Promise.all(Array.from({ length: 8 }, apply));
  const made = answers.filter(({ status }) => status === 201);
  expect(made.length).toBeGreaterThan(0);
  const ids = new Set(made.map((answer) => answer.body.applied_add_on.id));
  expect(ids.size).toBe(1);
  for (const answer of answers.filter(({ status }) => status !== 201)) {
    expectError(answer, 409, "idempotency_in_flight");
    expect(answer.body.error.retryable).toBe(true);
    expect(answer.headers["retry-after"]).toBe("1");
  }
  expect((await apply()).body).toEqual(made[0]?.body);
  const { invoices } = await app.get(`/v1/invoices?customer_id=${customer.id}`);
  expect(invoices).toHaveLength(1);
});

test("while a request runs under a key, another one is told so", async () => {
  const key = code("key");
  const { db } = app.context;
  const body = { external_id: code("c"), name: "Acme" };
  await db.tx(async (tx) => {
    expect(await lock(tx, app.profile.project_id, key)).toBe(true);
    const answer = await app.call("POST", "/v1/customers", body, keyed(key));
    expectError(answer, 409, "idempotency_in_flight");
  });
  expect((await app.call("POST", "/v1/customers", body, keyed(key))).status).toBe(201);
});

test("a key has 1 to 255 characters", async () => {
  const body = () => ({ external_id: code("c"), name: "Acme" });
  const send = (key: string) => app.call("POST", "/v1/customers", body(), keyed(key));
  expect((await send("k".repeat(255))).status).toBe(201);
  const refused = await send("k".repeat(256));
  expectError(refused, 422, "validation_error");
  expect(refused.body.error.details[0].field).toBe("Idempotency-Key");
});

test("an answer with a webhook secret is repeated, and kept unreadable", async () => {
  const body = { url: "https://hooks.example.com/dues", events: ["invoice.created"] };
  const headers = keyed(code("key"));
  const first = await app.call("POST", "/v1/webhooks", body, headers);
  expect(first.status).toBe(201);
  const again = await app.call("POST", "/v1/webhooks", body, headers);
  expect([again.status, again.body]).toEqual([201, first.body]);
  const kept = await app.context.db.many<{ body: string }>(sql`select body from idempotency_keys`);
  expect(JSON.stringify(kept)).not.toContain(first.body.webhook_endpoint.secret);
});
