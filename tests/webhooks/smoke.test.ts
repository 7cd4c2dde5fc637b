import { expect, test } from "vitest";
import { startWorkers } from "../../src/main.ts";
import { startApp } from "../support/app.ts";
import { Receiver } from "../support/receiver.ts";

test("an add-on tells its endpoint", async () => {
  const app = await startApp({ at: "2026-01-31T23:59:59.999Z" });
  const receiver = await Receiver.start();
  const { webhook_endpoint } = await app.post(
    "/v1/webhooks",
    {
      url: receiver.url(),
      events: [
        "invoice.created",
        "addon.applied",
        "payment.succeeded",
        "invoice.payment_overdue_reminder_1",
        "subscription.suspend_requested",
      ],
    },
    { "idempotency-key": "k1" },
  );
  const again = await app.call(
    "POST",
    "/v1/webhooks",
    {
      url: receiver.url(),
      events: [
        "invoice.created",
        "addon.applied",
        "payment.succeeded",
        "invoice.payment_overdue_reminder_1",
        "subscription.suspend_requested",
      ],
    },
    { "idempotency-key": "k1" },
  );
  expect(again.body.webhook_endpoint.secret).toBe(webhook_endpoint.secret);
  console.log(JSON.stringify(await app.get("/v1/webhooks")));
  await app.ok("PUT", "/v1/dunning", {
    enabled: true,
    steps: [
      { days_after_due: 3, webhook_event: "invoice.payment_overdue_reminder_1" },
      { days_after_due: 4, webhook_event: "subscription.suspend_requested" },
    ],
  });
  const stop = startWorkers(app.context, app.connection);
  const { customer } = await app.post("/v1/customers", { external_id: "a", name: "A" });
  const { add_on } = await app.post("/v1/addons", {
    code: "x",
    name: "X",
    amount_cents: 2500,
    currency: "EUR",
  });
  const t0 = performance.now();
  await app.post(`/v1/addons/${add_on.id}/apply`, { customer_id: customer.id });
  const got = await receiver.until(2);
  console.log(got.map((r) => [r.at - t0, r.raw.toString(), JSON.stringify(r.headers)]));
  console.log(JSON.stringify(await app.travelTo("2026-03-01T00:00:00Z")));
  await receiver.until(3);
  console.log(receiver.codes(), receiver.received.at(-1)?.raw.toString());
  await stop();
  console.log(
    JSON.stringify(
      (await app.get("/v1/webhook-deliveries")).webhook_deliveries.map((d: any) => ({
        ...d,
        payload: 0,
      })),
    ),
  );
  await receiver.close();
  await app.close();
});
