// Credit notes at their edges: lines below 0, discounted lines, what is written off, previews, what
// others are told, and notes beside other acts.

import { describe, expect, test } from "vitest";
import type { Json } from "../../support/app.ts";
import { perUnit, type Sandbox } from "../../support/given.ts";
import {
  balanceOf,
  credit,
  discount,
  figures,
  inOrder,
  note,
  noted,
  oneOff,
  outcome,
  paid,
  refund,
  standing,
  stories,
  taxesOf,
  told,
  vat,
} from "../../support/money.ts";

const { begin } = stories();

describe("lines below 0", () => {
  /** Base 1000, usage 0 and an adjustment of −300, at 20 % if asked: places 0, 1 and 2. */
  async function corrected(percent?: string) {
    const story = await begin("2026-01-01");
    if (percent !== undefined) await vat(story, percent);
    const metric = await story.metric();
    const customer = await story.customer();
    const charges = [perUnit(metric, "1")];
    const subscription = await story.subscribe({ customer, amount_cents: 1000, charges });
    await story.use(subscription, metric, "10");
    await story.travelTo("2026-02-03");
    await story.use(subscription, metric, "-3", "2026-01-20");
    await story.travelTo("2026-03-01");
    const [, invoice] = await inOrder(story, subscription);
    return { story, invoice, customer };
  }

  test("M57 also: are credited below 0, down to what is left of them", async () => {
    const { story, invoice } = await corrected();
    expect(figures(invoice)).toBe("subtotal 700, total 700, due 700");
    const beyond: readonly Record<number, number>[] = [
      { 0: 1000 },
      { 2: -300 },
      { 0: 1000, 2: -301 },
      { 0: 300, 2: -300 },
    ];
    // More than the total in all, a note below 1, beyond the line, a note of 0.
    for (const amounts of beyond) {
      const answer = await credit(story, invoice, amounts);
      expect([amounts, outcome(answer)]).toEqual([amounts, "422 amount_exceeds_creditable"]);
    }
    // The sign is the fee's own.
    expect(outcome(await credit(story, invoice, { 0: 1000, 2: 1 }))).toMatch(/^422 /);
    const all = await note(story, invoice);
    expect(noted(all)).toBe("700 + 0 = 700: offset 700");
    expect(all.lines.map(({ amount_cents }: Json) => amount_cents)).toEqual([1000, -300]);
  });

  // 20 % of 700 is 140. A first note of 500 + 100 leaves 500 and −300: 200 + 40.
  test("M57 also: lower the tax that is left to credit", async () => {
    const { story, invoice } = await corrected("20");
    expect(noted(await note(story, invoice, { 0: 500 }))).toBe("500 + 100 = 600: offset 600");
    expect(noted(await note(story, invoice))).toBe("200 + 40 = 240: offset 240");
  });
});

// 1000 less 10 %: 900 can be credited.
test("M57 also: a discounted line is credited after its discount", async () => {
  const story = await begin("2026-01-01");
  await vat(story, "20");
  const customer = await story.customer();
  await discount(story, customer, { percent: "10" });
  const invoice = await oneOff(story, customer, "1000, 1");
  expect(outcome(await credit(story, invoice, { 0: 901 }))).toBe("422 amount_exceeds_creditable");
  expect(noted(await note(story, invoice, { 0: 900 }))).toBe("900 + 180 = 1080: offset 1080");
});

// 600 due, then written off: the note of 700 takes the 600, and 100 of what was paid is credit.
test("M55 also: a note takes of what is written off", async () => {
  const story = await begin("2026-01-01");
  const customer = await story.customer();
  const invoice = await oneOff(story, customer, "1000");
  await paid(story, invoice, 400);
  await story.post(`/v1/invoices/${invoice.id}/write-off`);
  expect(noted(await note(story, invoice, { 0: 250 }))).toBe("250 + 0 = 250: offset 250");
  expect(await standing(story, invoice)).toEqual([
    "subtotal 1000, total 1000, offset 250, paid 400, written off 350",
    "uncollectible, partially_paid",
  ]);
  expect(noted(await note(story, invoice, { 0: 450 }))).toBe(
    "450 + 0 = 450: offset 350, credit 100",
  );
  expect(await standing(story, invoice)).toEqual([
    "subtotal 1000, total 1000, offset 600, paid 400",
    "succeeded, succeeded",
  ]);
});

test("M50 also: a preview has every figure of the note, and stores nothing", async () => {
  const story = await begin("2026-01-01");
  await vat(story, "20");
  const customer = await story.customer();
  const invoice = await oneOff(story, customer, "1000, 500");
  await paid(story, invoice, 1000);
  const lines = [{ fee_id: invoice.fees[0].id, amount_cents: 1000 }];
  const sent = { invoice_id: invoice.id, lines, refund_cents: 300, reason: "Late", memo: "Sorry" };
  const answer = await story.call("POST", "/v1/credit-notes/preview", sent);
  expect(outcome(answer)).toBe("200");
  const preview = answer.body.credit_note_preview;
  expect(noted(preview)).toBe("1000 + 200 = 1200: offset 800, refund 300, credit 100");
  expect(figures(await story.invoice(invoice.id))).toBe(
    "subtotal 1500, tax 300, total 1800, paid 1000, due 800",
  );
  expect((await story.get("/v1/credit-notes")).credit_notes).toEqual([]);
  const made = (await story.post("/v1/credit-notes", sent)).credit_note;
  expect(noted(made)).toBe(noted(preview));
  expect(taxesOf(made)).toEqual(taxesOf(preview));
  expect(made).toMatchObject({ number: "CN-2026-0001", reason: "Late", memo: "Sorry", lines });
  const more = { invoice_id: invoice.id, lines };
  expect(outcome(await story.call("POST", "/v1/credit-notes/preview", more))).toBe(
    "422 amount_exceeds_creditable",
  );
  const found = await story.get(`/v1/credit-notes?customer_id=${customer.id}`);
  expect(found.credit_notes.map(({ id }: Json) => id)).toEqual([made.id]);
});

test("M50 also: a note is logged and told with its invoice and customer", async () => {
  const story = await begin("2026-01-01");
  const customer = await story.customer();
  const invoice = await oneOff(story, customer, "1000");
  const payment = await paid(story, invoice, 1000);
  const made = await note(story, invoice, { 0: 400 }, { refund_cents: 400 });
  await refund(story, payment, 400, { credit_note_id: made.id });
  expect(await told(story, "credit_note.created")).toMatchObject([
    {
      credit_note: { id: made.id, number: made.number, total_cents: 400, refund_cents: 400 },
      invoice: { id: invoice.id, number: invoice.number, amount_due_cents: 0 },
      customer: { id: customer.id, external_id: customer.external_id },
    },
  ]);
  expect(await told(story, "payment.refunded")).toMatchObject([
    {
      refund: { amount_cents: 400, credit_note_id: made.id },
      payment: { id: payment.id },
      invoice: { id: invoice.id, amount_due_cents: 0 },
      customer: { id: customer.id },
    },
  ]);
  // Nothing became due again.
  expect(await told(story, "invoice.payment_due")).toHaveLength(1);
  const [logged] = await story.log("credit_note.created");
  expect(logged?.resource_id).toBe(made.id);
});

test("M56 also: a refund by the note of another invoice is refused", async () => {
  const story = await begin("2026-01-01");
  const [mine, other] = [
    await oneOff(story, await story.customer(), "1000"),
    await oneOff(story, await story.customer(), "1000"),
  ];
  const payment = await paid(story, mine, 1000);
  await paid(story, other, 1000);
  const made = await note(story, other, { 0: 400 }, { refund_cents: 400 });
  const answer = await refund(story, payment, 400, { credit_note_id: made.id });
  expect(outcome(answer)).toBe("404 not_found");
});

describe("beside a base in advance", () => {
  /** 3100 in advance at 20 %, something done, and the end on 10 January at noon. */
  async function ended(act: (story: Sandbox, start: Json) => Promise<unknown>) {
    const story = await begin("2026-01-01");
    await vat(story, "20");
    const customer = await story.customer();
    const plan = { amount_cents: 3100, base_timing: "advance" };
    const subscription = await story.subscribe({ customer, ...plan });
    const [start] = await inOrder(story, subscription);
    await act(story, start);
    await story.travelTo("2026-01-10T12:00");
    await story.terminate(subscription);
    return { story, customer, invoices: await inOrder(story, subscription) };
  }

  // 21 of 31 days: 2100, of which half is left: −1050 and its tax of −210.
  test("M45 also: days given back have the tax of the base", async () => {
    const { story, customer, invoices } = await ended((told, start) =>
      note(told, start, { 0: 1550 }),
    );
    expect(invoices.map(figures)).toEqual([
      "subtotal 3100, tax 620, total 3720, offset 1860, due 1860",
      "subtotal -1050, tax -210",
    ]);
    expect(await balanceOf(story, customer)).toBe(1260);
  });

  // 2100 · 1 / 3100 is 0.677 → 1: one cent is left of the fee, and one cent comes back.
  test("M45 also: the last cent that notes left is rounded like any amount", async () => {
    const { invoices } = await ended((told, start) => note(told, start, { 0: 3099 }));
    expect(figures(invoices[1])).toBe("subtotal -1");
  });
});

// Whichever comes first: a note and then a refused payment, or a payment and then a note in credit.
test("M60 also: a note and a payment at once leave nothing due and nothing lost", async () => {
  for (let round = 0; round < 5; round++) {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const invoice = await oneOff(story, customer, "1000");
    const [made, payment] = await Promise.all([credit(story, invoice), story.pay(invoice, 1000)]);
    expect(outcome(made)).toBe("201");
    const was_paid = payment.status === 201;
    expect(outcome(payment)).toBe(was_paid ? "201" : "422 invoice_already_paid");
    expect((await balanceOf(story, customer)) ?? 0).toBe(was_paid ? 1000 : 0);
    expect((await story.invoice(invoice.id)).amount_due_cents).toBe(0);
  }
});
