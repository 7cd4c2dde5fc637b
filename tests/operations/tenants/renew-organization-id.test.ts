// A renewed id of an organization: what it ends, and what goes on.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { initTenant, renewOrganization } from "../../../src/service/first-tenant.ts";
import { type App, startApp, testConfig } from "../../support/app.ts";
import { expectError } from "../../support/shapes.ts";

const NOBODY = { authorization: undefined, "x-project-id": undefined };

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

const ask = (organization_id: string) =>
  app.call("POST", "/v1/keys", { name: "k", organization_id }, NOBODY);

const renew = (slug: string) => {
  const { db, clock, config } = app.context;
  return renewOrganization(db, slug, { ...config, database_url: "postgres://" }, clock.now());
};

test("the old id makes no tokens, the new one does, and everything else stays", async () => {
  const old = app.profile.organization_id;
  const { customer } = await app.post("/v1/customers", { external_id: "a", name: "A" });
  expect((await ask(old)).status).toBe(201);

  const { organization_id } = await renew("acme");
  expect(organization_id).not.toBe(old);
  expectError(await ask(old), 404, "not_found");
  const made = await ask(organization_id);
  expect(made.status).toBe(201);
  const headers = { authorization: `Bearer ${made.body.token}` };
  const url = `/v1/customers/${customer.id}`;
  expect((await app.call("GET", url, undefined, headers)).body.customer).toEqual(customer);
  expect((await app.call("GET", url)).status).toBe(200);
  expect((await app.get("/v1/keys/me")).organization.id).toBe(organization_id);

  const second = (await renew("acme")).organization_id;
  expectError(await ask(organization_id), 404, "not_found");
  expectError(await ask(old), 404, "not_found");
  expect((await ask(second)).status).toBe(201);
});

test("it is told in the log, without an id that makes tokens", async () => {
  const { organization_id } = await renew("acme");
  const { billing_events } = await app.get(
    "/v1/billing-events?event_type=organization.id_renewed&all=1",
  );
  expect(billing_events[0]).toMatchObject({ actor_token_id: null, payload: { slug: "acme" } });
  expect(JSON.stringify(billing_events)).not.toContain(organization_id);
});

test("init finds the organization as before and shows the id that is good now", async () => {
  const { organization_id } = await renew("acme");
  const slugs = { org: "acme", workspace: "main", project: "test" };
  const found = await initTenant(app.context.db, slugs, "sandbox", "", app.context.clock.now());
  expect(found).toMatchObject({ organization_id, project_id: app.profile.project_id });
});

test("an unknown slug is refused in words", async () => {
  await expect(renew("nobody")).rejects.toThrow('No organization has the slug "nobody".');
});

test("the profile of the embedded database knows the new id", async () => {
  const folder = mkdtempSync(join(tmpdir(), "dues-renew-"));
  try {
    const slugs = { org: "default", workspace: "default", project: "default" };
    const { db, clock } = app.context;
    const profile = await initTenant(db, slugs, "sandbox", "http://x", clock.now());
    const file = join(folder, "dev.json");
    writeFileSync(file, JSON.stringify(profile));
    const config = testConfig({ DUES_DATA: folder });
    const { organization_id } = await renewOrganization(db, "default", config, clock.now());
    expect(JSON.parse(readFileSync(file, "utf8"))).toEqual({ ...profile, organization_id });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
