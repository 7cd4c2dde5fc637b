// One successful call of every route of taxes, coupons, grants, credit notes and refunds.

import type { Client } from "./client.ts";
import { called, type Happy } from "./happy-call.ts";
import { code, makeCustomer } from "./records.ts";

/** Each finds what it needs in what was made before it. */
export async function* moneyCalls(api: Client): AsyncGenerator<Happy> {
  const { id: customer_id } = await makeCustomer(api);
  yield* taxesAndCoupons(api, customer_id);
  yield* ledger(api, customer_id);
  yield* invoices(api, customer_id);
}

async function* taxesAndCoupons(api: Client, customer_id: string) {
  const rate = { code: code("tax"), name: "VAT", percent: "20" };
  const tax = await called(api, "POST /v1/taxes", "/v1/taxes", rate);
  yield tax;
  yield await called(api, "POST /v1/taxes", "/v1/taxes", { ...rate, percent: "19" });
  yield await called(api, "GET /v1/taxes", "/v1/taxes");
  const ofTax = `/v1/taxes/${tax.answer.body.tax.id}`;
  yield await called(api, "GET /v1/taxes/:id", ofTax);
  yield await called(api, "DELETE /v1/taxes/:id", ofTax);
  const terms = { code: code("coupon"), name: "Coupon", percent: "10" };
  const coupon = await called(api, "POST /v1/coupons", "/v1/coupons", terms);
  yield coupon;
  yield await called(api, "GET /v1/coupons", "/v1/coupons");
  const ofCoupon = `/v1/coupons/${coupon.answer.body.coupon.id}`;
  yield await called(api, "GET /v1/coupons/:id", ofCoupon);
  const apply = "POST /v1/coupons/:id/apply";
  const applied = await called(api, apply, `${ofCoupon}/apply`, { customer_id });
  yield applied;
  const list = `/v1/applied-coupons?customer_id=${customer_id}`;
  yield await called(api, "GET /v1/applied-coupons", list);
  const ofApplied = `/v1/applied-coupons/${applied.answer.body.applied_coupon.id}`;
  yield await called(api, "GET /v1/applied-coupons/:id", ofApplied);
  yield await called(api, "DELETE /v1/applied-coupons/:id", ofApplied);
  yield await called(api, "DELETE /v1/coupons/:id", ofCoupon);
}

async function* ledger(api: Client, customer_id: string) {
  const free = { customer_id, amount_cents: 500, kind: "free" };
  const grant = await called(api, "POST /v1/grants", "/v1/grants", free);
  yield grant;
  yield await called(api, "GET /v1/grants", `/v1/grants?customer_id=${customer_id}`);
  const ofGrant = `/v1/grants/${grant.answer.body.grant.id}`;
  yield await called(api, "GET /v1/grants/:id", ofGrant);
  const customer = `/v1/customers/${customer_id}`;
  yield await called(api, "GET /v1/customers/:id/ledger", `${customer}/ledger?currency=USD`);
  yield await called(api, "GET /v1/customers/:id/credits", `${customer}/credits`);
  yield await called(api, "GET /v1/customers/:id/wallets", `${customer}/wallets`);
  const wallet = "PUT /v1/customers/:id/wallets/:currency";
  yield await called(api, wallet, `${customer}/wallets/USD`, { low_balance_cents: 1 });
  yield await called(api, "POST /v1/grants/:id/revoke", `${ofGrant}/revoke`);
}

async function* invoices(api: Client, customer_id: string) {
  const lines = [{ name: "Work", unit_amount_cents: 1_000 }];
  const made = await called(api, "POST /v1/invoices", "/v1/invoices", { customer_id, lines });
  yield made;
  const { id: invoice_id } = made.answer.body.invoice;
  const path = `/v1/invoices/${invoice_id}`;
  yield await called(api, "PATCH /v1/invoices/:id", path, { memo: "Thanks" });
  const { payment } = await api.post("/v1/payments", {
    invoice_id,
    amount_cents: 900,
    currency: "USD",
    provider: "bank",
    provider_payment_id: code("paid"),
  });
  yield await called(api, "POST /v1/invoices/:id/write-off", `${path}/write-off`);
  const previews = "/v1/credit-notes/preview";
  yield await called(api, `POST ${previews}`, previews, { invoice_id });
  const wanted = { invoice_id, refund_cents: 200 };
  const note = await called(api, "POST /v1/credit-notes", "/v1/credit-notes", wanted);
  yield note;
  const { id: credit_note_id } = note.answer.body.credit_note;
  yield await called(api, "GET /v1/credit-notes", `/v1/credit-notes?invoice_id=${invoice_id}`);
  yield await called(api, "GET /v1/credit-notes/:id", `/v1/credit-notes/${credit_note_id}`);
  const out = { payment_id: payment.id, credit_note_id, amount_cents: 50 };
  const refund = { ...out, provider_refund_id: code("refund") };
  yield await called(api, "POST /v1/refunds", "/v1/refunds", refund);
  yield await called(api, "POST /v1/refunds", "/v1/refunds", refund);
  yield await called(api, "GET /v1/refunds", "/v1/refunds");
}
