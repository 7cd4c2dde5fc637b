// What follows an invoice of several parts: dunning, credit notes, voids, payments.

import { describe, expect, test } from "vitest";
import { perUnit } from "../../support/given.ts";
import {
  credit,
  discount,
  grant,
  outcome,
  paid,
  stories,
  vat,
  voidInvoice,
} from "../../support/money.ts";
import { expectTold, partFaults, subscribe, together } from "../../support/together.ts";

const { begin } = stories();

/** The steps that the reference has as its example. */
const STEPS = [
  [3, "invoice.payment_overdue_reminder_1"],
  [7, "invoice.payment_overdue_reminder_2"],
  [14, "subscription.suspend_requested"],
  [30, "subscription.terminate_requested"],
] as const;

async function from() {
  const made = await together(await begin("2026-01-01"), "customer");
  return { ...made, made };
}

/** a and b with a base of 1000 each, in arrears. */
async function thousands({ made }: Awaited<ReturnType<typeof from>>): Promise<void> {
  await subscribe(made, "a", { amount_cents: 1000 });
  await subscribe(made, "b", { amount_cents: 1000 });
}

describe("dunning", () => {
  async function unpaid(withIdle: boolean) {
    const given = await from();
    const { story, calls, made } = given;
    const steps = STEPS.map(([days_after_due, webhook_event]) => ({
      days_after_due,
      webhook_event,
    }));
    await story.ok("PUT", "/v1/dunning", { enabled: true, steps });
    await subscribe(made, "a", { amount_cents: 3100 });
    const b = await subscribe(made, "b", { amount_cents: 500 });
    if (withIdle) await subscribe(made, "d", { charges: [perUnit(calls, "0.10")] });
    return { ...given, b };
  }

  test("G39 reminds once, and asks about each subscription that owes", async () => {
    const { story, made } = await unpaid(true);
    await story.travelTo("2026-03-20");
    await expectTold(
      made,
      "02-01: a period 3100 + b period 500 + d period 0; total 3600. 03-01: a period 3100 + b period 500 + d period 0; total 3600. Dunning: 02-18 reminder 1 0001, 02-22 reminder 2 0001, 03-01 suspend 0001 a, 03-01 suspend 0001 b, 03-17 terminate 0001 a, 03-17 terminate 0001 b, 03-18 reminder 1 0002",
      { dunning: true },
    );
    const { subscriptions } = await story.get("/v1/subscriptions?all=1");
    const [, b, a] = subscriptions.map(({ id }: { id: string }) => id);
    const fired = await story.log("dunning.step_fired");
    const ids = fired.map(({ payload }) => payload.subscription_ids);
    const owing = [a, b];
    expect(ids).toEqual([owing, owing, owing, owing, owing]);
  });

  test("G40 does not ask to suspend what is suspended", async () => {
    const { story, b, made } = await unpaid(false);
    await story.travelTo("2026-02-20");
    await story.suspend(b);
    await story.travelTo("2026-03-20");
    await expectTold(
      made,
      "02-01: a period 3100 + b period 500; total 3600. 03-01: a period 3100 + b period 339; total 3439. Dunning: 02-18 reminder 1 0001, 02-22 reminder 2 0001, 03-01 suspend 0001 a, 03-17 terminate 0001 a, 03-17 terminate 0001 b, 03-18 reminder 1 0002",
      { dunning: true },
    );
  });
});

describe("credit notes", () => {
  test("G41 are for all that is left of a subscription's lines, or for the rest", async () => {
    const { story, calls, made } = await from();
    await vat(story, "20");
    await subscribe(made, "a", { amount_cents: 1999 });
    const charges = [perUnit(calls, "0.00333")];
    const b = await subscribe(made, "b", { amount_cents: 1001, charges });
    await story.use(b, calls, "1000");
    await story.travelTo("2026-02-01");
    const [invoice] = await story.invoices();
    const first = await credit(story, invoice, undefined, { subscription_id: b.id });
    const second = await credit(story, invoice);
    expect([outcome(first), outcome(second)]).toEqual(["201", "201"]);
    const notes = [first.body.credit_note, second.body.credit_note];
    await expectTold(
      made,
      "02-01: a period 1999 + b period 1334; vat 20 % of 3333 → 667; total 4000. Note 1334 + 267 = 1601, offset 1601. Note 1999 + 400 = 2399, offset 2399",
      { notes },
    );
  });
});

describe("a void", () => {
  test("G42 gives back what coupons and credit took of all parts", async () => {
    const given = await from();
    const { story, c, made } = given;
    const coupons = [await discount(story, c, { amount_cents: 700 })];
    await grant(story, c, 1000);
    await thousands(given);
    await story.travelTo("2026-02-01");
    const [invoice] = await story.invoices();
    expect(outcome(await voidInvoice(story, invoice))).toBe("200");
    await story.travelTo("2026-03-01");
    await expectTold(
      made,
      "02-01: a period 1000 + b period 1000; discount 700 (350, 350); total 1300, credit applied 1000, due 300. 03-01: a period 1000 + b period 1000; discount 700 (350, 350); total 1300, credit applied 1000, due 300. Uses 2. Balance 0",
      { coupons },
    );
  });

  test("G43 leaves its parts taken, and nothing of a base in advance to give back", async () => {
    const { story, calls, made } = await from();
    const charges = [perUnit(calls, "0.10")];
    const plan = await story.plan({ amount_cents: 2800, base_timing: "advance", charges });
    const a = await subscribe(made, "a", { plan });
    await subscribe(made, "b", { plan });
    await story.travelTo("2026-02-01");
    const invoice = (await story.invoices()).at(-1);
    expect(outcome(await voidInvoice(story, invoice))).toBe("200");
    await story.travelTo("2026-02-10T12:00");
    await story.terminate(a);
    await story.travelTo("2026-03-01");
    await expectTold(
      made,
      "01-01: a start 2800; total 2800. 01-01: b start 2800; total 2800. 02-01: a period 0 + a advance 2800 + b period 0 + b advance 2800; total 5600. 03-01: b period 0 + b advance 2800; total 2800",
    );
  });
});

describe("payments", () => {
  test("G45 are of the whole", async () => {
    const given = await from();
    const { story, made } = given;
    await thousands(given);
    await story.travelTo("2026-02-01");
    const [invoice] = await story.invoices();
    await paid(story, invoice, 500);
    expect(await story.invoice(invoice.id)).toMatchObject({
      amount_due_cents: 1500,
      payment_status: "partially_paid",
    });
    await story.travelTo("2026-02-10");
    await paid(story, invoice, 1500);
    expect(await story.invoice(invoice.id)).toMatchObject({
      amount_due_cents: 0,
      status: "succeeded",
      part_count: 2,
    });
    expect(partFaults(await story.invoice(invoice.id))).toEqual([]);
    await expectTold(made, "02-01: a period 1000 + b period 1000; total 2000");
  });
});
