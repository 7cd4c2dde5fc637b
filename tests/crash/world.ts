// An organization whose project has a bit of everything: what the crash tests start from. Made
// through the API.

import { sql } from "../../src/store/db/sql.ts";
import type { App, Json } from "../support/app.ts";
import { makeAccount, makeMoney } from "./world-money.ts";

export type World = {
  readonly organization: string;
  readonly project: string;
  /** The token that it was made with. */
  readonly token_id: string;
  readonly ids: Readonly<Record<string, string>>;
};

const START = "2025-01-10T09:00:00.000Z";
/** In the second period of every subscription, before the invoices of the first are overdue. */
export const WORLD_NOW = "2025-02-15T12:00:00.000Z";

export async function makeWorld(app: App): Promise<World> {
  await app.freeze(START);
  const ids: Record<string, string> = {};
  await makeCatalog(app, ids);
  await makeUnused(app, ids);
  const told = { url: "https://hooks.example.com/told", events: ["invoice.created"] };
  ids.endpoint = (await app.post("/v1/webhooks", told)).webhook_endpoint.id;
  for (const name of ["c1", "c2", "c3"]) {
    const { customer } = await app.post("/v1/customers", {
      external_id: name,
      name: `Customer ${name}`,
      email: `${name}@example.com`,
      currency: "USD",
    });
    ids[name] = customer.id;
  }
  for (let i = 1; i <= 8; i++) {
    const { subscription } = await app.post("/v1/subscriptions", {
      external_id: `s${i}`,
      customer_id: ids[`c${1 + (i % 3)}`],
      plan_id: ids.pro,
      properties: { seats: i },
    });
    ids[`s${i}`] = subscription.id;
    await use(app, `s${i}`, "2025-01-10T10:00:00.000Z", String(100 * i));
  }
  await makePriced(app, ids);
  await makeAccount(app, ids);
  await app.travelTo("2025-02-10T08:00:00.000Z");
  await app.post("/v1/subscriptions/ext:s6/suspend");
  await app.post("/v1/subscriptions/ext:s7/terminate");
  await app.patch("/v1/subscriptions/ext:s8", { status: "canceled" });
  await app.travelTo(WORLD_NOW);
  await makeLateUsage(app);
  await makeCredit(app, ids);
  await makeMoney(app, ids);
  ids.attempt = await giveUpOne(app);
  return makeRest(app, ids);
}

/** A view to be purged, a token to be revoked, and a project in which nothing has happened. */
async function makeRest(app: App, ids: Record<string, string>): Promise<World> {
  const { organization_id: organization, project_id: project } = app.profile;
  await app.get(`/v1/portal/${ids.c2}`);
  const spare = { name: "spare", organization_id: organization, scopes: ["read"] };
  const { id: spare_token } = await app.post("/v1/keys", spare);
  const wanted = { workspace: "main", slug: "empty", mode: "sandbox" };
  const { project: empty } = await app.post("/v1/projects", wanted);
  const { token } = await app.get("/v1/keys/me");
  const all = { ...ids, organization, spare_token, empty: empty.id };
  return { organization, project, token_id: token.id, ids: all };
}

async function makeCatalog(app: App, ids: Record<string, string>): Promise<void> {
  for (const [code, aggregation_type] of Object.entries({ calls: "sum", users: "count_unique" })) {
    const metric = { code, name: code, aggregation_type, field_name: "n" };
    ids[code] = (await app.post("/v1/metrics", metric)).metric.id;
  }
  for (const [code, amount_cents] of Object.entries({ seat: 500, setup: 2_000 })) {
    const item = { code, name: code, amount_cents, currency: "USD" };
    ids[code] = (await app.post("/v1/catalog", item)).catalog_item.id;
  }
  const usage = [
    { charge_model: "standard", billable_metric_code: "calls", properties: { amount: "0.25" } },
    { charge_model: "standard", billable_metric_code: "users", properties: { amount: "2" } },
  ];
  const seats = {
    charge_model: "flat_fee",
    catalog_item_code: "seat",
    quantity_from: "subscription_property.seats",
  };
  const setup = { charge_model: "flat_fee", catalog_item_code: "setup" };
  const plans: Record<string, Json[]> = {
    pro: [...usage, seats],
    onboarding: [{ ...setup, invoice_timing: "immediate" }],
    spare: [],
  };
  for (const [code, charges] of Object.entries(plans)) {
    const { plan } = await app.post("/v1/plans", {
      code,
      name: code,
      interval: "monthly",
      amount_cents: 1_000,
      amount_currency: "USD",
      charges: charges.map((charge) => ({ invoice_timing: "arrears", ...charge })),
    });
    ids[code] = plan.id;
  }
  const boost = { code: "boost", name: "Boost", amount_cents: 700, currency: "USD" };
  ids.boost = (await app.post("/v1/addons", boost)).add_on.id;
}

/** A plan with all that pricing has, and subscriptions that start, run and change by it. */
async function makePriced(app: App, ids: Record<string, string>): Promise<void> {
  const named = (code: string) => ({ code, name: code, field_name: "n" });
  const tokens = { ...named("tokens"), aggregation_type: "sum", dimensions: ["model"] };
  const disk = { ...named("disk"), aggregation_type: "weighted_sum", weighted_by: "hour" };
  ids.tokens = (await app.post("/v1/metrics", tokens)).metric.id;
  ids.disk = (await app.post("/v1/metrics", disk)).metric.id;
  const tiers = [
    { up_to: "100", rate: "0.1", flat_amount: "5" },
    { up_to: null, rate: "0.05" },
  ];
  const prices = [{ match: { model: "large" }, rate: "0.10" }];
  const seats = { catalog_ref: "seat", quantity_from: "subscription_property.seats" };
  const scale = {
    code: "scale",
    name: "Scale",
    interval: "monthly",
    amount_cents: 3_000,
    amount_currency: "USD",
    minimum_cents: 5_000,
    base_timing: "advance",
    charges: [
      { type: "graduated", metric_ref: "calls", tiers },
      { type: "standard", metric_ref: "tokens", rate: "0.02", prices, minimum_cents: 300 },
      { type: "standard", metric_ref: "disk", rate: "0.01" },
      { type: "flat_fee", ...seats, quantity_mode: "prorated" },
    ],
  };
  ids.scale = (await app.post("/v1/plans", scale)).plan.id;
  const starts: Record<string, Json> = {
    p1: {},
    p2: { billing_time: "anniversary", trial_days: 7 },
    p3: { starts_at: "2025-03-20T00:00:00.000Z" },
    p4: { overrides: { amount_cents: 100 }, ends_at: "2025-02-20T00:00:00.000Z" },
    p5: { trial_days: 100 },
  };
  for (const [external_id, terms] of Object.entries(starts)) {
    const owned = { external_id, customer_id: ids.c2, plan_id: ids.scale };
    await app.post("/v1/subscriptions", { ...owned, properties: { seats: 2 }, ...terms });
  }
  await usePriced(app, "2025-01-11T00:00:00.000Z");
}

async function usePriced(app: App, timestamp: string): Promise<void> {
  const uses: Json[] = [
    { code: "calls", properties: { n: "120" } },
    { code: "tokens", properties: { n: "50", model: "large" } },
    { code: "tokens", properties: { n: "7" } },
    { code: "disk", properties: { n: "3" } },
  ];
  const events = ["p1", "p2", "p4"].flatMap((name) =>
    uses.map((use, i) => ({
      transaction_id: `${name} ${i} ${timestamp}`,
      subscription_id: `ext:${name}`,
      timestamp,
      ...use,
    })),
  );
  await app.post("/v1/events/batch", { events });
}

/** What may be archived, as nothing refers to it. */
async function makeUnused(app: App, ids: Record<string, string>): Promise<void> {
  const metric = { code: "unused", name: "Unused", aggregation_type: "count" };
  ids.unused_metric = (await app.post("/v1/metrics", metric)).metric.id;
  const item = { code: "unused", name: "Unused", amount_cents: 100, currency: "USD" };
  ids.unused_item = (await app.post("/v1/catalog", item)).catalog_item.id;
  ids.unused_addon = (await app.post("/v1/addons", item)).add_on.id;
}

/** A message that no endpoint took, as the deliverers leave it; the id of its attempt. */
async function giveUpOne(app: App): Promise<string> {
  const { id } = await app.context.db.one<{ id: string }>(sql`
    with taken as (
      delete from webhook_queue
       where project_id = ${app.profile.project_id}
         and message_id = (
           select min(message_id::text)::uuid
             from webhook_queue
            where project_id = ${app.profile.project_id})
      returning project_id, endpoint_id, message_id)
    insert into webhook_attempts (project_id, id, endpoint_id, message_id, event, attempt,
                                  status, error, duration_ms, created_at)
    select project_id, gen_random_uuid(), endpoint_id, message_id, 'payment.succeeded', 1,
           'failed', 'timeout', 10000, ${new Date(WORLD_NOW)}
      from taken
    returning id`);
  return id;
}

/** A correction upwards, one far enough down to become credit, one of an ended subscription. */
async function makeLateUsage(app: App): Promise<void> {
  await use(app, "s1", "2025-01-21T00:00:00.000Z", "40");
  await use(app, "s2", "2025-01-21T00:00:00.000Z", "-190");
  await use(app, "s7", "2025-02-01T00:00:00.000Z", "8");
  await usePriced(app, "2025-01-25T06:00:00.000Z");
  for (let i = 1; i <= 5; i++) await use(app, `s${i}`, "2025-02-12T00:00:00.000Z", String(i));
}

async function makeCredit(app: App, ids: Record<string, string>): Promise<void> {
  for (const name of ["s3", "s4"]) {
    const { invoices } = await app.get(`/v1/invoices?customer_id=${ids[ownerOf(name)]}&all=1`);
    const found = invoices.find((one: Json) => one.subscription_id === ids[name]);
    ids[`${name}_invoice`] = found.id;
    ids[`${name}_due`] = String(found.amount_due_cents);
  }
  await app.post("/v1/payments", {
    invoice_id: ids.s3_invoice,
    amount_cents: Number(ids.s3_due) + 300,
    currency: "USD",
    provider: "bank",
    provider_payment_id: "earlier",
    allow_overpayment: true,
  });
}

function ownerOf(subscription: string): string {
  return `c${1 + (Number(subscription.slice(1)) % 3)}`;
}

async function use(app: App, subscription: string, timestamp: string, n: string): Promise<void> {
  for (const code of ["calls", "users"]) {
    await app.post("/v1/events", {
      transaction_id: `${subscription} ${code} ${timestamp}`,
      subscription_id: `ext:${subscription}`,
      code,
      timestamp,
      properties: { n },
    });
  }
}
