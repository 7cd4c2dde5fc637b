// Modes that change on the way, subscriptions that cannot be billed, more of them than an invoice
// takes, and a clock that jumps.

import { describe, expect, test } from "vitest";
import type { Json } from "../../support/app.ts";
import { flatFee, perUnit } from "../../support/given.ts";
import { discount, grant, stories, vat } from "../../support/money.ts";
import {
  expectTold,
  type Mode,
  partFaults,
  setMode,
  subscribe,
  together,
} from "../../support/together.ts";
import { withoutIds } from "../../support/twin-world.ts";
import { three } from "./five-parts.ts";

const { begin } = stories();

async function from(mode: Mode = "customer") {
  const made = await together(await begin("2026-01-01"), mode);
  return { ...made, made };
}

describe("a mode that changes", () => {
  test("G46 counts from the next instant on, and nothing is billed twice or left out", async () => {
    const { story, calls, made } = await from("separate");
    const charges = [perUnit(calls, "0.10")];
    await subscribe(made, "b1", { amount_cents: 2000, base_timing: "advance", charges });
    await subscribe(made, "a2", { amount_cents: 500 });
    for (const [at, mode] of [
      ["2026-02-15", "customer"],
      ["2026-03-15", "subscription"],
      ["2026-04-15", "separate"],
    ] as const) {
      await story.travelTo(at);
      await setMode(story, mode);
    }
    await story.travelTo("2026-05-01");
    await expectTold(
      made,
      "01-01: b1 start 2000; total 2000. 02-01: b1 advance 2000; total 2000. 02-01: a2 period 500; total 500. 03-01: b1 period 0 + b1 advance 2000 + a2 period 500; total 2500. 04-01: b1 period 0 + b1 advance 2000; total 2000. 04-01: a2 period 500; total 500. 05-01: b1 advance 2000; total 2000. 05-01: a2 period 500; total 500",
    );
  });

  test("G47 neither begins a coupon again nor loses a use", async () => {
    const { story, c, made } = await from("separate");
    const coupons = [await discount(story, c, { percent: "10", times: 2 })];
    await subscribe(made, "a", { amount_cents: 1000 });
    await story.travelTo("2026-02-15");
    await setMode(story, "customer");
    await subscribe(made, "b", { amount_cents: 1000 });
    await story.travelTo("2026-04-01");
    await expectTold(
      made,
      "02-01: a period 1000; discount 100 (100); total 900. 03-01: a period 1000 + b period 500; discount 100 (100, 0); total 1400. 04-01: a period 1000 + b period 1000; total 2000. Uses 2",
      { coupons },
    );
  });
});

describe("a subscription that cannot be billed", () => {
  test("G48 is set aside, the others go on, and it joins again from its next instant", async () => {
    const { story, made } = await from();
    const plan = await story.plan({ amount_cents: 3100 });
    const a = await subscribe(made, "a", { plan });
    await subscribe(made, "b", { amount_cents: 500 });
    await subscribe(made, "d", { amount_cents: 500 });
    await story.travelTo("2026-01-10");
    const perSeat = flatFee({ amount_override_cents: 100, seats: true });
    await story.patch(`/v1/plans/${plan.id}`, { charges: [perSeat] });
    await story.travelTo("2026-03-10");
    await story.update(a, { properties: { seats: 2 } });
    await story.travelTo("2026-04-01");
    await expectTold(
      made,
      "02-01: a period 3100 + b period 500 + d period 500; total 4100. 03-01: b period 500 + d period 500; total 1000. 03-10: a period (set aside) 3300; total 3300. 04-01: a period 3300 + b period 500 + d period 500; total 4300",
    );
    const invoices = await story.invoices();
    for (const invoice of invoices) expect(partFaults(invoice)).toEqual([]);
    expect(invoices[2].parts).toMatchObject([
      { set_aside: true, due_at: "2026-03-01T00:00:00.000Z", reason: "period" },
    ]);
    expect(invoices[3].parts.map((part: Json) => part.set_aside)).toEqual([false, false, false]);
  });
});

describe("many subscriptions", () => {
  test("G49 201 of them make two invoices, the oldest first", async () => {
    const { story, made } = await from();
    const plan = await story.plan({ amount_cents: 100 });
    for (let i = 1; i <= 201; i++) {
      await subscribe(made, `s${String(i).padStart(3, "0")}`, { plan });
    }
    await story.travelTo("2026-02-01");
    await expectTold(
      made,
      "02-01: s001 period 100 … s200 period 100 (200 parts); total 20000. 02-01: s201 period 100; total 100",
    );
  }, 60_000);
});

describe("three months", () => {
  const example =
    "01-01: b1 start 2000; vat 20 % of 2000 → 400; total 2400. 01-01: c3 start 2000; vat 20 % of 2000 → 400; total 2400. 02-01: b1 period 330 + b1 advance 2000 + a2 period 500 + c3 period 0 + c3 advance 2000; discount 483 (33, 200, 50, 0, 200); vat 20 % of 4347 → 869; total 5216, credit applied 3000, due 2216. 03-01: b1 period 0 + b1 advance 2000 + a2 period 500 + c3 period 0 + c3 advance 2000; vat 20 % of 4500 → 900; total 5400. 04-01: b1 period 0 + b1 advance 2000 + a2 period 500 + c3 period 0 + c3 advance 2000; vat 20 % of 4500 → 900; total 5400. Uses 4. Balance 0";

  async function playedBy(travel: (to: (at: string) => Promise<unknown>) => Promise<void>) {
    const { story, c, calls, made } = await from();
    await vat(story, "20");
    const { b1 } = await three(made);
    await story.use(b1, calls, "33");
    const coupons = [await discount(story, c, { code: "ten", percent: "10", times: 4 })];
    await grant(story, c, 3000);
    await travel((at) => story.travelTo(at));
    await expectTold(made, example, { coupons });
    return withoutIds(await story.invoices());
  }

  test("G50 in one jump and day by day make equal invoices", async () => {
    const jumped = await playedBy(async (to) => {
      await to("2026-04-01");
    });
    const stepped = await playedBy(async (to) => {
      const end = Date.UTC(2026, 3, 1);
      for (let day = Date.UTC(2026, 0, 2); day <= end; day += 86_400_000) {
        await to(new Date(day).toISOString());
      }
    });
    expect(stepped).toEqual(jumped);
  });
});
