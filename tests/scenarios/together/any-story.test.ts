// Stories drawn by chance, told in each mode: grouping decides what stands on one invoice, and
// no line, no period and no use of a coupon; and a preview of what is next is what is issued then.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { Json } from "../../support/app.ts";
import { perUnit } from "../../support/given.ts";
import { applied, discount, stories, vat } from "../../support/money.ts";
import { runs } from "../../support/property-runs.ts";
import { type Mode, nextOf, partFaults, subscribe, together } from "../../support/together.ts";

const { begin } = stories();

const MODES: readonly Mode[] = ["separate", "subscription", "customer"];
const DAY_MS = 86_400_000;
const FIRST = Date.UTC(2026, 0, 1);

const day = fc.integer({ min: 1, max: 100 });
const act = fc.record({
  kind: fc.constantFrom("subscribe", "use", "use", "late", "change", "terminate"),
  day,
  of: fc.nat(9),
  units: fc.integer({ min: 1, max: 400 }),
});
const told = fc.record({
  acts: fc.array(act, { minLength: 4, maxLength: 12 }),
  taxed: fc.boolean(),
  coupon: fc.constantFrom(
    undefined,
    { percent: "33.333", times: null },
    { percent: "10", times: 3 },
    { amount_cents: 300, times: 4 },
  ),
});
type Told = typeof told extends fc.Arbitrary<infer T> ? T : never;

function instantOf(days: number): string {
  return new Date(FIRST + days * DAY_MS).toISOString();
}

async function play({ acts, taxed, coupon }: Told, mode: Mode) {
  const made = await together(await begin("2026-01-01"), mode);
  const { story, c, calls } = made;
  if (taxed) await vat(story, "20");
  const once = coupon && (await discount(story, c, { code: "one", ...coupon }));
  const charges = [perUnit(calls, "0.07")];
  const plans = [
    await story.plan({ code: "p", amount_cents: 1999, base_timing: "advance", charges }),
    await story.plan({ code: "q", amount_cents: 1001, charges }),
    await story.plan({ code: "w", amount_cents: 333, interval: "weekly", charges }),
  ];
  const begun: Json[] = [await subscribe(made, "s0", { plan: plans[0] })];
  const previews: [due_at: string, previews: Json[]][] = [];
  for (const { kind, day, of, units } of acts.toSorted((a, b) => a.day - b.day)) {
    await story.travelTo(instantOf(day));
    const subscription = begun[of % begun.length];
    const plan = plans[of % plans.length];
    if (kind === "subscribe") begun.push(await subscribe(made, `s${begun.length}`, { plan }));
    // What has ended, or is on the plan already, refuses some of these, in every mode alike.
    const id = subscription.id;
    if (kind === "use")
      await story.call("POST", "/v1/events", story.usage(subscription, calls, String(units)));
    if (kind === "late") {
      const sent = story.usage(
        subscription,
        calls,
        String(units),
        instantOf(Math.max(0, day - 20)),
      );
      await story.call("POST", "/v1/events", sent);
    }
    if (kind === "change")
      await story.call("PATCH", `/v1/subscriptions/${id}`, { plan_id: plan.id });
    if (kind === "terminate") await story.call("POST", `/v1/subscriptions/${id}/terminate`);
  }
  const { status, body } = await story.call("POST", "/v1/invoices/preview", nextOf(c));
  if (status === 200) {
    previews.push([body.due_at, [body.invoice_preview, ...body.next_invoice_previews]]);
    await story.travelTo(body.due_at);
  }
  const invoices = await story.invoices();
  const uses = once === undefined ? 0 : (await applied(story, once)).uses;
  return { invoices, uses, previews };
}

/** What is billed, wherever it stands: of whom, for what, how much, and when. None are of 0. */
function linesIn(invoices: readonly Json[]): string[] {
  const lines = invoices.flatMap(({ issuing_date, parts, fees }) =>
    fees
      .filter((fee: Json) => fee.amount_cents !== 0)
      .map((fee: Json) => {
        const part = parts[fee.part];
        const of = `${part.subscription_external_id} ${part.period_start} ${part.period_end}`;
        return `${issuing_date} ${of} ${fee.fee_type} ${fee.units} ${fee.amount_cents}`;
      }),
  );
  return lines.sort();
}

/** All that was billed, less what became credit: of each invoice its sum, which may be below 0. */
function sumOf(invoices: readonly Json[]): number {
  return invoices.reduce((sum, { subtotal_cents, discount_cents, tax_cents }) => {
    return sum + subtotal_cents - discount_cents + tax_cents;
  }, 0);
}

function shownIn({ fees, parts, ...figures }: Json): unknown {
  const { subtotal_cents, discount_cents, tax_cents, total_cents, credit_applied_cents } = figures;
  const lines = fees.map(({ part, fee_type, units, amount_cents, discount_cents }: Json) => {
    return { part, fee_type, units, amount_cents, discount_cents };
  });
  const sums = { subtotal_cents, discount_cents, tax_cents, total_cents, credit_applied_cents };
  return { parts, lines, ...sums };
}

test("the modes bill the same lines and uses, and what is previewed is what is issued", async () => {
  await fc.assert(
    fc.asyncProperty(told, async (story) => {
      const [separate, ...others] = await Promise.all(MODES.map((mode) => play(story, mode)));
      if (separate === undefined) throw new Error("Every mode is played.");
      for (const { invoices, uses } of others) {
        expect(linesIn(invoices)).toEqual(linesIn(separate.invoices));
        expect(uses).toBe(separate.uses);
        // A fixed coupon is spread over other lines, which days given back follow later.
        if (story.coupon?.percent === undefined && story.coupon !== undefined) continue;
        // Each invoice rounds its tax and its discount once.
        const most = separate.invoices.length * 2;
        expect(Math.abs(sumOf(invoices) - sumOf(separate.invoices))).toBeLessThanOrEqual(most);
      }
      for (const { invoices, previews } of [separate, ...others]) {
        for (const invoice of invoices) expect(partFaults(invoice)).toEqual([]);
        for (const [due_at, shown] of previews) {
          const issued = invoices.filter(({ parts }) => parts[0].due_at === due_at).map(shownIn);
          const wanted = shown.filter(({ subtotal_cents, fees }) => {
            return subtotal_cents !== 0 || fees.some((fee: Json) => fee.amount_cents !== 0);
          });
          expect(issued.slice(-wanted.length || issued.length)).toEqual(wanted.map(shownIn));
        }
      }
    }),
    runs(6),
  );
}, 300_000);
