// An Idempotency-Key is no key to anything: whoever sends one that another token has used gets what
// it would get without it, and never the kept answer of what it may not see or do.

import { afterAll, expect, test } from "vitest";
import { initTenant } from "../../../src/service/first-tenant.ts";
import { type Body, type Json, startApp } from "../../support/app.ts";
import { Client, newProject } from "../../support/client.ts";
import {
  code,
  makeCustomer,
  makeInvoice,
  makeSubscription,
  paymentOf,
} from "../../support/records.ts";
import { expectError } from "../../support/shapes.ts";

const app = await startApp({ at: "2026-01-10T09:00:00.000Z" });
afterAll(() => app.close());

const own = new Client(app, { token: app.profile.token, project: app.profile.project_id });
const elsewhere = await newProject(app);
const stranger = await secondOrganization();
const writer = own.with({ token: await tokenOf(["write"]) });
const reader = own.with({ token: await tokenOf(["read"]) });
const sender = own.with({ token: await tokenOf(["events"]) });
const bound = own.with({ token: await tokenOf(["write"], [elsewhere.project]) });

async function secondOrganization(): Promise<Client> {
  const slugs = { org: "stranger", workspace: "main", project: "test" };
  const now = app.context.clock.now();
  const profile = await initTenant(app.context.db, slugs, "sandbox", "", now);
  return new Client(app, { token: profile.token, project: profile.project_id });
}

async function tokenOf(scopes: string[], project_ids?: string[]): Promise<string> {
  const { organization_id } = app.profile;
  const wanted = { name: "keyed", organization_id, scopes, ...(project_ids && { project_ids }) };
  return (await app.post("/v1/keys", wanted)).token;
}

type Keyed = readonly [method: string, path: string, body: Json];

/** Writes of every method, one with a secret in its answer and one that is empty. */
async function writes(): Promise<Keyed[]> {
  const { id } = await makeCustomer(writer);
  const subscription = await makeSubscription(writer);
  const { tax } = await writer.post("/v1/taxes", { code: code("tax"), name: "T", percent: "1" });
  const payment = paymentOf(await makeInvoice(writer), { amount_cents: 1 });
  const url = "https://hooks.example.com/dues";
  return [
    ["POST", "/v1/customers", { external_id: code("c"), name: "Acme" }],
    ["PATCH", `/v1/customers/${id}`, { name: "Changed" }],
    ["PUT", `/v1/customers/${id}/wallets/USD`, { low_balance_cents: 1 }],
    ["POST", "/v1/payments", payment],
    ["POST", "/v1/webhooks", { url, events: ["invoice.created"] }],
    ["POST", `/v1/customers/${id}/portal-links`, {}],
    ["DELETE", `/v1/taxes/${tax.id}`, undefined],
    ["POST", `/v1/subscriptions/${subscription.id}/terminate`, undefined],
  ];
}

test("who may not write, or has no such project, is refused as without the key", async () => {
  for (const [method, path, body] of await writes()) {
    const headers: Body = { "idempotency-key": code("key") };
    const first = await writer.call(method, path, body, headers);
    expect([path, first.status < 300]).toEqual([path, true]);
    const again = await writer.call(method, path, body, headers);
    expect([path, again.headers["idempotent-replayed"]]).toEqual([path, "true"]);
    for (const [client, status, refusal] of [
      [reader, 403, "forbidden"],
      [sender, 403, "forbidden"],
      [bound, 404, "not_found"],
      [stranger.with({ project: own.project }), 404, "not_found"],
      [own.with({ token: `${own.token.slice(0, -1)}_` }), 401, "unauthorized"],
    ] as const) {
      const refused = await client.call(method, path, body, headers);
      expectError(refused, status, refusal);
      expect(refused.headers).not.toHaveProperty("idempotent-replayed");
    }
  }
});

test("in a project of one's own the same request under the same key is a first one", async () => {
  for (const [method, path, body] of await writes()) {
    const headers: Body = { "idempotency-key": code("key") };
    const first = await writer.call(method, path, body, headers);
    for (const client of [elsewhere, stranger]) {
      const keyed = await client.call(method, path, body, headers);
      expect(keyed.headers).not.toHaveProperty("idempotent-replayed");
      // What the path or the body names is not there; what needs nothing else is made.
      const needsNothing = ["/v1/customers", "/v1/webhooks"].includes(path);
      expect([path, keyed.status]).toEqual([path, needsNothing ? 201 : 404]);
      const shown = JSON.stringify(keyed.body);
      for (const id of idsIn(first.body)) expect(shown).not.toContain(id);
    }
  }
});

/** What was made by the first request, and nobody else can have sent. */
function idsIn(body: Json): string[] {
  const [record] = Object.values(body ?? {}) as Json[];
  const { id, secret, url } = { ...body, ...(typeof record === "object" ? record : {}) };
  return [id, secret, body?.url && url].filter((one) => typeof one === "string");
}

test("outside of projects, another organization and who may not are answered anew", async () => {
  const path = "/v1/workspaces";
  const headers = { "idempotency-key": code("key"), "x-project-id": undefined };
  const body = { slug: code("w"), name: "W" };
  const first = await own.call("POST", path, body, headers);
  expect(first.status).toBe(201);
  for (const client of [reader, writer, sender]) {
    expectError(await client.call("POST", path, body, headers), 403, "forbidden");
  }
  const theirs = await stranger.call("POST", path, body, headers);
  expect([theirs.status, theirs.headers["idempotent-replayed"]]).toEqual([201, undefined]);
  expect(theirs.body.workspace.id).not.toBe(first.body.workspace.id);
});

test("a tool is refused to who may not write, under a key that has recorded a payment", async () => {
  const invoice = await makeInvoice(writer);
  const sent = paymentOf(invoice, { amount_cents: 1 });
  const params = { name: "record_payment", arguments: sent };
  const message = { jsonrpc: "2.0", id: 1, method: "tools/call", params };
  const headers = { "idempotency-key": code("key") };
  const first = await writer.call("POST", "/v1/mcp", message, headers);
  expect(first.body.result.isError).toBe(false);
  const refused = await reader.call("POST", "/v1/mcp", message, headers);
  expect(refused.body.result.isError).toBe(true);
  expect(JSON.parse(refused.body.result.content[0].text).error.code).toBe("forbidden");
});
