// Twin projects are told the same story of everything that can be done: one's clock jumps, the
// other's goes in small steps. After each act both must answer the same about all that was billed,
// paid and used, and what was previewed must be what is billed.

import fc from "fast-check";
import { expect, test } from "vitest";
import type { Answer, Json } from "../../support/app.ts";
import type { Sandbox } from "../../support/given.ts";
import { stories } from "../../support/money.ts";
import { runs } from "../../support/property-runs.ts";
import { type Act, acts, Teller } from "../../support/twin-acts.ts";
import { Reader, type World, withoutIds, worldOf } from "../../support/twin-world.ts";

const TIMEOUT = { timeout: 3_600_000 };
const START = Date.parse("2026-01-07T13:00:00.000Z");
const HOUR_MS = 3_600_000;

const { begin } = stories();

class Twins {
  readonly jumps: Teller;
  readonly steps: Teller;
  readonly #readers: readonly [Reader, Reader];

  constructor(stories: readonly [Sandbox, Sandbox], worlds: readonly [World, World]) {
    this.jumps = new Teller(stories[0], worlds[0], START);
    this.steps = new Teller(stories[1], worlds[1], START);
    this.#readers = [new Reader(stories[0], worlds[0]), new Reader(stories[1], worlds[1])];
  }

  async act(act: Act, at: number): Promise<void> {
    if (act.kind === "travel") await this.#travel(act);
    else {
      const first = outcome(await this.jumps.play(act, at));
      expect(outcome(await this.steps.play(act, at))).toEqual(first);
    }
    const [jumped, stepped] = [await this.#readers[0].read(), await this.#readers[1].read()];
    expect(withoutIds(stepped)).toEqual(withoutIds(jumped));
  }

  async #travel({ a, b }: Act): Promise<void> {
    const from = this.jumps.now;
    const to = from + (1 + (a % 900)) * HOUR_MS;
    const known = (await this.jumps.story.invoices()).length;
    const previews = await previewsOf(this.jumps, to);
    await moveTo(this.jumps, to);
    const step = (1 + (b % 100)) * HOUR_MS;
    for (let at = from + step; at < to; at += step) await moveTo(this.steps, at);
    await moveTo(this.steps, to);
    await expectBilled(this.jumps.story, known, previews);
  }
}

async function moveTo(teller: Teller, to: number): Promise<void> {
  await teller.story.travelTo(new Date(to).toISOString());
  teller.now = to;
}

/** What a call came to; what fails is told as it is. */
function outcome(answer: Answer | undefined): unknown {
  if (answer === undefined) return undefined;
  expect(answer.status, JSON.stringify(answer.body)).toBeLessThan(500);
  return withoutIds([answer.status, answer.body?.error?.code ?? answer.body]);
}

/** What each period that ends on the way is to be billed, asked before the clock moves. */
async function previewsOf(teller: Teller, to: number): Promise<Json[]> {
  const previews: Json[] = [];
  for (const each of await teller.subscriptions()) {
    const { status, terminated_at, current_period_end, ends_at } = each;
    const end = Date.parse(ends_at ?? current_period_end);
    if (terminated_at !== null || status === "pending" || Math.min(end, to) === to) continue;
    const asked = await teller.story.call("POST", "/v1/invoices/preview", {
      subscription_id: each.id,
      at: "period_end",
    });
    if (asked.status === 200) previews.push(asked.body.invoice_preview);
  }
  return previews;
}

/** Each was billed as it was previewed; what the first of a customer comes to was told in full. */
async function expectBilled(story: Sandbox, known: number, previews: readonly Json[]) {
  const made = (await story.invoices()).slice(known);
  for (const preview of previews) {
    const { subscription_id, period_start, period_end, issuing_date } = preview;
    const billed = made.find(
      (invoice) =>
        invoice.subscription_id === subscription_id &&
        invoice.period_start === period_start &&
        invoice.period_end === period_end &&
        invoice.issuing_date === issuing_date,
    );
    const lines = ({ fees }: Json) =>
      fees
        .filter(({ amount_cents }: Json) => amount_cents !== 0)
        .map(({ fee_type, units, amount_cents, taxes }: Json) => {
          return { fee_type, units, amount_cents, taxes };
        });
    expect(billed === undefined ? [] : lines(billed)).toEqual(lines(preview));
    const first = made.find(({ customer_id }) => customer_id === billed?.customer_id);
    if (billed === undefined || first !== billed) continue;
    for (const field of TOLD_IN_FULL)
      expect([field, billed[field]]).toEqual([field, preview[field]]);
  }
}

const TOLD_IN_FULL = [
  "subtotal_cents",
  "discount_cents",
  "tax_cents",
  "total_cents",
  "credit_applied_cents",
] as const;

/** So that there is something to act on: a subscription to each plan. */
const OPENING: readonly Act[] = [0, 1, 2, 3, 4, 5].map((i) => {
  return { kind: "subscribe", a: i + 8, b: i, c: 2 * i + 1 };
});

test("a story is the same in one jump of the clock and in many steps", TIMEOUT, async () => {
  await fc.assert(
    fc.asyncProperty(acts(40, 60), async (story) => {
      const at = new Date(START).toISOString();
      const pair = [await begin(at), await begin(at)] as const;
      const twins = new Twins(pair, [await worldOf(pair[0]), await worldOf(pair[1])]);
      for (const [i, act] of [...OPENING, ...story].entries()) await twins.act(act, i);
    }),
    runs(60),
  );
});
