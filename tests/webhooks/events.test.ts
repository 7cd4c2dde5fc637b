// Each of the events as a receiver gets it: the raw body against the catalogue, field by field, and
// both signatures computed anew from the bytes.

import { execFileSync } from "node:child_process";
import { createHmac } from "node:crypto";
import { Webhook } from "standardwebhooks";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { verifyWebhook } from "../../src/client/webhooks.ts";
import { WEBHOOK_EVENTS } from "../../src/schema/webhooks.ts";
import { startWorkers } from "../../src/workers/start.ts";
import { type App, type Json, startApp } from "../support/app.ts";
import { register } from "../support/courier.ts";
import { flatFee, Sandbox, sandbox } from "../support/given.ts";
import { type Received, Receiver } from "../support/receiver.ts";

type Parts = Record<string, readonly string[] | "integer" | "text">;

const REMINDER: Parts = {
  invoice: [
    ...["id", "number", "status", "total_cents", "amount_due_cents", "currency"],
    ...["issuing_date", "due_date"],
  ],
  customer: ["id", "external_id", "name", "email"],
  days_overdue: "integer",
};
const REQUEST: Parts = {
  subscription: ["id", "external_id", "plan_code", "status"],
  customer: ["id", "external_id", "email"],
  overdue_invoice: ["id", "number", "total_cents", "amount_due_cents", "days_overdue"],
};
const SUBSCRIPTION: Parts = {
  subscription: [
    "id",
    "external_id",
    "plan_code",
    "status",
    "current_period_start",
    "current_period_end",
  ],
  customer: ["id", "external_id"],
};
const INVOICE = [
  ...["id", "number", "status", "payment_status", "total_cents", "currency"],
  ...["amount_due_cents", "due_date", "payment_url"],
];
const CUSTOMER = ["id", "external_id", "name", "email"];
const CATALOGUE: Record<string, Parts> = {
  "invoice.created": {
    invoice: [
      "id",
      "number",
      "status",
      "payment_status",
      "invoice_type",
      "currency",
      ...["subtotal_cents", "discount_cents", "tax_cents", "total_cents"],
      ...["credit_applied_cents", "offset_cents", "amount_paid_cents", "overpaid_cents"],
      ...["written_off_cents", "amount_due_cents"],
      "issuing_date",
      "due_date",
      "period_start",
      "period_end",
      ...["part_count", "subscription_count", "coupons", "taxes", "payment_url"],
      ...["parts", "fees"],
    ],
    customer: ["id", "external_id", "name", "email"],
    subscription: ["id", "external_id", "plan_code"],
  },
  "payment.succeeded": {
    payment: [
      "id",
      "invoice_id",
      "amount_cents",
      "currency",
      "provider",
      "provider_payment_id",
      "paid_at",
    ],
    invoice: [
      ...["id", "number", "status", "payment_status", "total_cents", "amount_due_cents"],
      "currency",
    ],
    customer: ["id", "external_id"],
  },
  "subscription.started": SUBSCRIPTION,
  "subscription.trial_ended": SUBSCRIPTION,
  "subscription.plan_changed": { ...SUBSCRIPTION, previous_plan_code: "text" },
  "subscription.period_renewed": { ...SUBSCRIPTION, previous_period: ["start", "end"] },
  "subscription.terminated": SUBSCRIPTION,
  "addon.applied": {
    applied_add_on: ["id", "add_on_code", "add_on_name", "amount_cents", "currency", "applied_at"],
    invoice: ["id", "number", "total_cents", "currency", "invoice_type", "amount_due_cents"],
    customer: ["id", "external_id"],
  },
  "invoice.payment_due": { invoice: INVOICE, customer: CUSTOMER },
  "credit_note.created": {
    credit_note: [
      ...["id", "number", "invoice_id", "invoice_number", "customer_id", "currency"],
      ...["subtotal_cents", "tax_cents", "total_cents", "offset_cents", "refund_cents"],
      ...["refunded_cents", "credit_cents", "reason", "memo", "issuing_date", "created_at"],
      ...["taxes", "lines"],
    ],
    invoice: INVOICE,
    customer: CUSTOMER,
  },
  "payment.refunded": {
    refund: [
      ...["id", "payment_id", "invoice_id", "credit_note_id", "amount_cents", "currency"],
      ...["provider", "provider_refund_id", "refunded_at", "created_at"],
    ],
    payment: [
      ...["id", "invoice_id", "amount_cents", "currency", "provider", "provider_payment_id"],
      ...["reference", "status", "paid_at", "refunded_cents", "created_at"],
    ],
    invoice: INVOICE,
    customer: CUSTOMER,
  },
  "subscription.billing_failed": { ...SUBSCRIPTION, reason: "text" },
  "wallet.balance_low": {
    wallet: [
      ...["customer_id", "currency", "balance_cents", "running_cents", "available_cents"],
      ...["low_balance_cents", "top_up_cents"],
    ],
    customer: CUSTOMER,
  },
  "invoice.payment_overdue_reminder_1": REMINDER,
  "invoice.payment_overdue_reminder_2": REMINDER,
  "subscription.suspend_requested": REQUEST,
  "subscription.terminate_requested": REQUEST,
};
const FEE = [
  ...["id", "part", "subscription_id"],
  "fee_type",
  "billable_metric_code",
  "units",
  "amount_cents",
  "amount_currency",
  "properties",
  ...["discount_cents", "taxable_cents", "taxes"],
];
const STEPS = [
  { days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" },
  { days_after_due: 7, webhook_event: "invoice.payment_overdue_reminder_2" },
  { days_after_due: 14, webhook_event: "subscription.suspend_requested" },
  { days_after_due: 30, webhook_event: "subscription.terminate_requested" },
];
/** Invoice at the start, add-on (2), payment, renewal, the steps of the one that stays unpaid. */
const OF_MONEY = 9;
/** Told of a second project, in which nothing is billed. */
const OF_CHANGES = [
  "subscription.started",
  "subscription.trial_ended",
  "subscription.plan_changed",
  "subscription.terminated",
  "subscription.billing_failed",
];
/** Told of a third, in which money is given back. */
const OF_CREDIT = [
  "invoice.payment_due",
  "credit_note.created",
  "payment.refunded",
  "wallet.balance_low",
];
const EXPECTED = OF_MONEY + OF_CHANGES.length + OF_CREDIT.length;

let app: App;
let receiver: Receiver;
let secret: string;
let changesSecret: string;
let creditSecret: string;
let stop: () => Promise<void>;
let story: Sandbox;
let facts: { customer: Json; subscription: Json; unpaid: Json };

beforeAll(async () => {
  app = await startApp({ at: "2026-03-01T00:00:00.000Z" });
  receiver = await Receiver.start();
  const apart = [...OF_CHANGES, ...OF_CREDIT];
  const others = WEBHOOK_EVENTS.filter((event) => !apart.includes(event));
  secret = (await register(app, receiver.url(), others)).secret;
  ({ stop } = startWorkers(app.context, app.connection));
  story = new Sandbox(app, app.profile.project_id);
  await story.ok("PUT", "/v1/dunning", { enabled: true, steps: STEPS });
  const charges = [flatFee({ amount_override_cents: 9900, invoice_timing: "immediate" })];
  const plan = await story.plan({ code: "pro", interval: "quarterly", charges });
  const customer = await story.customer({ external_id: "acme", name: "Ácme ☂ 株式会社" });
  const subscription = await story.subscribe({ plan, customer, external_id: "acme-pro" });
  const addOn = await story.addOn({ amount_cents: 2500, currency: "USD", code: "setup" });
  await story.apply(addOn, customer);
  const [unpaid, setup] = await story.invoices();
  await story.pay(setup, 2500);
  facts = { customer, subscription, unpaid };
  await receiver.until(4);
  await story.travelTo("2026-06-01");
  await receiver.until(OF_MONEY);
  changesSecret = await playChanges();
  creditSecret = await playCredit();
  await receiver.until(EXPECTED);
});

/** Starts later, with a trial; changes its plan; ends; another cannot be billed. */
async function playChanges(): Promise<string> {
  const other = await sandbox(app, "2026-03-01");
  const endpoint = { url: receiver.url(), events: OF_CHANGES };
  const { webhook_endpoint } = await other.post("/v1/webhooks", endpoint);
  const [lite, pro] = [await other.plan({ code: "lite" }), await other.plan({ code: "pro" })];
  const starts = { starts_at: "2026-03-05T08:00:00Z", trial_days: 2 };
  const { id } = await other.subscribe({ plan: lite, ...starts });
  await other.travelTo("2026-03-10");
  await other.patch(`/v1/subscriptions/${id}`, { plan_id: pro.id });
  await other.post(`/v1/subscriptions/${id}/terminate`);
  await other.subscribe({ plan: lite });
  const seats = flatFee({ amount_override_cents: 100, seats: true });
  await other.patch(`/v1/plans/${lite.id}`, { charges: [seats] });
  await other.travelTo("2026-05-01");
  return webhook_endpoint.secret;
}

/** An invoice, paid, credited and refunded; a wallet that is low from the start. */
async function playCredit(): Promise<string> {
  const other = await sandbox(app, "2026-03-01");
  const endpoint = { url: receiver.url(), events: OF_CREDIT };
  const { webhook_endpoint } = await other.post("/v1/webhooks", endpoint);
  const customer = await other.customer();
  const lines = [{ name: "Workshop", unit_amount_cents: 1000 }];
  const { invoice } = await other.post("/v1/invoices", { customer_id: customer.id, lines });
  await other.pay(invoice, 1000);
  const { payments } = await other.get("/v1/payments");
  const note = { invoice_id: invoice.id, refund_cents: 1000 };
  const { credit_note } = await other.post("/v1/credit-notes", note);
  await other.post("/v1/refunds", {
    payment_id: payments[0].id,
    amount_cents: 1000,
    provider_refund_id: "r1",
    credit_note_id: credit_note.id,
  });
  await other.ok("PUT", `/v1/customers/${customer.id}/wallets/USD`, { low_balance_cents: 1 });
  return webhook_endpoint.secret;
}

function secretOf(event: string): string {
  if (OF_CREDIT.includes(event)) return creditSecret;
  return OF_CHANGES.includes(event) ? changesSecret : secret;
}

afterAll(async () => {
  await stop();
  await receiver.close();
  await app.close();
});

function one(event: string): Received {
  const found = receiver.received.find(({ body }) => body.event === event);
  if (found === undefined) throw new Error(`${event} has not come in.`);
  return found;
}

describe.each(WEBHOOK_EVENTS)("%s", (event) => {
  test("carries exactly the fields of the catalogue", () => {
    const { raw, body } = one(event);
    expect(Object.keys(body)).toEqual(["event", "created_at", "data"]);
    expect(body.created_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    const wanted = CATALOGUE[event] ?? {};
    expect(Object.keys(body.data)).toEqual(Object.keys(wanted));
    for (const [part, fields] of Object.entries(wanted)) {
      if (fields === "integer") expect(Number.isInteger(body.data[part])).toBe(true);
      else if (fields === "text") expect(body.data[part]).toBeTypeOf("string");
      else expect(Object.keys(body.data[part])).toEqual(fields);
    }
    for (const fee of body.data.invoice?.fees ?? []) expect(Object.keys(fee)).toEqual(FEE);
    expect(raw.toString()).not.toContain("undefined");
  });

  test("is signed over its raw bytes, both ways", async () => {
    const { raw, headers } = one(event);
    const secret = secretOf(event);
    expect(headers["x-service-event"]).toBe(event);
    expect(headers["content-type"]).toBe("application/json; charset=utf-8");
    expect(headers["x-service-signature"]).toBe(
      createHmac("sha256", Buffer.from(secret)).update(raw).digest("hex"),
    );
    const id = String(headers["webhook-id"]);
    const at = String(headers["webhook-timestamp"]);
    const key = Buffer.from(secret.replace("whsec_", ""), "base64");
    expect(key).toHaveLength(32);
    const signed = createHmac("sha256", key).update(`${id}.${at}.`).update(raw).digest("base64");
    expect(headers["webhook-signature"]).toBe(`v1,${signed}`);
    expect(await verifyWebhook(raw, headers, secret)).toEqual(JSON.parse(raw.toString()));
    const theirs = new Webhook(secret).verify(raw.toString(), headers as Record<string, string>);
    expect(theirs).toEqual(JSON.parse(raw.toString()));
  });
});

test("the openssl command computes the same signature from the captured bytes", () => {
  const { raw, headers } = one("invoice.created");
  const printed = execFileSync("openssl", ["dgst", "-sha256", "-hmac", secret, "-hex"], {
    input: raw,
  });
  expect(printed.toString().trim().split("= ").at(-1)).toBe(headers["x-service-signature"]);
});

test("a byte changed, another secret or an old time is not verified", async () => {
  const { raw, headers } = one("invoice.created");
  const changed = Buffer.from(raw);
  changed[changed.length - 2] = (changed.at(-2) ?? 0) ^ 1;
  const other = `whsec_${Buffer.alloc(32, 7).toString("base64")}`;
  const later = new Date(Number(headers["webhook-timestamp"]) * 1000 + 301_000);
  await expect(verifyWebhook(changed, headers, secret)).rejects.toThrow("signature");
  await expect(verifyWebhook(raw, headers, other)).rejects.toThrow("signature");
  await expect(verifyWebhook(raw, headers, secret, { now: later })).rejects.toThrow(
    "off our clock",
  );
  expect((await verifyWebhook(raw, headers, [other, secret])).event).toBe("invoice.created");
});

test("each comes once, with the values of what happened", () => {
  const { customer, subscription, unpaid } = facts;
  expect(receiver.codes().toSorted()).toEqual([...WEBHOOK_EVENTS, "invoice.created"].toSorted());
  expect(new Set(receiver.ids()).size).toBe(EXPECTED);
  const created = receiver.received.filter(({ body }) => body.event === "invoice.created");
  const [start, setup] = created.map(({ body }) => body.data);
  expect(start.customer).toEqual({
    id: customer.id,
    external_id: "acme",
    name: "Ácme ☂ 株式会社",
    email: customer.email,
  });
  expect(start.subscription).toEqual({
    id: subscription.id,
    external_id: "acme-pro",
    plan_code: "pro",
  });
  const { fees, id, number, total_cents } = unpaid;
  expect(start.invoice).toMatchObject({ id, number, status: "outstanding", total_cents: 9900 });
  expect(start.invoice.fees).toHaveLength(fees.length);
  expect(setup).toMatchObject({ invoice: { invoice_type: "addon" }, subscription: null });
  expect(one("subscription.terminate_requested").body.data).toEqual({
    subscription: {
      id: subscription.id,
      external_id: "acme-pro",
      plan_code: "pro",
      status: "active",
    },
    customer: { id: customer.id, external_id: "acme", email: customer.email },
    overdue_invoice: { id, number, total_cents, amount_due_cents: 9900, days_overdue: 30 },
  });
  expect(one("invoice.payment_overdue_reminder_1").body.data).toMatchObject({
    invoice: { id, status: "overdue", due_date: "2026-03-15" },
    days_overdue: 3,
  });
  expect(one("subscription.period_renewed").body.data.previous_period).toEqual({
    start: "2026-03-01T00:00:00.000Z",
    end: "2026-03-31T23:59:59.999Z",
  });
});
