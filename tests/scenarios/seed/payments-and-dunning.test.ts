// Payments against invoices, invoices past their due date, and the reminders that follow.

import { beforeAll, describe, expect, test } from "vitest";
import { addDays } from "../../../src/domain/dates.ts";
import { type App, type Json, sharedApp } from "../../support/app.ts";
import { count, flatFee, type Sandbox, sandbox } from "../../support/given.ts";

let app: App;
beforeAll(async () => {
  app = await sharedApp();
});

/** One subscription, billed this once, at its start; the invoice falls due 14 days later. */
async function owing(at: string, amount_override_cents: number) {
  const story = await sandbox(app, at);
  const charges = [flatFee({ amount_override_cents, invoice_timing: "immediate" })];
  const plan = await story.plan({ charges });
  const customer = await story.customer();
  const subscription = await story.subscribe({ plan, customer });
  const [invoice] = await story.invoices();
  return { story, plan, customer, subscription, invoice };
}

const code = ({ status, body }: Json) => [status, body.error?.code];

describe("a payment", () => {
  test("in part leaves the rest due, and the last cent settles it (S100)", async () => {
    const { story, invoice } = await owing("2026-03-01", 10_000);
    expect((await story.pay(invoice, 4000)).status).toBe(201);
    expect(await story.invoice(invoice.id)).toMatchObject({
      status: "outstanding",
      payment_status: "partially_paid",
      total_cents: 10_000,
      amount_paid_cents: 4000,
      amount_due_cents: 6000,
    });
    expect((await story.pay(invoice, 6000)).status).toBe(201);
    expect(await story.invoice(invoice.id)).toMatchObject({
      status: "succeeded",
      payment_status: "succeeded",
      amount_due_cents: 0,
    });
    expect(code(await story.pay(invoice, 1))).toEqual([422, "invoice_already_paid"]);
    expect(await story.log("payment.recorded")).toHaveLength(2);
    expect(await story.log("invoice.paid")).toHaveLength(1);
  });

  test("of more than is due is refused and changes nothing (S101)", async () => {
    const { story, invoice } = await owing("2026-03-01", 10_000);
    expect(code(await story.pay(invoice, 10_001))).toEqual([422, "amount_exceeds_due"]);
    expect(await story.invoice(invoice.id)).toEqual(invoice);
    await story.pay(invoice, 4000);
    const partly = await story.invoice(invoice.id);
    expect(code(await story.pay(invoice, 6001))).toEqual([422, "amount_exceeds_due"]);
    expect(await story.invoice(invoice.id)).toEqual(partly);
    expect((await story.get("/v1/payments")).payments).toHaveLength(1);
  });

  test("of more than is due becomes credit when that is allowed (S101)", async () => {
    const { story, plan, customer, invoice } = await owing("2026-03-01", 10_000);
    await story.pay(invoice, 4000);
    const paid = await story.pay(invoice, 6001, { allow_overpayment: true });
    expect(paid.status).toBe(201);
    expect(await story.invoice(invoice.id)).toMatchObject({
      status: "succeeded",
      payment_status: "succeeded",
      amount_due_cents: 0,
    });
    await story.subscribe({ plan, customer });
    const [, next] = await story.invoices();
    expect(next).toMatchObject({
      total_cents: 10_000,
      credit_applied_cents: 1,
      amount_due_cents: 9999,
      status: "outstanding",
    });
  });

  test("reported again is the same payment, and another one is not (S102)", async () => {
    const { story, plan, invoice } = await owing("2026-03-01", 10_000);
    await story.subscribe({ plan });
    const [, other] = await story.invoices();
    const ref = { provider: "stripe", provider_payment_id: "pi_1" };
    const first = await story.pay(invoice, 4000, ref);
    const again = await story.pay(invoice, 4000, ref);
    expect([first.status, again.status]).toEqual([201, 200]);
    expect(again.body.payment).toEqual(first.body.payment);
    expect((await story.pay(invoice, 5000, ref)).status).toBe(409);
    expect((await story.pay(other, 4000, ref)).status).toBe(409);
    expect((await story.pay(invoice, 1000, { ...ref, provider: "bank" })).status).toBe(201);
    expect(await story.invoice(invoice.id)).toMatchObject({ amount_due_cents: 5000 });
    expect(await story.invoice(other.id)).toEqual(other);
    const told = await story.webhooks("payment.succeeded");
    expect(told.map((data) => data.payment.amount_cents)).toEqual([4000, 1000]);
  });

  test("reported ten times at once is one payment (S102)", async () => {
    const { story, invoice } = await owing("2026-03-01", 10_000);
    const ref = { provider: "stripe", provider_payment_id: "pi_1" };
    const answers = await Promise.all(
      Array.from({ length: 10 }, () => story.pay(invoice, 4000, ref)),
    );
    const statuses = answers.map(({ status }) => status).sort();
    expect(statuses).toEqual([...Array.from({ length: 9 }, () => 200), 201]);
    expect(new Set(answers.map(({ body }) => body.payment.id)).size).toBe(1);
    expect(await story.invoice(invoice.id)).toMatchObject({ amount_due_cents: 6000 });
    expect(await story.webhooks("payment.succeeded")).toHaveLength(1);
  });

  test("in another currency, or of no whole positive amount, is refused (S104)", async () => {
    const { story, invoice } = await owing("2026-03-01", 10_000);
    expect((await story.pay(invoice, 100, { currency: "EUR" })).status).toBe(422);
    for (const amount of [-5, "100", 1.5, 0]) {
      expect((await story.pay(invoice, amount)).status).toBe(422);
    }
    expect(await story.invoice(invoice.id)).toEqual(invoice);
    expect((await story.get("/v1/payments")).payments).toEqual([]);
  });
});

describe("credit", () => {
  test("belongs to one customer and one currency, and is used up once (R12)", async () => {
    const { story, customer, invoice } = await owing("2026-03-01", 10_000);
    await story.pay(invoice, 10_700, { allow_overpayment: true });
    const euros = await story.addOn({ amount_cents: 500, currency: "EUR" });
    const dollars = await story.addOn({ amount_cents: 500, currency: "USD" });
    await story.apply(euros, customer);
    await story.apply(dollars, await story.customer());
    await story.apply(dollars, customer);
    await story.apply(dollars, customer);
    await story.apply(dollars, customer);
    const [, ...later] = await story.invoices();
    expect(later.map((one) => [one.credit_applied_cents, one.amount_due_cents])).toEqual([
      [0, 500],
      [0, 500],
      [500, 0],
      [200, 300],
      [0, 500],
    ]);
    expect(later[2]).toMatchObject({ status: "succeeded", payment_status: "succeeded" });
    expect(later[3]).toMatchObject({ status: "outstanding", payment_status: "pending" });
  });

  test("is spent once where two subscriptions of a customer close together (R12)", async () => {
    const { story, customer, invoice } = await owing("2026-03-01", 10_000);
    await story.pay(invoice, 10_700, { allow_overpayment: true });
    const plan = await story.plan({ amount_cents: 500 });
    await story.subscribe({ plan, customer });
    await story.subscribe({ plan, customer });
    await story.travelTo("2026-04-01");
    const [, ...closed] = await story.invoices();
    expect(closed.map((one) => [one.credit_applied_cents, one.amount_due_cents])).toEqual([
      [500, 0],
      [200, 300],
    ]);
  });
});

const STEPS = [
  { days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" },
  { days_after_due: 7, webhook_event: "invoice.payment_overdue_reminder_2" },
  { days_after_due: 14, webhook_event: "subscription.suspend_requested" },
  { days_after_due: 30, webhook_event: "subscription.terminate_requested" },
];

const remind = (story: Sandbox) => story.ok("PUT", "/v1/dunning", { enabled: true, steps: STEPS });

/** The steps so far: which, on what day, how many days after the due date. */
async function stepsOf(story: Sandbox): Promise<Json[]> {
  const fired = await story.log("dunning.step_fired");
  return fired.map(({ payload, created_at }) => [
    payload.webhook_event,
    created_at.slice(0, 10),
    payload.days_overdue,
  ]);
}

describe("an unpaid invoice", () => {
  test("is overdue from the day after its due date, logged once (S106)", async () => {
    const { story, invoice } = await owing("2026-03-01", 9900);
    expect(invoice).toMatchObject({ issuing_date: "2026-03-01", due_date: "2026-03-15" });
    await story.travelTo("2026-03-15T23:59:59.999");
    expect(await story.invoice(invoice.id)).toMatchObject({ status: "outstanding" });
    await story.travelTo("2026-03-16");
    expect(await story.invoice(invoice.id)).toMatchObject({
      status: "overdue",
      payment_status: "pending",
    });
    await story.travelTo("2026-07-01");
    const [logged, ...others] = await story.log("invoice.overdue");
    expect(others).toEqual([]);
    expect(logged).toMatchObject({
      resource_id: invoice.id,
      created_at: "2026-03-16T00:00:00.000Z",
    });
  });

  test.each([
    { at: "2026-03-01", days: ["2026-03-18", "2026-03-22", "2026-03-29", "2026-04-14"] },
    { at: "2028-01-31", days: ["2028-02-17", "2028-02-21", "2028-02-28", "2028-03-15"] },
  ])("of $at is reminded of on its days, each once (S107)", async ({ at, days }) => {
    const { story, subscription } = await owing(at, 9900);
    await remind(story);
    const report = await story.travelTo(`${at.slice(0, 4)}-09-01`);
    expect(await stepsOf(story)).toEqual(
      STEPS.map((step, i) => [step.webhook_event, days[i], step.days_after_due]),
    );
    expect(report.dunning_steps).toBe(4);
    for (const { webhook_event, days_after_due } of STEPS) {
      expect(count(report, webhook_event)).toBe(1);
      const [data, ...others] = await story.webhooks(webhook_event);
      expect(others).toEqual([]);
      expect(data.days_overdue ?? data.overdue_invoice.days_overdue).toBe(days_after_due);
    }
    expect(await story.subscription(subscription.id)).toMatchObject({ status: "active" });
  });

  test("paid while overdue is settled, and no further step comes (S105)", async () => {
    const { story, invoice } = await owing("2026-03-01", 9900);
    await remind(story);
    await story.travelTo("2026-03-23");
    expect(await story.invoice(invoice.id)).toMatchObject({ status: "overdue" });
    await story.pay(invoice, 9900);
    expect(await story.invoice(invoice.id)).toMatchObject({
      status: "succeeded",
      payment_status: "succeeded",
    });
    await story.travelTo("2026-07-01");
    expect(await stepsOf(story)).toHaveLength(2);
    expect(await story.invoice(invoice.id)).toMatchObject({ status: "succeeded" });
  });

  test("paid after the first reminder gets only that one (S108)", async () => {
    const { story, invoice } = await owing("2026-03-01", 9900);
    await remind(story);
    await story.travelTo("2026-03-20");
    await story.pay(invoice, 9900);
    await story.travelTo("2026-07-01");
    expect(await stepsOf(story)).toEqual([["invoice.payment_overdue_reminder_1", "2026-03-18", 3]]);
  });

  test("is overdue without dunning too, and nobody is told (S110)", async () => {
    const { story, invoice } = await owing("2026-03-01", 9900);
    await story.ok("PUT", "/v1/dunning", { enabled: false, steps: STEPS });
    const report = await story.travelTo("2026-03-16");
    expect(await story.invoice(invoice.id)).toMatchObject({ status: "overdue" });
    const later = await story.travelTo("2026-07-01");
    expect([report.dunning_steps, later.dunning_steps]).toEqual([0, 0]);
    for (const { webhook_event } of STEPS) expect(await story.webhooks(webhook_event)).toEqual([]);
    expect(await stepsOf(story)).toEqual([]);
  });

  test("paid in part stays overdue and is reminded of further (S150)", async () => {
    const { story, invoice } = await owing("2026-03-01", 9900);
    await remind(story);
    await story.travelTo("2026-03-20");
    await story.pay(invoice, 1);
    expect(await story.invoice(invoice.id)).toMatchObject({
      status: "overdue",
      payment_status: "partially_paid",
      amount_due_cents: 9899,
    });
    const report = await story.travelTo("2026-03-22");
    expect(count(report, "invoice.payment_overdue_reminder_2")).toBe(1);
    await story.pay(invoice, 9899);
    expect(await story.invoice(invoice.id)).toMatchObject({
      status: "succeeded",
      payment_status: "succeeded",
    });
    await story.travelTo("2026-07-01");
    expect(await stepsOf(story)).toHaveLength(2);
  });

  test("has its steps spaced from the day on which dunning begins late (R14)", async () => {
    const { story } = await owing("2026-03-01", 9900);
    await story.travelTo("2026-05-10T15:00");
    await remind(story);
    await story.travelTo("2026-05-12");
    // Other steps begin nothing anew.
    const [first, second, ...rest] = STEPS;
    await story.ok("PUT", "/v1/dunning", {
      enabled: true,
      steps: [first, { ...second, days_after_due: 8 }, ...rest],
    });
    await story.travelTo("2026-07-01");
    expect(await stepsOf(story)).toEqual([
      ["invoice.payment_overdue_reminder_1", "2026-05-13", 59],
      ["invoice.payment_overdue_reminder_2", "2026-05-18", 64],
      ["subscription.suspend_requested", "2026-05-24", 70],
      ["subscription.terminate_requested", "2026-06-09", 86],
    ]);
  });

  test("that is due again has its steps spaced from that day (R14)", async () => {
    const { story, invoice } = await owing("2026-02-01", 9900);
    await remind(story);
    const { payment } = (await story.pay(invoice, 9900)).body;
    await story.travelTo("2026-03-25T09:00");
    await story.post("/v1/refunds", {
      payment_id: payment.id,
      amount_cents: 9900,
      provider_refund_id: "chargeback-1",
    });
    expect(await story.invoice(invoice.id)).toMatchObject({ status: "overdue" });
    const types = ["invoice.reopened", "invoice.overdue"];
    for (const type of types) expect(await story.log(type)).toHaveLength(1);
    await story.travelTo("2026-06-01");
    expect((await stepsOf(story)).map(([, day]) => day)).toEqual([
      "2026-03-28",
      "2026-04-01",
      "2026-04-08",
      "2026-04-24",
    ]);
  });

  test("of an add-on is reminded of, and asks for no suspension (R14)", async () => {
    const story = await sandbox(app, "2026-03-01");
    await remind(story);
    await story.apply(await story.addOn({ amount_cents: 2500 }), await story.customer());
    await story.travelTo("2026-07-01");
    expect(await stepsOf(story)).toEqual([
      ["invoice.payment_overdue_reminder_1", "2026-03-18", 3],
      ["invoice.payment_overdue_reminder_2", "2026-03-22", 7],
    ]);
  });
});

describe("a receiver that does what it is asked", () => {
  /** Nobody pays; each request is answered by the call that it asks for, day by day. */
  async function dunned(from: string, to: string, invoice_timing: string) {
    const story = await sandbox(app, from);
    await remind(story);
    const charges = [flatFee({ amount_override_cents: 5000, invoice_timing })];
    const subscription = await story.subscribe({ amount_cents: 3100, charges });
    const asked: string[] = [];
    for (let day = addDays(from, 1); day <= to; day = addDays(day, 1)) {
      const { events } = await story.travelTo(day);
      for (const { event } of events) {
        if (event.endsWith("_requested")) asked.push(`${day} ${event.slice(13)}`);
        if (event === "subscription.suspend_requested") await story.suspend(subscription);
        if (event === "subscription.terminate_requested") await story.terminate(subscription);
      }
    }
    return { story, subscription, asked };
  }

  test("ends the subscription once, and nothing is billed after that (R14)", async () => {
    const { story, subscription, asked } = await dunned("2026-01-01", "2026-07-01", "arrears");
    expect(asked).toEqual(["2026-03-01 suspend_requested", "2026-03-17 terminate_requested"]);
    expect(await story.subscription(subscription.id)).toMatchObject({
      status: "terminated",
      terminated_at: "2026-03-17T00:00:00.000Z",
    });
    // January, February, and the flat fee of the suspended March.
    expect(await story.totals()).toEqual([8100, 8100, 5000]);
    const reminders = (await stepsOf(story)).filter(([event]) => event.includes("reminder"));
    expect(reminders).toHaveLength(2 * 3);
  });

  test("is not asked for one that its owner has ended (R14)", async () => {
    const story = await sandbox(app, "2026-01-01");
    await remind(story);
    const subscription = await story.subscribe({ amount_cents: 3100 });
    await story.travelTo("2026-01-20");
    await story.terminate(subscription);
    await story.travelTo("2026-05-01");
    expect((await stepsOf(story)).map(([event]) => event)).toEqual([
      "invoice.payment_overdue_reminder_1",
      "invoice.payment_overdue_reminder_2",
    ]);
    expect(await story.totals()).toEqual([1900]);
  });

  test("is not asked again once the one that was ended has returned (R14)", async () => {
    const story = await sandbox(app, "2026-01-01");
    await remind(story);
    const subscription = await story.subscribe({ amount_cents: 3100 });
    await story.travelTo("2026-01-20");
    await story.terminate(subscription);
    await story.travelTo("2026-03-20");
    await story.setStatus(subscription, "active");
    await story.travelTo("2026-04-10");
    const events = (await stepsOf(story)).map(([event]) => event);
    expect(events.filter((event) => event.startsWith("subscription."))).toEqual([]);
  });
});
