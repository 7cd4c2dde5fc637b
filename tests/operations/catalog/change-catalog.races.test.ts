// New prices of a catalog item beside plans and subscriptions that are being given it: nobody waits
// in a ring, and what is billed in the end is the price that was set last.

import { expect, test } from "vitest";
import type { Answer, Json } from "../../support/app.ts";
import { flatFee } from "../../support/given.ts";
import { outcome, stories } from "../../support/money.ts";

const { begin } = stories();

const ROUNDS = 8;

test("a price, a plan with it and prices of a subscription's own, at once", async () => {
  const story = await begin("2026-01-10");
  const seat = { code: "seat", name: "Seat", currency: "USD" };
  const reprice = (amount_cents: number) =>
    story.call("POST", "/v1/catalog", { ...seat, amount_cents });
  await reprice(1);
  const charges = [flatFee({ catalog_item_code: "seat" })];
  const plans: Json[] = [];
  const subscriptions: Json[] = [];
  for (let i = 0; i < 3; i++) {
    plans.push(await story.plan({ charges }));
    subscriptions.push(await story.subscribe({ plan: plans[i], overrides: { charges } }));
  }
  const answers: Answer[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const price = 100 + round;
    const renamed = [{ ...charges[0], name: `Seat ${round}` }];
    answers.push(
      ...(await Promise.all([
        ...plans.map(({ id }) => story.call("PATCH", `/v1/plans/${id}`, { charges: renamed })),
        reprice(price),
        ...subscriptions.map(({ id }, i) =>
          story.call("PATCH", `/v1/subscriptions/${id}`, {
            ...(i === round % 3 && { plan_id: plans[(i + round) % 3].id }),
            overrides: { charges: renamed },
          }),
        ),
      ])),
    );
  }
  expect(new Set(answers.map(outcome))).toEqual(new Set(["200"]));
  expect(outcome(await reprice(500))).toBe("200");
  await story.travelTo("2026-03-01");
  for (const subscription of subscriptions) {
    const last: Json = (await story.invoices()).findLast(
      ({ subscription_id }: Json) => subscription_id === subscription.id,
    );
    expect(last.subtotal_cents).toBe(500);
  }
});
