// Credit notes: what they take of lines and taxes, where the money goes, their own series, and
// what they refuse.

import { randomUUID } from "node:crypto";
import { describe, expect, test } from "vitest";
import type { Json } from "../../support/app.ts";
import { perUnit } from "../../support/given.ts";
import {
  balanceOf,
  credit,
  discount,
  figures,
  grant,
  grantsOf,
  ledgerOf,
  note,
  noted,
  oneOff,
  outcome,
  paid,
  refund,
  standing,
  stories,
  tax,
  taxesOf,
  vat,
  voidInvoice,
} from "../../support/money.ts";

const { begin } = stories();

/** An invoice over these lines at 20 % from the settings. */
async function invoiced(lines: string) {
  const story = await begin("2026-01-01");
  await vat(story, "20");
  const customer = await story.customer();
  return { story, customer, invoice: await oneOff(story, customer, lines) };
}

const M3 = "6833, 6833, 5750, 8500";

describe("in parts", () => {
  test("M50 all of it at once", async () => {
    const { story, invoice } = await invoiced(M3);
    const made = await note(story, invoice);
    expect(made.number).toBe("CN-2026-0001");
    expect(noted(made)).toBe("27916 + 5583 = 33499: offset 33499");
    expect(made).toMatchObject({
      invoice_id: invoice.id,
      invoice_number: invoice.number,
      currency: "USD",
      customer_id: invoice.customer_id,
      issuing_date: "2026-01-01",
      refunded_cents: 0,
      reason: "",
      memo: "",
    });
    expect(await standing(story, invoice)).toEqual([
      "subtotal 27916, tax 5583, total 33499, offset 33499",
      "succeeded, succeeded",
    ]);
    expect(outcome(await story.pay(invoice, 1))).toBe("422 invoice_already_paid");
    expect(outcome(await credit(story, invoice))).toBe("422 amount_exceeds_creditable");
    const { credit_note } = await story.get(`/v1/credit-notes/${made.id}`);
    expect(credit_note).toEqual(made);
  });

  test("M51 one note per line", async () => {
    const { story, invoice } = await invoiced(M3);
    const notes: Json[] = [];
    for (const [i, cents] of [
      [0, 6833],
      [2, 5750],
      [3, 8500],
      [1, 6833],
    ] as const) {
      notes.push(await note(story, invoice, { [i]: cents }));
    }
    expect(notes.map(({ tax_cents }) => tax_cents)).toEqual([1366, 1150, 1700, 1367]);
    expect(notes.map(({ total_cents }) => total_cents)).toEqual([8199, 6900, 10_200, 8200]);
    expect((await story.invoice(invoice.id)).credit_notes_cents).toBe(33_499);
    const { credit_notes } = await story.get(`/v1/credit-notes?invoice_id=${invoice.id}`);
    expect(credit_notes.map(({ number }: Json) => number)).toEqual(
      [4, 3, 2, 1].map((n) => `CN-2026-000${n}`),
    );
  });

  test("M52 19.6 % of 100 in three", async () => {
    const story = await begin("2026-01-01");
    await vat(story, "19.6");
    const invoice = await oneOff(story, await story.customer(), "100");
    expect(invoice.total_cents).toBe(120);
    const totals: number[] = [];
    for (const cents of [33, 33, 34]) {
      totals.push((await note(story, invoice, { 0: cents })).total_cents);
    }
    expect(totals).toEqual([40, 39, 41]);
  });

  test.each([
    { line: 1, total: 4, parts: [1], totals: [4] },
    { line: 3, total: 9, parts: [1, 1, 1], totals: [4, 1, 4] },
  ])("M53 three taxes of 50 % on a line of $line, cent by cent", async (each) => {
    const story = await begin("2026-01-01");
    for (const code of ["x", "y", "z"]) await tax(story, code, "50");
    const invoice = await oneOff(story, await story.customer(), `${each.line} [x y z]`);
    expect(invoice.total_cents).toBe(each.total);
    const totals: number[] = [];
    for (const cents of each.parts) {
      totals.push((await note(story, invoice, { 0: cents })).total_cents);
    }
    expect(totals).toEqual(each.totals);
  });

  // 20 % of 1002 is 200.4 → 200. One cent less: 200.2 → 200, so the cent bears no tax; then all but
  // two cents bear 200 − round(0.4).
  test("M51 also: lines of one note share their tax", async () => {
    const { story, invoice } = await invoiced("501, 501");
    expect(invoice.tax_cents).toBe(200);
    expect(noted(await note(story, invoice, { 0: 1 }))).toBe("1 + 0 = 1: offset 1");
    const second = await note(story, invoice, { 0: 499, 1: 500 });
    expect(noted(second)).toBe("999 + 200 = 1199: offset 1199");
    expect(taxesOf(second)).toEqual(["vat 20 of 999: 200"]);
    expect(noted(await note(story, invoice))).toBe("2 + 0 = 2: offset 2");
  });
});

describe("where the money goes", () => {
  test("M54 to what is due, to a refund, to credit", async () => {
    const story = await begin("2026-01-01");
    await tax(story, "vat", "20");
    await tax(story, "low", "5.5");
    const customer = await story.customer();
    await discount(story, customer, { percent: "10", times: 3 });
    await grant(story, customer, 1000);
    const invoice = await oneOff(story, customer, "2030 [vat], 1875 [vat], 3600 [low]");
    expect(figures(invoice)).toBe(
      "subtotal 7505, discount 751, tax 881, total 7635, credit 1000, due 6635",
    );
    const payment = await paid(story, invoice, 4000);
    expect((await story.invoice(invoice.id)).amount_due_cents).toBe(2635);
    const first = await note(story, invoice, { 2: 1080 });
    expect(noted(first)).toBe("1080 + 59 = 1139: offset 1139");
    expect((await story.invoice(invoice.id)).amount_due_cents).toBe(1496);
    const more = await credit(story, invoice, undefined, { refund_cents: 4001 });
    expect(outcome(more)).toBe("422 amount_exceeds_refundable");
    const second = await note(story, invoice, undefined, { refund_cents: 4000 });
    expect(noted(second)).toBe("5674 + 822 = 6496: offset 1496, refund 4000, credit 1000");
    expect(taxesOf(second)).toEqual(["low 5.5 of 2160: 119", "vat 20 of 3514: 703"]);
    const settled = [
      "subtotal 7505, discount 751, tax 881, total 7635, credit 1000, offset 2635, paid 4000",
      "succeeded, succeeded",
    ];
    expect(await standing(story, invoice)).toEqual(settled);
    const by = { credit_note_id: second.id };
    expect(outcome(await refund(story, payment, 4000, by))).toBe("201");
    expect(await standing(story, invoice)).toEqual(settled);
    const { credit_note } = await story.get(`/v1/credit-notes/${second.id}`);
    expect(credit_note.refunded_cents).toBe(4000);
    expect(outcome(await refund(story, payment, 1, by))).toBe("422 amount_exceeds_refundable");
    expect(outcome(await credit(story, invoice))).toBe("422 amount_exceeds_creditable");
    expect(await balanceOf(story, customer)).toBe(1000);
    expect((await story.get("/v1/payments")).payments[0].refunded_cents).toBe(4000);
  });

  test("M55 a part beyond what is due is credit for the next invoice", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const invoice = await oneOff(story, customer, "10000");
    await paid(story, invoice, 4000);
    expect(noted(await note(story, invoice, { 0: 7000 }))).toBe(
      "7000 + 0 = 7000: offset 6000, credit 1000",
    );
    expect((await story.invoice(invoice.id)).status).toBe("succeeded");
    expect(noted(await note(story, invoice, { 0: 3000 }))).toBe("3000 + 0 = 3000: credit 3000");
    expect(await grantsOf(story, customer)).toMatchObject([
      { kind: "credit_note", amount_cents: 1000, invoice_id: invoice.id, priority: 50 },
      { kind: "credit_note", amount_cents: 3000, invoice_id: invoice.id },
    ]);
    const next = await oneOff(story, customer, "4500");
    expect(figures(next)).toBe("subtotal 4500, total 4500, credit 4000, due 500");
  });

  test("M55 or a refund where it is asked for", async () => {
    const story = await begin("2026-01-01");
    const invoice = await oneOff(story, await story.customer(), "10000");
    await paid(story, invoice, 4000);
    const made = await note(story, invoice, { 0: 7000 }, { refund_cents: 1000 });
    expect(noted(made)).toBe("7000 + 0 = 7000: offset 6000, refund 1000");
    expect((await story.invoice(invoice.id)).status).toBe("succeeded");
  });

  test("M56 refunds by the note are at most what it has open", async () => {
    const story = await begin("2026-01-01");
    const invoice = await oneOff(story, await story.customer(), "10000");
    const payment = await paid(story, invoice, 10_000);
    const refused = await credit(story, invoice, { 0: 3000 }, { refund_cents: 3001 });
    expect(outcome(refused)).toBe("422 amount_exceeds_refundable");
    const made = await note(story, invoice, { 0: 3000 }, { refund_cents: 2000 });
    expect(noted(made)).toBe("3000 + 0 = 3000: refund 2000, credit 1000");
    for (const [cents, expected] of [
      [2001, "422 amount_exceeds_refundable"],
      [500, "201"],
      [1500, "201"],
      [1, "422 amount_exceeds_refundable"],
    ] as const) {
      const answer = await refund(story, payment, cents, { credit_note_id: made.id });
      expect([cents, outcome(answer)]).toEqual([cents, expected]);
      expect(figures(await story.invoice(invoice.id))).toBe(
        "subtotal 10000, total 10000, paid 10000",
      );
    }
  });

  test("M58 what a grant paid is credit that never expires, and no refund", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    await grant(story, customer, 5000, { expires_at: "2026-06-01" });
    const invoice = await oneOff(story, customer, "5000");
    const refused = await credit(story, invoice, undefined, { refund_cents: 1 });
    expect(outcome(refused)).toBe("422 amount_exceeds_refundable");
    expect(noted(await note(story, invoice))).toBe("5000 + 0 = 5000: credit 5000");
    await story.travelTo("2026-07-01");
    const [, given] = await grantsOf(story, customer);
    expect(given).toMatchObject({
      kind: "credit_note",
      expires_at: null,
      status: "active",
      remaining_cents: 5000,
    });
    expect(await ledgerOf(story, customer)).toEqual([
      "free 5000 → 5000",
      "applied -5000 → 0",
      "credit_note 5000 → 5000",
    ]);
  });

  // 1000 paid with 1500: 500 are credit already. A note of all can pay out 1500 − 500 = 1000.
  test("M56 also: what was overpaid is no refund of a note", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const invoice = await oneOff(story, customer, "1000");
    await paid(story, invoice, 1500, { allow_overpayment: true });
    const part = await note(story, invoice, { 0: 400 }, { refund_cents: 400 });
    expect(noted(part)).toBe("400 + 0 = 400: refund 400");
    const refused = await credit(story, invoice, undefined, { refund_cents: 601 });
    expect(outcome(refused)).toBe("422 amount_exceeds_refundable");
    const rest = await note(story, invoice, undefined, { refund_cents: 600 });
    expect(noted(rest)).toBe("600 + 0 = 600: refund 600");
    expect(await balanceOf(story, customer)).toBe(500);
  });
});

describe("what is refused", () => {
  test("M57 amounts beyond what is left of a line, and what is no note", async () => {
    const { story, customer, invoice } = await invoiced("1000, 500");
    const other = await oneOff(story, customer, "70");
    for (const [amount, expected] of [
      [1001, "422 amount_exceeds_creditable"],
      [0, /^422 /],
      [-1, /^422 /],
    ] as const) {
      expect(outcome(await credit(story, invoice, { 0: amount }))).toMatch(expected);
    }
    const sent = (lines: unknown) =>
      story.call("POST", "/v1/credit-notes", { invoice_id: invoice.id, lines });
    const line = (cents: number, { fees }: Json = invoice) => ({
      fee_id: fees[0].id,
      amount_cents: cents,
    });
    expect(outcome(await sent([line(1), line(2)]))).toBe("422 validation_error");
    expect(outcome(await sent([]))).toBe("422 validation_error");
    expect(outcome(await sent([line(1, other)]))).toBe("404 not_found");
    const unpaid = await credit(story, invoice, { 0: 600 }, { refund_cents: 1 });
    expect(outcome(unpaid)).toBe("422 amount_exceeds_refundable");
    expect(figures(await story.invoice(invoice.id))).toBe(figures(invoice));
    expect(noted(await note(story, invoice, { 0: 600 }))).toBe("600 + 120 = 720: offset 720");
    const beyond = await credit(story, invoice, { 0: 401 });
    expect(outcome(beyond)).toBe("422 amount_exceeds_creditable");
    expect(noted(await note(story, invoice, { 0: 400 }))).toBe("400 + 80 = 480: offset 480");
    const rest = await note(story, invoice);
    expect(noted(rest)).toBe("500 + 100 = 600: offset 600");
    expect(rest.number).toBe("CN-2026-0003");
    await voidInvoice(story, other);
    expect(outcome(await credit(story, other))).toBe("422 invoice_voided");
    expect((await story.get("/v1/credit-notes?all=1")).credit_notes).toHaveLength(3);
    const nobody = { invoice_id: randomUUID() };
    expect(outcome(await story.call("POST", "/v1/credit-notes", nobody))).toBe("404 not_found");
  });

  test("M59 the void of an invoice with a note", async () => {
    const story = await begin("2026-01-01");
    const invoice = await oneOff(story, await story.customer(), "1000");
    await note(story, invoice, { 0: 1 });
    expect(outcome(await voidInvoice(story, invoice))).toBe("422 has_credit_notes");
    expect(await standing(story, invoice)).toEqual([
      "subtotal 1000, total 1000, offset 1, due 999",
      "outstanding, pending",
    ]);
  });
});

test("M60 notes have a series of their own, without gaps when many ask at once", async () => {
  const story = await begin("2026-12-30");
  const customer = await story.customer();
  const invoices: Json[] = [];
  for (let i = 0; i < 5; i++) invoices.push(await oneOff(story, customer, "100"));
  const twice = [...invoices, ...invoices];
  const answers = await Promise.all(twice.map((invoice) => credit(story, invoice)));
  const refused = Array.from({ length: 5 }, () => "422 amount_exceeds_creditable");
  const made = Array.from({ length: 5 }, () => "201");
  expect(answers.map(outcome).sort()).toEqual([...made, ...refused]);
  const numbers = answers.flatMap(({ body }) => body.credit_note?.number ?? []).sort();
  expect(numbers).toEqual([1, 2, 3, 4, 5].map((n) => `CN-2026-000${n}`));
  const sixth = await oneOff(story, customer, "100");
  expect(sixth.number).toBe("INV-2026-0006");
  await story.travelTo("2027-01-02");
  expect((await note(story, sixth)).number).toBe("CN-2027-0001");
});

test("M63 what a note credited stays billed: only what is new comes after it", async () => {
  const story = await begin("2026-01-01");
  const metric = await story.metric();
  const subscription = await story.subscribe({ charges: [perUnit(metric, "0.10")] });
  await story.use(subscription, metric, "100");
  await story.travelTo("2026-02-03");
  const [january] = await story.invoices();
  await note(story, january);
  await story.use(subscription, metric, "20", "2026-01-20");
  await story.travelTo("2026-03-01");
  const [, february] = await story.invoices();
  expect(figures(february)).toBe("subtotal 200, total 200, due 200");
});

const STEPS = [
  { days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" },
  { days_after_due: 7, webhook_event: "invoice.payment_overdue_reminder_2" },
];

test("M64 a note lowers what is overdue, and the last one ends the reminders", async () => {
  const story = await begin("2026-03-01");
  await story.ok("PUT", "/v1/dunning", { enabled: true, steps: STEPS });
  const invoice = await oneOff(story, await story.customer(), "9900");
  expect(invoice.due_date).toBe("2026-03-15");
  const reminders = async () =>
    (await story.log("dunning.step_fired")).map(({ payload, created_at }) => [
      payload.webhook_event,
      created_at.slice(0, 10),
    ]);
  const one = [["invoice.payment_overdue_reminder_1", "2026-03-18"]];
  await story.travelTo("2026-03-19");
  expect(await reminders()).toEqual(one);
  await note(story, invoice, { 0: 4900 });
  expect(await standing(story, invoice)).toEqual([
    "subtotal 9900, total 9900, offset 4900, due 5000",
    "overdue, pending",
  ]);
  await story.travelTo("2026-03-21");
  await note(story, invoice);
  expect(await standing(story, invoice)).toEqual([
    "subtotal 9900, total 9900, offset 9900",
    "succeeded, succeeded",
  ]);
  await story.travelTo("2026-04-21");
  expect(await reminders()).toEqual(one);
});
