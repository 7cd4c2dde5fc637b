// A few months of one customer, in which everything happens that endpoints are told.

import { vi } from "vitest";
import { TEST_EVENT, WEBHOOK_EVENTS } from "../../src/schema/webhooks.ts";
import { sql } from "../../src/store/db/sql.ts";
import type { App, Json } from "../support/app.ts";
import { flatFee, type Sandbox, sandbox } from "../support/given.ts";

const STEPS = [
  { days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" },
  { days_after_due: 7, webhook_event: "invoice.payment_overdue_reminder_2" },
  { days_after_due: 14, webhook_event: "subscription.suspend_requested" },
  { days_after_due: 30, webhook_event: "subscription.terminate_requested" },
];

/** Plays it in a sandbox, and gives the first body of each event. */
export async function playEveryEvent(app: App): Promise<Map<string, string>> {
  const story = await sandbox(app, "2026-01-01");
  await story.ok("PUT", "/v1/dunning", { enabled: true, steps: STEPS });
  const customer = await story.customer({
    external_id: "acme",
    name: "Acme Ltd",
    email: "billing@acme.example",
  });
  const subscription = await playFirstMonth(story, customer);
  await playMoney(story, customer);
  await playDunning(story, subscription);
  await playUnbillable(story);
  const tested = await testMessage(app, story);
  return vi.waitFor(async () => {
    const { webhook_messages } = await story.get("/v1/webhook-messages?all=1");
    const bodies = new Map<string, string>([[TEST_EVENT, tested]]);
    for (const { event, body } of webhook_messages) {
      if (!bodies.has(event)) bodies.set(event, body);
    }
    // The feed shows a message once no older write is under way.
    const missing = WEBHOOK_EVENTS.filter((event) => !bodies.has(event));
    if (missing.length > 0) throw new Error(`The story does not have ${missing.join(", ")}.`);
    return bodies;
  }, 10_000);
}

/** A trial, a first paid month with usage, and its invoice. */
async function playFirstMonth(story: Sandbox, customer: Json): Promise<Json> {
  const metric = await story.metric("sum", { code: "api_calls", name: "API calls" });
  const charges = [
    { charge_model: "standard", billable_metric_id: metric.id, properties: { amount: "0.05" } },
  ];
  const plan = await story.plan({ code: "pro", name: "Pro", amount_cents: 2900, charges });
  const subscription = await story.subscribe({
    plan,
    customer,
    external_id: "acme-pro",
    starts_at: "2026-01-05",
    trial_days: 7,
  });
  await story.travelTo("2026-01-20");
  await story.use(subscription, metric, "400");
  await story.travelTo("2026-02-01");
  return subscription;
}

/** The invoice is paid; an add-on is paid, credited and paid back; a wallet is low. */
async function playMoney(story: Sandbox, customer: Json): Promise<void> {
  const [first] = await story.invoices();
  await story.pay(first, first?.amount_due_cents, { provider_payment_id: "pay_1001" });
  const addOn = await story.addOn({ code: "setup", name: "Setup", amount_cents: 2500 });
  await story.apply(addOn, customer);
  const setup = (await story.invoices()).find((each) => each.invoice_type === "addon");
  await story.pay(setup, 2500, { provider_payment_id: "pay_1002" });
  const { payments } = await story.get(`/v1/payments?invoice_id=${setup?.id}`);
  const note = { invoice_id: setup?.id, refund_cents: 2500 };
  const { credit_note } = await story.post("/v1/credit-notes", note);
  await story.post("/v1/refunds", {
    payment_id: payments[0].id,
    credit_note_id: credit_note.id,
    amount_cents: 2500,
    provider_refund_id: "re_2001",
  });
  const wallet = { low_balance_cents: 1000 };
  await story.ok("PUT", `/v1/customers/${customer.id}/wallets/USD`, wallet);
}

/** Another plan; its invoice stays unpaid; the customer leaves. */
async function playDunning(story: Sandbox, subscription: Json): Promise<void> {
  const scale = await story.plan({ code: "scale", name: "Scale", amount_cents: 9900 });
  await story.change(subscription, scale);
  await story.travelTo("2026-04-20");
  await story.terminate(subscription);
}

/** A plan begins to ask for seats, and a subscription has none. */
async function playUnbillable(story: Sandbox): Promise<void> {
  const customer = await story.customer({ external_id: "globex", name: "Globex" });
  const plan = await story.plan({ code: "team", name: "Team", amount_cents: 1900 });
  await story.subscribe({ plan, customer, external_id: "globex-team" });
  const seats = flatFee({ amount_override_cents: 500, seats: true });
  await story.patch(`/v1/plans/${plan.id}`, { charges: [seats] });
  await story.travelTo("2026-06-01");
}

/** A test message goes to one endpoint, and is not among the messages of the project. */
async function testMessage(app: App, story: Sandbox): Promise<string> {
  const endpoint = { url: "https://example.com/webhooks/dues", events: ["invoice.created"] };
  const { webhook_endpoint } = await story.post("/v1/webhooks", endpoint);
  await story.post(`/v1/webhooks/${webhook_endpoint.id}/test`);
  const { body } = await app.context.db.one<{ body: string }>(sql`
    select body
      from webhook_messages
     where project_id = ${story.project_id} and event = ${TEST_EVENT}`);
  return body;
}
