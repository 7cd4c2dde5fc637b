// Grants whose time is up while somebody pays for them: what was paid stays the customer's.

import { expect, test } from "vitest";
import { attended } from "../../support/attended.ts";
import { outcome } from "../../support/money.ts";
import { makeCustomer, RaceCourse } from "../../support/race.ts";

const START = "2026-01-10T00:00:00.000Z";
const EXPIRY = "2026-01-20T00:00:00.000Z";
const AFTER = "2026-01-20T00:00:00.250Z";

test("a top-up that is paid just after its expiry was found due keeps its money", async () => {
  const course = await RaceCourse.open();
  const { prompt } = await course.project("live");
  course.setClocks(START, START);
  const { id: customer_id } = await makeCustomer(prompt);
  const bought = { customer_id, kind: "paid", amount_cents: 5000, expires_at: EXPIRY };
  const { grant } = await prompt.post("/v1/grants", bought);
  const free = { ...bought, kind: "free", amount_cents: 300 };
  const { grant: gift } = await prompt.post("/v1/grants", free);
  course.setClocks(AFTER, AFTER);
  const payment = {
    invoice_id: grant.invoice_id,
    amount_cents: 5000,
    currency: "USD",
    provider: "bank",
    provider_payment_id: "late",
  };
  let answered = "";
  await course.workOn((db) =>
    attended(db, async (text) => {
      if (answered !== "" || !/from customers\s.*for no key update/s.test(text)) return;
      answered = "sent";
      answered = outcome(await prompt.call("POST", "/v1/payments", payment));
    }),
  );
  expect(answered).toBe("201");
  expect((await prompt.get(`/v1/grants/${grant.id}`)).grant).toMatchObject({
    status: "active",
    remaining_cents: 5000,
    expires_at: null,
  });
  expect((await prompt.get(`/v1/grants/${gift.id}`)).grant.status).toBe("expired");
  expect(await course.close()).toEqual([]);
});
