// Payments and refunds are reported once they happened.

import { beforeAll, expect, test } from "vitest";
import { type App, type Json, sharedApp } from "../../support/app.ts";
import { sandbox } from "../../support/given.ts";

let app: App;
beforeAll(async () => {
  app = await sharedApp();
});

test("money that came or went more than a day from now is refused", async () => {
  const project = await sandbox(app, "2026-01-10");
  const customer = await project.customer();
  await project.apply(await project.addOn({ amount_cents: 500, currency: "USD" }), customer);
  const [invoice] = (await project.get("/v1/invoices?limit=1")).invoices;
  const ahead = "2026-01-11T00:00:00.001Z";
  const refused = await project.pay(invoice, 500, { paid_at: ahead });
  expect([refused.status, refused.body.error.details[0].field]).toEqual([422, "paid_at"]);
  const paid = await project.pay(invoice, 500, { paid_at: "2026-01-11T00:00:00.000Z" });
  expect(paid.status).toBe(201);
  const refund = { payment_id: paid.body.payment.id, amount_cents: 1, provider_refund_id: "r" };
  const late = await project.call("POST", "/v1/refunds", { ...refund, refunded_at: ahead });
  expect([late.status, late.body.error.details[0].field]).toEqual([422, "refunded_at"]);
  expect((await project.get("/v1/analytics")).revenue_30d_cents).toBe(0);
});

test("payments are listed by day with the names of their invoice and customer", async () => {
  const project = await sandbox(app, "2026-01-10");
  const customer = await project.customer({ external_id: "acme", name: "Acme Ltd" });
  const addOn = await project.addOn({ amount_cents: 500, currency: "USD" });
  const days = ["2026-01-09T23:59:59.999Z", "2026-01-08T00:00:00.000Z", "2026-01-10T00:00:00.000Z"];
  for (const paid_at of days) {
    await project.apply(addOn, customer);
    const [invoice] = (await project.get("/v1/invoices?limit=1")).invoices;
    const { body } = await project.pay(invoice, 500, { paid_at });
    const names = { customer_id: customer.id, customer_external_id: "acme" };
    const told = { invoice_number: invoice?.number, customer_name: "Acme Ltd", ...names };
    expect(body.payment).toMatchObject(told);
    expect(await project.get(`/v1/payments/${body.payment.id}`)).toEqual(body);
    expect((await project.get("/v1/payments?limit=1")).payments).toEqual([body.payment]);
  }
  const paid = async (query: string) => {
    const { payments } = await project.get(`/v1/payments?${query}`);
    return payments.map(({ paid_at }: Json) => days.indexOf(paid_at));
  };
  expect(await paid("")).toEqual([2, 1, 0]);
  expect(await paid("paid_from=2026-01-08")).toEqual([2, 0, 1]);
  expect(await paid("paid_to=2026-01-09")).toEqual([0, 1]);
  expect(await paid("paid_from=2026-01-09&paid_to=2026-01-09&customer_id=ext:acme")).toEqual([0]);
  expect(await paid("paid_from=2026-01-11")).toEqual([]);
});
