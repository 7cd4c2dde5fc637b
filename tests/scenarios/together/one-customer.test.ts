// One invoice for what the clock brings for one customer, in one currency, at one instant; and what
// never joins.

import { describe, expect, test } from "vitest";
import { flatFee, instant, perUnit } from "../../support/given.ts";
import { oneOff, stories } from "../../support/money.ts";
import {
  expectTold,
  type Mode,
  nextOf,
  partFaults,
  subscribe,
  type Together,
  together,
} from "../../support/together.ts";
import { played } from "./five-parts.ts";

const { begin } = stories();

const ADVANCE = { base_timing: "advance" };

async function from(at = "2026-01-01", mode: Mode = "customer") {
  const made = await together(await begin(at), mode);
  return { ...made, made };
}

describe("three subscriptions of a customer", () => {
  const starts = "01-01: b1 start 2000; total 2000. 01-01: c3 start 2000; total 2000. ";
  test.each([
    {
      number: "G11",
      mode: "customer" as const,
      close:
        "02-01: b1 period 1000 + b1 advance 2000 + a2 period 500 + c3 period 200 + c3 advance 2000; total 5700",
    },
    {
      number: "G12",
      mode: "subscription" as const,
      close:
        "02-01: b1 period 1000 + b1 advance 2000; total 3000. 02-01: a2 period 500; total 500. 02-01: c3 period 200 + c3 advance 2000; total 2200",
    },
    {
      number: "G13",
      mode: "separate" as const,
      close:
        "02-01: b1 period 1000; total 1000. 02-01: b1 advance 2000; total 2000. 02-01: a2 period 500; total 500. 02-01: c3 period 200; total 200. 02-01: c3 advance 2000; total 2000",
    },
  ])("$number $mode", async ({ mode, close }) => {
    const { story, made } = await from("2026-01-01", mode);
    await played(made);
    await story.travelTo("2026-02-01");
    await expectTold(made, starts + close);
    for (const invoice of await story.invoices()) expect(partFaults(invoice)).toEqual([]);
  });

  test("G11 says of each part whose it is, and of the invoice that it is of several", async () => {
    const { story, made } = await from();
    const { b1, a2 } = await played(made);
    await story.travelTo("2026-02-01");
    const invoice = (await story.invoices()).at(-1);
    expect(invoice).toMatchObject({
      number: "INV-2026-0003",
      invoice_type: "subscription",
      subscription_id: null,
      period_start: "2026-01-01",
      period_end: "2026-02-28",
      subtotal_cents: 5700,
      total_cents: 5700,
      part_count: 5,
      subscription_count: 3,
    });
    const due_at = "2026-02-01T00:00:00.000Z";
    const none = { set_aside: false, discount_cents: 0 };
    const january = { period_start: "2026-01-01", period_end: "2026-01-31", due_at, ...none };
    const february = { period_start: "2026-02-01", period_end: "2026-02-28", due_at, ...none };
    const of = { subscription_id: b1.id, subscription_external_id: "b1", plan_code: "p" };
    const [first, second, third] = invoice.parts;
    expect([first, second]).toEqual([
      { part: 0, ...of, reason: "period", ...january, subtotal_cents: 1000, net_cents: 1000 },
      { part: 1, ...of, reason: "advance", ...february, subtotal_cents: 2000, net_cents: 2000 },
    ]);
    const other = { subscription_id: a2.id, subscription_external_id: "a2", plan_code: "q" };
    const cents = { subtotal_cents: 500, net_cents: 500 };
    expect(third).toEqual({ part: 2, ...other, reason: "period", ...january, ...cents });
    const usage = invoice.fees.find((fee: { part: number; fee_type: string }) => {
      return fee.part === 0 && fee.fee_type === "charge";
    });
    expect(usage).toMatchObject({ subscription_id: b1.id, billable_metric_code: "calls" });
  });

  test("G44 is previewed as it is closed, and the preview leaves nothing", async () => {
    const { story, c, made } = await from();
    await played(made, "2026-01-10");
    await story.travelTo("2026-01-20");
    const before = await story.invoices();
    const preview = await story.post("/v1/invoices/preview", nextOf(c));
    expect(preview).toMatchObject({
      due_at: "2026-02-01T00:00:00.000Z",
      next_invoice_previews: [],
    });
    expect(await story.invoices()).toEqual(before);
    await story.travelTo("2026-02-01");
    await expectTold(
      made,
      "01-01: b1 start 2000; total 2000. 01-01: c3 start 2000; total 2000. 02-01: b1 period 1000 + b1 advance 2000 + a2 period 500 + c3 period 200 + c3 advance 2000; total 5700",
    );
    const closed = (await story.invoices()).at(-1);
    const { fees, ...figures } = preview.invoice_preview;
    expect(closed).toMatchObject(figures);
    expect(closed.fees).toMatchObject(fees);
    expect(closed.fees).toHaveLength(fees.length);
  });
});

describe("whose mode counts", () => {
  async function two(mode: Mode, own: Mode): Promise<Together & { customers: unknown[] }> {
    const { story, c, made } = await from("2026-01-01", mode);
    const d = await story.customer({ external_id: "d", invoice_grouping: own });
    for (const [customer, names] of [
      [c, ["c1", "c2"]],
      [d, ["d1", "d2"]],
    ]) {
      for (const name of names) await subscribe(made, name, { customer, amount_cents: 500 });
    }
    await story.travelTo("2026-02-01");
    return { ...made, customers: [c, d] };
  }

  test("G14 the settings' for who has none, else the customer's: separate", async () => {
    const { customers, ...made } = await two("customer", "separate");
    await expectTold(
      made,
      "c 02-01: c1 period 500 + c2 period 500; total 1000. d 02-01: d1 period 500; total 500. d 02-01: d2 period 500; total 500",
      { customers },
    );
  });

  test("G15 the settings' for who has none, else the customer's: customer", async () => {
    const { customers, ...made } = await two("separate", "customer");
    await expectTold(
      made,
      "c 02-01: c1 period 500; total 500. c 02-01: c2 period 500; total 500. d 02-01: d1 period 500 + d2 period 500; total 1000",
      { customers },
    );
  });
});

describe("only what falls due together", () => {
  test("G16 months, weeks and anniversaries meet where their instants do", async () => {
    const { story, made } = await from();
    await subscribe(made, "m", { amount_cents: 1000 });
    await subscribe(made, "w", { amount_cents: 700, interval: "weekly" });
    const anniversary = { billing_time: "anniversary", anchor_date: "2026-01-15" };
    await subscribe(made, "y", { amount_cents: 1000, ...anniversary });
    await story.travelTo("2026-02-02");
    await expectTold(
      made,
      "01-05: w period 400; total 400. 01-12: w period 700; total 700. 01-15: y period 452; total 452. 01-19: w period 700; total 700. 01-26: w period 700; total 700. 02-01: m period 1000; total 1000. 02-02: w period 700; total 700",
    );
  });

  test("G17 an invoice for each currency, in the order of their codes", async () => {
    const { story, made } = await from();
    await subscribe(made, "b", { amount_cents: 1000 });
    await subscribe(made, "a", { amount_cents: 800, amount_currency: "EUR" });
    await subscribe(made, "d", { amount_cents: 500 });
    await story.travelTo("2026-02-01");
    await expectTold(
      made,
      "02-01: a period 800; total 800. 02-01: b period 1000 + d period 500; total 1500",
    );
    expect((await story.invoices()).map(({ currency }) => currency)).toEqual(["EUR", "USD"]);
  });

  test("G18 starts and ends of trials join", async () => {
    const { story, calls, made } = await from();
    const charges = [perUnit(calls, "0.10")];
    const plan = await story.plan({ amount_cents: 1000, ...ADVANCE, charges });
    await subscribe(made, "a", { plan });
    await subscribe(made, "b", { plan, starts_at: "2026-02-01" });
    await subscribe(made, "d", { plan, trial_days: 31 });
    await story.travelTo("2026-02-01");
    await expectTold(
      made,
      "01-01: a start 1000; total 1000. 02-01: a period 0 + a advance 1000 + b start 1000 + d start 1000; total 3000",
    );
  });

  test("G19 an end by ends_at joins", async () => {
    const { story, calls, made } = await from();
    const charges = [perUnit(calls, "0.10")];
    const plan = await story.plan({ amount_cents: 3100, ...ADVANCE, charges });
    await subscribe(made, "a", { plan });
    const b = await subscribe(made, "b", { plan, ends_at: "2026-02-01" });
    await story.use(b, calls, "10");
    await story.travelTo("2026-02-01");
    await expectTold(
      made,
      "01-01: a start 3100; total 3100. 01-01: b start 3100; total 3100. 02-01: a period 0 + a advance 3100 + b period 100; total 3200",
    );
  });
});

describe("what never joins", () => {
  test("G20 the end by a call", async () => {
    const { story, made } = await from();
    await subscribe(made, "a", { amount_cents: 3100 });
    const b = await subscribe(made, "b", { amount_cents: 3100 });
    await story.travelTo("2026-01-20T10:00");
    await story.terminate(b);
    await story.travelTo("2026-02-01");
    await expectTold(made, "01-20: b period 2000; total 2000. 02-01: a period 3100; total 3100");
  });

  test("G21 a change by a call is one invoice, and no other subscription is on it", async () => {
    const { story, calls, made } = await from();
    const terms = { ...ADVANCE, charges: [perUnit(calls, "0.10")] };
    const a = await subscribe(made, "a", { amount_cents: 3100, ...terms });
    await subscribe(made, "b", { amount_cents: 500 });
    await story.travelTo("2026-01-16T12:00");
    await story.change(a, await story.plan({ amount_cents: 6200, ...terms }));
    await story.travelTo("2026-02-01");
    await expectTold(
      made,
      "01-01: a start 3100; total 3100. 01-16: a period -1600 + a advance 3200; total 1600. 02-01: a period 0 + a advance 6200 + b period 500; total 6700",
    );
  });

  test("G22 a one-off", async () => {
    const { story, c, made } = await from();
    await subscribe(made, "a", { amount_cents: 500 });
    await subscribe(made, "b", { amount_cents: 500 });
    await story.travelTo("2026-02-01");
    const { id } = await oneOff(story, c, "900");
    await expectTold(
      made,
      "02-01: a period 500 + b period 500; total 1000. 02-01: one_off 900; total 900",
    );
    const { parts, created_at, part_count } = await story.invoice(id);
    expect(part_count).toBe(1);
    expect(parts).toEqual([
      {
        part: 0,
        subscription_id: null,
        subscription_external_id: null,
        plan_code: null,
        reason: "one_off",
        period_start: "2026-02-01",
        period_end: "2026-02-01",
        due_at: created_at,
        set_aside: false,
        subtotal_cents: 900,
        discount_cents: 0,
        net_cents: 900,
      },
    ]);
  });

  test("G23 a supplement, though it falls due then", async () => {
    const { story, calls, made } = await from();
    const a = await subscribe(made, "a", { charges: [perUnit(calls, "0.10")] });
    await subscribe(made, "b", { amount_cents: 500 });
    await story.use(a, calls, "40");
    await story.travelTo("2026-01-20");
    await story.terminate(a);
    await story.travelTo("2026-01-31");
    await story.use(a, calls, "10", "2026-01-05");
    await story.travelTo("2026-02-01");
    await expectTold(
      made,
      "01-20: a period 400; total 400. 02-01: b period 500; total 500. 02-01: a supplement 100; total 100",
    );
  });

  test("G24 what has no line; a line of 0 stands beside another's, and nothing but 0 is none", async () => {
    const { story, calls, made } = await from();
    const plan = await story.plan({ charges: [perUnit(calls, "0.10")] });
    await subscribe(made, "a", { plan });
    const b = await subscribe(made, "b", { plan });
    await subscribe(made, "d");
    await story.use(b, calls, "5");
    await story.travelTo("2026-03-01");
    await expectTold(made, "02-01: a period 0 + b period 50; total 50");
  });

  test("a start at the moment of a call, and an add-on", async () => {
    const { story, c, made } = await from();
    await subscribe(made, "a", { amount_cents: 500 });
    const setup = flatFee({ amount_override_cents: 100, invoice_timing: "immediate" });
    await story.travelTo("2026-02-01");
    await subscribe(made, "b", { charges: [setup] });
    await story.apply(await story.addOn({ amount_cents: 70 }), c);
    const invoices = await story.invoices();
    expect(invoices.map(({ total_cents }) => total_cents)).toEqual([500, 100, 70]);
    expect(invoices.map(({ parts }) => parts[0].reason)).toEqual(["period", "start", "add_on"]);
    expect(invoices[2].parts[0].due_at).toBe(instant("2026-02-01"));
  });
});
