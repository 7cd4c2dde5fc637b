// The part of the world that has money: a customer of its own with taxes, coupons, grants, notes
// and refunds, so that the others keep their figures.

import type { App, Json } from "../support/app.ts";

/** Before the first period ends: its invoice has a coupon, a tax and credit. */
export async function makeAccount(app: App, ids: Record<string, string>): Promise<void> {
  for (const code of ["vat", "unused"]) {
    ids[`tax_${code}`] = (await app.post("/v1/taxes", { code, name: code, percent: "20" })).tax.id;
  }
  for (const code of ["welcome", "later", "unused"]) {
    const coupon = { code, name: code, percent: "10", times: null, max_redemptions: 5 };
    ids[`coupon_${code}`] = (await app.post("/v1/coupons", coupon)).coupon.id;
  }
  const { customer } = await app.post("/v1/customers", {
    external_id: "c4",
    name: "Customer c4",
    email: "c4@example.com",
    currency: "USD",
    tax_codes: ["vat"],
    country: "FR",
  });
  ids.c4 = customer.id;
  const owned = { external_id: "m1", customer_id: ids.c4, plan_id: ids.pro };
  ids.m1 = (
    await app.post("/v1/subscriptions", { ...owned, properties: { seats: 2 } })
  ).subscription.id;
  const applied = await app.post(`/v1/coupons/${ids.coupon_welcome}/apply`, {
    customer_id: ids.c4,
  });
  ids.applied = applied.applied_coupon.id;
  await grant(app, ids, "early", { amount_cents: 300 });
}

/** At the time of the world. */
export async function makeMoney(app: App, ids: Record<string, string>): Promise<void> {
  for (const name of ["open", "settled"]) {
    const lines = [
      { name, unit_amount_cents: 4_000 },
      { name: "More", unit_amount_cents: 777 },
    ];
    const { invoice } = await app.post("/v1/invoices", { customer_id: ids.c4, lines });
    ids[`${name}_invoice`] = invoice.id;
    ids[`${name}_due`] = String(invoice.amount_due_cents);
    ids[`${name}_fee`] = (await app.get(`/v1/invoices/${invoice.id}`)).invoice.fees[0].id;
  }
  await pay(app, ids, "settled", Number(ids.settled_due) + 90);
  await pay(app, ids, "open", 500);
  const credited = { invoice_id: ids.settled_invoice, refund_cents: 600 };
  const lines = [{ fee_id: ids.settled_fee, amount_cents: 900 }];
  ids.note = (await app.post("/v1/credit-notes", { ...credited, lines })).credit_note.id;
  await app.post("/v1/refunds", {
    payment_id: ids.settled_payment,
    credit_note_id: ids.note,
    amount_cents: 100,
    provider_refund_id: "earlier",
  });
  await grant(app, ids, "lasting", { amount_cents: 700 });
  await grant(app, ids, "ending", { amount_cents: 250, expires_at: "2025-02-15T23:00:00.000Z" });
  for (const name of ["bought", "wanted"]) {
    const { invoice_id } = await grant(app, ids, name, { amount_cents: 2_000, kind: "paid" });
    ids[`${name}_invoice`] = invoice_id;
  }
  await pay(app, ids, "bought", 2_000);
}

async function grant(app: App, ids: Record<string, string>, name: string, fields: Json) {
  const sent = { customer_id: ids.c4, kind: "free", ...fields };
  const made: Json = (await app.post("/v1/grants", sent)).grant;
  ids[`${name}_grant`] = made.id;
  return made;
}

async function pay(app: App, ids: Record<string, string>, name: string, amount_cents: number) {
  const { payment } = await app.post("/v1/payments", {
    invoice_id: ids[`${name}_invoice`],
    amount_cents,
    currency: "USD",
    provider: "bank",
    provider_payment_id: `for ${name}`,
    allow_overpayment: true,
  });
  ids[`${name}_payment`] = payment.id;
}
