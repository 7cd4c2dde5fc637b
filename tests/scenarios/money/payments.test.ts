// What is given up, refunds with and without a note, invoices that open again, and the link to pay.

import { describe, expect, test } from "vitest";
import type { Json } from "../../support/app.ts";
import type { Sandbox } from "../../support/given.ts";
import {
  balanceOf,
  ledgerOf,
  note,
  noted,
  oneOff,
  outcome,
  paid,
  refund,
  settings,
  standing,
  stories,
  told,
  topUp,
  voidInvoice,
} from "../../support/money.ts";

const { begin } = stories();

const STEPS = [
  { days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" },
  { days_after_due: 7, webhook_event: "invoice.payment_overdue_reminder_2" },
];

const writeOff = (story: Sandbox, { id }: Json) =>
  story.call("POST", `/v1/invoices/${id}/write-off`);

describe("a write-off", () => {
  test("M104 gives up what is due, and payments take from it", async () => {
    const story = await begin("2026-03-01");
    await story.ok("PUT", "/v1/dunning", { enabled: true, steps: STEPS });
    const invoice = await oneOff(story, await story.customer(), "10000");
    await paid(story, invoice, 2500);
    await story.travelTo("2026-03-19");
    expect((await story.invoice(invoice.id)).status).toBe("overdue");
    expect(await story.log("dunning.step_fired")).toHaveLength(1);
    expect(outcome(await writeOff(story, invoice))).toBe("200");
    const given_up = [
      "subtotal 10000, total 10000, paid 2500, written off 7500",
      "uncollectible, partially_paid",
    ];
    expect(await standing(story, invoice)).toEqual(given_up);
    expect(await story.get("/v1/analytics")).toMatchObject({
      outstanding_total_cents: 0,
      outstanding_invoice_count: 0,
    });
    await story.travelTo("2026-04-19");
    expect(await story.log("dunning.step_fired")).toHaveLength(1);
    expect(outcome(await writeOff(story, invoice))).toBe("200");
    expect(await standing(story, invoice)).toEqual(given_up);
    expect(await story.log("invoice.written_off")).toHaveLength(1);
    expect(outcome(await story.pay(invoice, 7501))).toBe("422 amount_exceeds_due");
    await paid(story, invoice, 500);
    expect(await standing(story, invoice)).toEqual([
      "subtotal 10000, total 10000, paid 3000, written off 7000",
      "uncollectible, partially_paid",
    ]);
    await paid(story, invoice, 7000);
    expect(await standing(story, invoice)).toEqual([
      "subtotal 10000, total 10000, paid 10000",
      "succeeded, succeeded",
    ]);
    expect(outcome(await writeOff(story, invoice))).toBe("422 invoice_already_paid");
  });

  test("M104 also: is ended by a void, and refused for what has none", async () => {
    const story = await begin("2026-03-01");
    const customer = await story.customer();
    const invoice = await oneOff(story, customer, "1000");
    expect((await writeOff(story, invoice)).body.invoice.written_off_cents).toBe(1000);
    expect(outcome(await voidInvoice(story, invoice))).toBe("200");
    expect(await standing(story, invoice)).toEqual([
      "subtotal 1000, total 1000",
      "voided, pending",
    ]);
    expect(outcome(await writeOff(story, invoice))).toBe("422 invoice_voided");
    const { invoice: top_up } = await topUp(story, customer, 100);
    expect(outcome(await writeOff(story, top_up))).toBe("422 wrong_invoice_type");
    const nothing = await oneOff(story, customer, "0");
    expect(outcome(await writeOff(story, nothing))).toBe("422 invoice_already_paid");
  });

  // A payment with leave to be more: 300 settle what was given up, the rest is credit.
  test("M104 also: a payment above it is credit where that is allowed", async () => {
    const story = await begin("2026-03-01");
    const customer = await story.customer();
    const invoice = await oneOff(story, customer, "300");
    await writeOff(story, invoice);
    await paid(story, invoice, 500, { allow_overpayment: true });
    expect(await standing(story, invoice)).toEqual([
      "subtotal 300, total 300, paid 500, overpaid 200",
      "succeeded, succeeded",
    ]);
    expect(await balanceOf(story, customer)).toBe(200);
  });
});

const REMINDERS = [
  { days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" },
  { days_after_due: 7, webhook_event: "invoice.payment_overdue_reminder_2" },
];

describe("a refund without a note", () => {
  test("M105 makes what it took due again", async () => {
    const story = await begin("2026-03-01");
    const customer = await story.customer();
    const invoice = await oneOff(story, customer, "10000");
    const payment = await paid(story, invoice, 10_000);
    const answer = await refund(story, payment, 4000);
    expect(outcome(answer)).toBe("201");
    expect(answer.body.refund).toMatchObject({
      payment_id: payment.id,
      invoice_id: invoice.id,
      credit_note_id: null,
      amount_cents: 4000,
      currency: "USD",
      provider: "bank",
      refunded_at: "2026-03-01T00:00:00.000Z",
    });
    expect(await standing(story, invoice)).toEqual([
      "subtotal 10000, total 10000, paid 6000, due 4000",
      "outstanding, partially_paid",
    ]);
    const messages = await told(story, "invoice.payment_due");
    expect(messages.map((data) => data.invoice.amount_due_cents)).toEqual([10_000, 4000]);
    expect(await story.log("invoice.reopened")).toHaveLength(1);
    const { refunds } = await story.get("/v1/refunds");
    expect(refunds).toEqual([answer.body.refund]);
  });

  test("M105 is overdue at once after the due date", async () => {
    const story = await begin("2026-03-01");
    const invoice = await oneOff(story, await story.customer(), "500");
    const payment = await paid(story, invoice, 500);
    await story.travelTo("2026-04-01");
    await refund(story, payment, 500);
    expect(await standing(story, invoice)).toEqual([
      "subtotal 500, total 500, due 500",
      "overdue, pending",
    ]);
  });

  test("what it makes overdue is reminded of, where reminders had stopped", async () => {
    const story = await begin("2026-03-01");
    await story.ok("PUT", "/v1/dunning", { enabled: true, steps: REMINDERS });
    const customer = await story.customer();
    const [early, late] = [
      await oneOff(story, customer, "500"),
      await oneOff(story, customer, "7"),
    ];
    const payment = await paid(story, early, 500);
    await story.travelTo("2026-03-19");
    const fired = async ({ id }: Json) =>
      (await story.log("dunning.step_fired"))
        .filter(({ resource_id }) => resource_id === id)
        .map(({ payload }) => payload.webhook_event);
    expect(await fired(late)).toEqual([REMINDERS[0]?.webhook_event]);
    const other = await paid(story, late, 7);
    await story.travelTo("2026-04-01");
    await refund(story, payment, 500);
    await refund(story, other, 7);
    await story.travelTo("2026-04-07");
    const both = REMINDERS.map(({ webhook_event }) => webhook_event);
    expect([await fired(early), await fired(late)]).toEqual([both.slice(0, 1), both.slice(0, 1)]);
    await story.travelTo("2026-04-08");
    expect([await fired(early), await fired(late)]).toEqual([both, both]);
  });

  test("M106 takes first what is left of the credit that the payment made", async () => {
    const story = await begin("2026-03-01");
    const customer = await story.customer();
    const invoice = await oneOff(story, customer, "1000");
    const payment = await paid(story, invoice, 1500, { allow_overpayment: true });
    expect(outcome(await refund(story, payment, 200))).toBe("201");
    expect(await balanceOf(story, customer)).toBe(300);
    expect(await standing(story, invoice)).toEqual([
      "subtotal 1000, total 1000, paid 1300, overpaid 300",
      "succeeded, succeeded",
    ]);
    expect(outcome(await refund(story, payment, 400))).toBe("201");
    expect(await balanceOf(story, customer)).toBe(0);
    expect(await standing(story, invoice)).toEqual([
      "subtotal 1000, total 1000, paid 900, due 100",
      "outstanding, partially_paid",
    ]);
    expect(outcome(await refund(story, payment, 901))).toBe("422 amount_exceeds_refundable");
    expect(await ledgerOf(story, customer)).toEqual([
      "overpayment 500 → 500",
      "refunded -200 → 300",
      "refunded -300 → 0",
    ]);
  });

  // 500 of credit, 450 of it used elsewhere: the refund takes the 50 that are left, and then of
  // the invoice. What was used of the credit cannot be refunded: 1500 − 450 = 1050 in all.
  test("M106 also: credit that is used is not refunded", async () => {
    const story = await begin("2026-03-01");
    const customer = await story.customer();
    const invoice = await oneOff(story, customer, "1000");
    const payment = await paid(story, invoice, 1500, { allow_overpayment: true });
    await oneOff(story, customer, "450");
    expect(outcome(await refund(story, payment, 1051))).toBe("422 amount_exceeds_refundable");
    expect(outcome(await refund(story, payment, 1050))).toBe("201");
    expect(await standing(story, invoice)).toEqual([
      "subtotal 1000, total 1000, paid 450, overpaid 450, due 1000",
      "outstanding, partially_paid",
    ]);
    expect(await balanceOf(story, customer)).toBe(0);
    // The 450 have been credit before: a void credits nothing.
    await voidInvoice(story, invoice);
    expect(await balanceOf(story, customer)).toBe(0);
    const [{ payload } = {}] = await story.log("invoice.voided");
    expect(payload.credited_cents).toBe(0);
  });

  // A void turned the 400 into a grant; the refund takes it from there, and what is used is gone.
  test("M106 also: of a voided invoice takes of the credit that the void made", async () => {
    const story = await begin("2026-03-01");
    const customer = await story.customer();
    const invoice = await oneOff(story, customer, "1000");
    const payment = await paid(story, invoice, 400);
    await voidInvoice(story, invoice);
    await oneOff(story, customer, "100");
    expect(outcome(await refund(story, payment, 301))).toBe("422 amount_exceeds_refundable");
    expect(outcome(await refund(story, payment, 300))).toBe("201");
    expect(await standing(story, invoice)).toEqual([
      "subtotal 1000, total 1000, paid 100",
      "voided, partially_paid",
    ]);
    expect(await balanceOf(story, customer)).toBe(0);
  });

  // The note of 600 paid out 600 of the payment; 400 are still in the invoice.
  test("M106 also: of a top-up takes what was paid above it, and what a void gave back", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const { invoice } = await topUp(story, customer, 2000);
    const payment = await paid(story, invoice, 3000, { allow_overpayment: true });
    expect(outcome(await refund(story, payment, 1001))).toBe("422 wrong_invoice_type");
    expect(outcome(await refund(story, payment, 1000))).toBe("201");
    expect(outcome(await refund(story, payment, 1))).toBe("422 wrong_invoice_type");
    expect(await balanceOf(story, customer)).toBe(2000);

    const other = await story.customer();
    const { invoice: half } = await topUp(story, other, 2000);
    const part = await paid(story, half, 500);
    expect(outcome(await refund(story, part, 500))).toBe("422 wrong_invoice_type");
    expect(outcome(await voidInvoice(story, half))).toBe("200");
    expect(outcome(await refund(story, part, 501))).toBe("422 amount_exceeds_refundable");
    expect(outcome(await refund(story, part, 500))).toBe("201");
    expect(await balanceOf(story, other)).toBe(0);
  });

  test("M106 also: what a note paid out is not refunded again", async () => {
    const story = await begin("2026-03-01");
    const invoice = await oneOff(story, await story.customer(), "1000");
    const payment = await paid(story, invoice, 1000);
    const made = await note(story, invoice, { 0: 600 }, { refund_cents: 600 });
    expect(noted(made)).toBe("600 + 0 = 600: refund 600");
    expect(outcome(await refund(story, payment, 600, { credit_note_id: made.id }))).toBe("201");
    expect(outcome(await refund(story, payment, 401))).toBe("422 amount_exceeds_refundable");
    expect(outcome(await refund(story, payment, 400))).toBe("201");
    expect((await story.invoice(invoice.id)).amount_due_cents).toBe(400);
  });

  // Two payments of 500: each gives back its own alone.
  test("M106 also: is of one payment, not of the others of its invoice", async () => {
    const story = await begin("2026-03-01");
    const invoice = await oneOff(story, await story.customer(), "1000");
    const first = await paid(story, invoice, 500);
    await paid(story, invoice, 500);
    expect(outcome(await refund(story, first, 501))).toBe("422 amount_exceeds_refundable");
    expect(outcome(await refund(story, first, 500))).toBe("201");
    const { payments } = await story.get("/v1/payments?all=1");
    const back = payments.map(({ refunded_cents }: Json) => refunded_cents);
    expect(back.sort((a: number, b: number) => a - b)).toEqual([0, 500]);
  });

  test("M107 is recorded once by its id, whoever asks at once", async () => {
    const story = await begin("2026-03-01");
    const invoice = await oneOff(story, await story.customer(), "1000");
    const payment = await paid(story, invoice, 1000);
    const one = { provider_refund_id: "re_1" };
    expect(outcome(await refund(story, payment, 300, one))).toBe("201");
    const again = await refund(story, payment, 300, one);
    expect(outcome(again)).toBe("200");
    expect(outcome(await refund(story, payment, 301, one))).toBe("409 refund_conflict");
    const same = { provider_refund_id: "re_2" };
    const ten = await Promise.all(
      Array.from({ length: 10 }, () => refund(story, payment, 50, same)),
    );
    const nine = Array.from({ length: 9 }, () => "200");
    expect(ten.map(outcome).sort()).toEqual([...nine, "201"]);
    expect(new Set(ten.map(({ body }) => body.refund.id)).size).toBe(1);
    const four = await Promise.all(Array.from({ length: 4 }, () => refund(story, payment, 200)));
    expect(four.map(outcome).sort()).toEqual([
      ...["201", "201", "201"],
      "422 amount_exceeds_refundable",
    ]);
    expect((await story.invoice(invoice.id)).amount_due_cents).toBe(950);
    expect(await told(story, "payment.refunded")).toHaveLength(5);
  });

  test("M107 also: amounts that are none are refused", async () => {
    const story = await begin("2026-03-01");
    const customer = await story.customer();
    const payment = await paid(story, await oneOff(story, customer, "1000"), 1000);
    for (const cents of [0, -1, 1.5, "1"]) {
      expect(outcome(await refund(story, payment, cents))).toBe("422 validation_error");
    }
    const other = await paid(story, await oneOff(story, customer, "1000"), 1000);
    const one = { provider_refund_id: "re_9" };
    expect(outcome(await refund(story, payment, 100, one))).toBe("201");
    expect(outcome(await refund(story, other, 100, one))).toBe("409 refund_conflict");
  });
});

describe("the link to pay", () => {
  const TEMPLATE =
    "https://pay.test/{number}?i={invoice_id}&k={customer_id}&c={external_id}&x={amount_due_cents}{currency}";

  test("M108 is filled in, follows what is due, and ends with it", async () => {
    const story = await begin("2026-03-01");
    await settings(story, { payment_url: TEMPLATE });
    const customer = await story.customer({ external_id: "a b/c" });
    const invoice = await oneOff(story, customer, "1000");
    const filled = (x: string) =>
      `https://pay.test/INV-2026-0001?i=${invoice.id}&k=${customer.id}&c=a%20b%2Fc&x=${x}`;
    expect(invoice.payment_url).toBe(filled("1000USD"));
    await paid(story, invoice, 400);
    const url = async () => (await story.invoice(invoice.id)).payment_url;
    expect(await url()).toBe(filled("600USD"));
    const own = { payment_url: "https://own.test/1" };
    await story.patch(`/v1/invoices/${invoice.id}`, own);
    expect(await url()).toBe("https://own.test/1");
    await paid(story, invoice, 600);
    expect(await url()).toBeNull();
    const [created] = await told(story, "invoice.created");
    expect(created?.invoice.payment_url).toBe(filled("1000USD"));
  });

  test("M108 is https, with known words alone", async () => {
    const story = await begin("2026-03-01");
    const invoice = await oneOff(story, await story.customer(), "1000");
    expect(invoice.payment_url).toBeNull();
    for (const payment_url of [
      "http://pay.test/{number}",
      "https://pay.test/{amount}",
      "https://pay.test/{number}{}",
      "javascript:alert(1)",
      "pay",
    ]) {
      for (const [method, path] of [
        ["PUT", "/v1/settings"],
        ["PATCH", `/v1/invoices/${invoice.id}`],
      ] as const) {
        const answer = await story.call(method, path, { payment_url });
        expect([path, payment_url, outcome(answer)]).toEqual([
          path,
          payment_url,
          "422 validation_error",
        ]);
      }
    }
  });
});
