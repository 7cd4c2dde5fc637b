// One invoice for what falls due for one subscription at one instant: renewals, changes of plan,
// ends of trials, ends.

import { describe, expect, test } from "vitest";
import { flatFee, perUnit } from "../../support/given.ts";
import { stories } from "../../support/money.ts";
import { expectTold, type Mode, partFaults, subscribe, together } from "../../support/together.ts";

const { begin } = stories();

const ADVANCE = { base_timing: "advance" };

async function from(at: string, mode: Mode = "subscription") {
  const made = await together(await begin(at), mode);
  return { ...made, made };
}

describe("a renewal", () => {
  test.each([
    {
      number: "G01",
      mode: "subscription" as const,
      example:
        "01-01: a start 2000; total 2000. 02-01: a period 3000 + a advance 2000; total 5000. 03-01: a period 500 + a advance 2000; total 2500",
    },
    {
      number: "G02",
      mode: "separate" as const,
      example:
        "01-01: a start 2000; total 2000. 02-01: a period 3000; total 3000. 02-01: a advance 2000; total 2000. 03-01: a period 500; total 500. 03-01: a advance 2000; total 2000",
    },
  ])("$number of a base in advance and usage, $mode", async ({ mode, example }) => {
    const { story, calls, made } = await from("2026-01-01", mode);
    const charges = [perUnit(calls, "0.10")];
    const a = await subscribe(made, "a", { amount_cents: 2000, ...ADVANCE, charges });
    await story.use(a, calls, "300");
    await story.travelTo("2026-02-10");
    await story.use(a, calls, "50");
    await story.travelTo("2026-03-01");
    await expectTold(made, example);
    for (const invoice of await story.invoices()) expect(partFaults(invoice)).toEqual([]);
  });

  test("G03 of charges in advance and in arrears", async () => {
    const { story, made } = await from("2026-01-16");
    const charges = [
      flatFee({ amount_override_cents: 1000, invoice_timing: "advance" }),
      flatFee({ amount_override_cents: 300 }),
      flatFee({ amount_override_cents: 700, invoice_timing: "immediate" }),
    ];
    await subscribe(made, "a", { amount_cents: 500, charges });
    await story.travelTo("2026-03-01");
    await expectTold(
      made,
      "01-16: a start 1700; total 1700. 02-01: a period 558 + a advance 1000; total 1558. 03-01: a period 800 + a advance 1000; total 1800",
    );
  });

  test("G07 has late usage in the part of the close", async () => {
    const { story, calls, made } = await from("2026-01-01");
    const charges = [perUnit(calls, "0.10")];
    const a = await subscribe(made, "a", { amount_cents: 2000, ...ADVANCE, charges });
    await story.use(a, calls, "100");
    await story.travelTo("2026-02-03");
    await story.use(a, calls, "20", "2026-01-20");
    await story.travelTo("2026-03-01");
    await expectTold(
      made,
      "01-01: a start 2000; total 2000. 02-01: a period 1000 + a advance 2000; total 3000. 03-01: a period 200 + a advance 2000; total 2200",
    );
  });

  test("G10 holds a minimum to the period that ends alone", async () => {
    const { story, calls, made } = await from("2026-01-01");
    const charges = [perUnit(calls, "0.10")];
    const terms = { amount_cents: 2000, ...ADVANCE, minimum_cents: 5000, charges };
    const a = await subscribe(made, "a", terms);
    await story.use(a, calls, "100");
    await story.travelTo("2026-02-01");
    await expectTold(
      made,
      "01-01: a start 2000; total 2000. 02-01: a period 3000 + a advance 2000; total 5000",
    );
  });
});

describe("a change of plan", () => {
  test.each([
    {
      name: "G04 up, now",
      cents: [3100, 6200],
      example:
        "01-01: a start 3100; total 3100. 01-16: a period -1600 + a advance 3200; total 1600. 02-01: a period 0 + a advance 6200; total 6200",
    },
    {
      name: "G05 down, now",
      cents: [6200, 3100],
      example:
        "01-01: a start 6200; total 6200. 01-16: a period -3200 + a advance 1600; total 0, credit 1600. 02-01: a period 0 + a advance 3100; total 3100, credit applied 1600, due 1500. Balance 0",
    },
  ])("$name is one invoice, on which days given back lower the new plan's price", async (given) => {
    const { story, calls, made } = await from("2026-01-01");
    // Usage, of which there is none, gives each close a line of 0.
    const terms = { ...ADVANCE, charges: [perUnit(calls, "0.10")] };
    const [before, after] = given.cents;
    const a = await subscribe(made, "a", { amount_cents: before as number, ...terms });
    const plan = await story.plan({ amount_cents: after as number, ...terms });
    await story.travelTo("2026-01-16T12:00");
    await story.change(a, plan);
    await story.travelTo("2026-02-01");
    await expectTold(made, given.example);
  });

  test("G06 at the period's end", async () => {
    const { story, calls, made } = await from("2026-01-01");
    const a = await subscribe(made, "a", {
      amount_cents: 2000,
      ...ADVANCE,
      charges: [perUnit(calls, "0.10")],
    });
    const charges = [perUnit(calls, "0.05")];
    const plan = await story.plan({ amount_cents: 3000, ...ADVANCE, charges });
    await story.use(a, calls, "100");
    await story.change(a, plan, { change_at: "period_end" });
    await story.travelTo("2026-02-01");
    await expectTold(
      made,
      "01-01: a start 2000; total 2000. 02-01: a period 1000 + a advance 3000; total 4000",
    );
    const [, invoice] = await story.invoices();
    expect(invoice.parts[1].plan_code).toBe(plan.code);
    expect(invoice.parts[0].plan_code).not.toBe(plan.code);
  });
});

describe("a trial and an end", () => {
  test("G08 a trial's end is a start, and then it renews", async () => {
    const { story, calls, made } = await from("2026-01-01");
    const charges = [perUnit(calls, "0.10")];
    await subscribe(made, "a", { amount_cents: 3100, ...ADVANCE, trial_days: 14, charges });
    await story.travelTo("2026-02-01");
    await expectTold(
      made,
      "01-15: a start 1700; total 1700. 02-01: a period 0 + a advance 3100; total 3100",
    );
  });

  test("G09 nothing follows an end", async () => {
    const { story, calls, made } = await from("2026-01-01");
    const charges = [perUnit(calls, "0.10")];
    const terms = { amount_cents: 3100, ...ADVANCE, ends_at: "2026-02-10T12:00", charges };
    const a = await subscribe(made, "a", terms);
    await story.travelTo("2026-02-05");
    await story.use(a, calls, "30");
    await story.travelTo("2026-03-05");
    await expectTold(
      made,
      "01-01: a start 3100; total 3100. 02-01: a period 0 + a advance 1107; total 1107. 02-10: a period 300; total 300",
    );
  });
});
