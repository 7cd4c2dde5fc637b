// Grants and the one ledger: which money is used first, what expires, what a void gives back, and
// top-ups that are to be paid before they count.

import { describe, expect, test } from "vitest";
import type { Json } from "../../support/app.ts";
import type { Sandbox } from "../../support/given.ts";
import {
  balanceOf,
  credit,
  creditsOf,
  discount,
  figures,
  grant,
  grantNow,
  grantState,
  grantsOf,
  inOrder,
  ledgerOf,
  note,
  noted,
  oneOff,
  outcome,
  paid,
  proposeGrant,
  refund,
  standing,
  stories,
  topUp,
  vat,
  voidInvoice,
} from "../../support/money.ts";

const { begin } = stories();

describe("use", () => {
  test("M70 takes what it can at issue, and is no payment", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const free = await grant(story, customer, 5000);
    expect(free).toMatchObject({
      customer_id: customer.id,
      currency: "USD",
      kind: "free",
      name: "",
      amount_cents: 5000,
      remaining_cents: 5000,
      priority: 50,
      expires_at: null,
      status: "active",
      invoice_id: null,
    });
    const first = await oneOff(story, customer, "3000");
    const second = await oneOff(story, customer, "2500");
    const third = await oneOff(story, customer, "100");
    expect(await standing(story, first)).toEqual([
      "subtotal 3000, total 3000, credit 3000",
      "succeeded, succeeded",
    ]);
    expect(await standing(story, second)).toEqual([
      "subtotal 2500, total 2500, credit 2000, due 500",
      "outstanding, pending",
    ]);
    expect(figures(third)).toBe("subtotal 100, total 100, due 100");
    expect(first.credits).toEqual([{ grant_id: free.id, kind: "free", amount_cents: 3000 }]);
    expect(third.credits).toEqual([]);
    await paid(story, second, 500);
    expect(await standing(story, second)).toEqual([
      "subtotal 2500, total 2500, credit 2000, paid 500",
      "succeeded, succeeded",
    ]);
    expect(await ledgerOf(story, customer)).toEqual([
      "free 5000 → 5000",
      "applied -3000 → 2000",
      "applied -2000 → 0",
    ]);
    expect(await grantState(story, free)).toBe("used_up 0 of 5000");
  });

  test("M71 goes by priority, expiry, free before paid, and age", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const { grant: bought, invoice } = await topUp(story, customer, 100);
    await paid(story, invoice, 100);
    await oneOff(story, customer, "1");
    const later = async (minute: number, fields: Parameters<typeof grant>[3] = {}) => {
      await story.travelTo(`2026-01-01T00:0${minute}`);
      return grant(story, customer, 100, fields);
    };
    const plain = await later(1);
    const younger = await later(2);
    const september = await later(3, { expires_at: "2026-09-01" });
    const june = await later(4, { expires_at: "2026-06-01" });
    const urgent = await later(5, { priority: 10 });
    const last = await later(6, { priority: 90, expires_at: "2026-04-01" });
    const { credits } = await oneOff(story, customer, "649");
    expect(credits.map(({ grant_id, amount_cents }: Json) => [grant_id, amount_cents])).toEqual([
      [urgent.id, 100],
      [june.id, 100],
      [september.id, 100],
      [plain.id, 100],
      [younger.id, 100],
      [bought.id, 99],
      [last.id, 50],
    ]);
    expect(await balanceOf(story, customer)).toBe(50);
  });

  test("M74 is shared in the order of numbers by two that close at one instant", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    await grant(story, customer, 5000);
    const plan = await story.plan({ amount_cents: 3000 });
    await story.subscribe({ plan, customer });
    await story.subscribe({ plan, customer });
    await story.travelTo("2026-02-01");
    const invoices = await story.invoices();
    expect(invoices.map(({ number }) => number)).toEqual(["INV-2026-0001", "INV-2026-0002"]);
    expect(invoices.map(({ credit_applied_cents }) => credit_applied_cents)).toEqual([3000, 2000]);
    expect(invoices.map(({ amount_due_cents }) => amount_due_cents)).toEqual([0, 1000]);
  });

  test("M75 is shared in the order of numbers by ten at once", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    await grant(story, customer, 5500);
    await Promise.all(Array.from({ length: 10 }, () => oneOff(story, customer, "1000")));
    const invoices = await inOrder(story);
    const byNumber = invoices.sort((a, b) => (a.number < b.number ? -1 : 1));
    expect(byNumber.map(({ credit_applied_cents }) => credit_applied_cents)).toEqual([
      ...[1000, 1000, 1000, 1000, 1000],
      ...[500, 0, 0, 0, 0],
    ]);
    expect(await balanceOf(story, customer)).toBe(0);
  });

  test("M78 of an overpayment comes after what is free", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const first = await oneOff(story, customer, "2800");
    await paid(story, first, 5900, { allow_overpayment: true });
    expect(await standing(story, first)).toEqual([
      "subtotal 2800, total 2800, paid 5900, overpaid 3100",
      "succeeded, succeeded",
    ]);
    const [over] = await grantsOf(story, customer);
    expect(over).toMatchObject({ kind: "overpayment", amount_cents: 3100, invoice_id: first.id });
    await story.travelTo("2026-01-02");
    await grant(story, customer, 100);
    const second = await oneOff(story, customer, "3000");
    expect(creditsOf(second)).toEqual([100, 2900]);
    expect(second.credits.map(({ kind }: Json) => kind)).toEqual(["free", "overpayment"]);
    expect(await grantState(story, over)).toBe("active 200 of 3100");
    expect(await balanceOf(story, customer)).toBe(200);
    const { credits } = await story.get(`/v1/customers/${customer.id}/credits`);
    expect(credits).toEqual([{ currency: "USD", balance_cents: 200 }]);
  });

  // A wallet is of one currency, and a grant's currency is the customer's unless it is given.
  test("M70 also: stays in its currency", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer({ currency: "EUR" });
    expect((await grant(story, customer, 500)).currency).toBe("EUR");
    await grant(story, customer, 300, { currency: "USD" });
    const invoice = await oneOff(story, customer, "1000", { currency: "USD" });
    expect(creditsOf(invoice)).toEqual([300]);
    expect(await balanceOf(story, customer, "EUR")).toBe(500);
    const url = `/v1/grants?customer_id=${customer.id}`;
    expect((await story.get(`${url}&currency=EUR`)).grants).toHaveLength(1);
    expect((await story.get(`${url}&status=used_up`)).grants).toHaveLength(1);
  });
});

describe("expiry", () => {
  /** Base 2800 for February, and a grant of 1000 up to this instant. */
  async function until(expires_at: string) {
    const story = await begin("2026-02-01");
    const customer = await story.customer();
    await grant(story, customer, 1000, { expires_at });
    await story.subscribe({ customer, amount_cents: 2800 });
    await story.travelTo("2026-03-01");
    const [invoice] = await story.invoices();
    return { story, customer, invoice };
  }

  test("M72 at the instant of a close comes before it", async () => {
    const { story, customer, invoice } = await until("2026-03-01");
    expect(figures(invoice)).toBe("subtotal 2800, total 2800, due 2800");
    expect(await balanceOf(story, customer)).toBe(0);
  });

  test("M72 a millisecond after a close comes after it", async () => {
    const { invoice } = await until("2026-03-01T00:00:00.001");
    expect(figures(invoice)).toBe("subtotal 2800, total 2800, credit 1000, due 1800");
  });

  test("M72 takes what is left at its own instant", async () => {
    const { story, customer, invoice } = await until("2026-02-10");
    expect(invoice.credit_applied_cents).toBe(0);
    expect(await ledgerOf(story, customer)).toEqual(["free 1000 → 1000", "expired -1000 → 0"]);
    const { entries } = await story.get(`/v1/customers/${customer.id}/ledger?currency=USD`);
    expect(entries[0]).toMatchObject({
      reason: "expired",
      amount_cents: -1000,
      balance_cents: 0,
      created_at: "2026-02-10T00:00:00.000Z",
      invoice_id: null,
    });
    const [logged] = await story.log("grant.expired");
    expect(logged?.created_at).toBe("2026-02-10T00:00:00.000Z");
  });

  test("M72 also: of a pending one is lost with its wait, and it stays", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const expiry = { expires_at: "2026-01-10" };
    const { grant: bought, invoice } = await topUp(story, customer, 1000, expiry);
    expect(bought.expires_at).toBe("2026-01-10T00:00:00.000Z");
    await story.travelTo("2026-01-11");
    expect(await grantNow(story, bought)).toMatchObject({ status: "pending", expires_at: null });
    await paid(story, invoice, 1000);
    await story.travelTo("2026-06-01");
    expect(await grantState(story, bought)).toBe("active 1000 of 1000");
  });

  test("M72 also: and amounts that make no sense are refused", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    for (const [cents, fields] of [
      [100, { expires_at: "2026-01-01" }],
      [100, { expires_at: "2025-12-31" }],
      [0, {}],
      [-1, {}],
      [1.5, {}],
      [100, { kind: "overpayment" }],
      [100, { kind: "voided" }],
      [100, { priority: 101 }],
      [100, { priority: -1 }],
      [100, { currency: "usd?" }],
    ] as const) {
      const answer = await proposeGrant(story, customer, cents, fields);
      expect([cents, fields, outcome(answer)]).toEqual([cents, fields, "422 validation_error"]);
    }
    expect(await grantsOf(story, customer)).toEqual([]);
  });
});

describe("a void", () => {
  async function voided(act: (story: Sandbox, invoice: Json) => Promise<unknown>) {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const free = await grant(story, customer, 3000, { expires_at: "2026-02-01" });
    const invoice = await oneOff(story, customer, "5000");
    await act(story, invoice);
    expect(outcome(await voidInvoice(story, invoice))).toBe("200");
    return { story, customer, free, invoice };
  }

  test("M76 gives grants their money back, and makes one of what was paid", async () => {
    const { story, customer, free, invoice } = await voided((told, each) => paid(told, each, 500));
    expect(await standing(story, invoice)).toEqual([
      "subtotal 5000, total 5000, credit 3000, paid 500",
      "voided, partially_paid",
    ]);
    expect(await grantState(story, free)).toBe("active 3000 of 3000");
    expect((await grantsOf(story, customer))[1]).toMatchObject({
      kind: "voided",
      amount_cents: 500,
      invoice_id: invoice.id,
      expires_at: null,
    });
    expect(await balanceOf(story, customer)).toBe(3500);
    expect(creditsOf(await oneOff(story, customer, "3400"))).toEqual([3000, 400]);
  });

  test("M77 lets lapse what an expired grant gets back", async () => {
    const { story, customer, free } = await voided((told) => told.travelTo("2026-02-02"));
    expect(await ledgerOf(story, customer)).toEqual([
      "free 3000 → 3000",
      "applied -3000 → 0",
      "voided 3000 → 3000",
      "expired -3000 → 0",
    ]);
    expect(await grantState(story, free)).toBe("expired 0 of 3000");
  });
});

describe("a top-up", () => {
  test("M73 counts once it is paid in full", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const { grant: bought, invoice } = await topUp(story, customer, 10_000, { name: "Prepaid" });
    expect(bought).toMatchObject({ kind: "paid", status: "pending", name: "Prepaid" });
    expect(invoice).toMatchObject({ invoice_type: "top_up", subscription_id: null });
    expect(invoice.fees).toMatchObject([{ fee_type: "top_up", amount_cents: 10_000 }]);
    expect((await oneOff(story, customer, "300")).credit_applied_cents).toBe(0);
    await paid(story, invoice, 4000);
    expect((await grantNow(story, bought)).status).toBe("pending");
    await paid(story, invoice, 6000);
    expect((await grantNow(story, bought)).status).toBe("active");
    expect((await oneOff(story, customer, "300")).credit_applied_cents).toBe(300);
    expect(await ledgerOf(story, customer)).toEqual(["paid 10000 → 10000", "applied -300 → 9700"]);
    for (const type of ["grant.created", "grant.activated"]) {
      expect([type, (await story.log(type)).length]).toEqual([type, 1]);
    }
  });

  test("M83 has no tax, coupon or credit", async () => {
    const story = await begin("2026-01-01");
    await vat(story, "20");
    const customer = await story.customer();
    await discount(story, customer, { percent: "50" });
    await grant(story, customer, 700);
    const { invoice } = await topUp(story, customer, 1000);
    expect(figures(invoice)).toBe("subtotal 1000, total 1000, due 1000");
    expect(invoice).toMatchObject({ coupons: [], taxes: [], credits: [] });
    expect(await balanceOf(story, customer)).toBe(700);
  });

  test("M84 is given back by a note of what is left of it", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const { grant: bought, invoice } = await topUp(story, customer, 10_000);
    expect(outcome(await credit(story, invoice))).toBe("422 wrong_invoice_type");
    const payment = await paid(story, invoice, 10_000);
    await oneOff(story, customer, "3700");
    expect(outcome(await refund(story, payment, 100))).toBe("422 wrong_invoice_type");
    const beyond = await credit(story, invoice, { 0: 6301 });
    expect(outcome(beyond)).toBe("422 amount_exceeds_creditable");
    const made = await note(story, invoice, { 0: 6300 });
    expect(noted(made)).toBe("6300 + 0 = 6300: refund 6300");
    expect(await balanceOf(story, customer)).toBe(0);
    expect((await grantNow(story, bought)).remaining_cents).toBe(0);
    expect(await ledgerOf(story, customer)).toEqual([
      "paid 10000 → 10000",
      "applied -3700 → 6300",
      "credit_note -6300 → 0",
    ]);
    const by = { credit_note_id: made.id };
    expect(outcome(await refund(story, payment, 6300, by))).toBe("201");
  });

  test("M73 also: voided unpaid takes its grant with it", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const { grant: bought, invoice } = await topUp(story, customer, 1000);
    await paid(story, invoice, 400);
    await voidInvoice(story, invoice);
    expect(await grantState(story, bought)).toBe("voided 0 of 1000");
    // What was paid of it is money of the customer's.
    expect(await ledgerOf(story, customer)).toEqual(["voided 400 → 400"]);
  });

  test("M73 also: what is paid above it is an overpayment", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer();
    const { invoice } = await topUp(story, customer, 1000);
    await paid(story, invoice, 1300, { allow_overpayment: true });
    const kinds = (await grantsOf(story, customer)).map((each) => [
      each.kind,
      each.remaining_cents,
    ]);
    expect(kinds.sort()).toEqual([
      ["overpayment", 300],
      ["paid", 1000],
    ]);
    expect((await story.invoice(invoice.id)).overpaid_cents).toBe(300);
  });
});
