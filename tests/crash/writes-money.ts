// The writes of taxes, coupons, grants, credit notes, refunds and invoices of one's own, each as
// one call on what `makeMoney` made.

import { request, type Write } from "./request.ts";

const TAXES_AND_COUPONS: readonly Write[] = [
  request(
    "create a tax",
    "POST",
    () => "/v1/taxes",
    () => ({ code: "new", name: "New", percent: "5.5" }),
  ),
  request("archive a tax", "DELETE", ({ tax_unused }) => `/v1/taxes/${tax_unused}`),
  request(
    "create a coupon",
    "POST",
    () => "/v1/coupons",
    () => ({ code: "new", name: "New", amount_cents: 500, currency: "USD" }),
  ),
  request("archive a coupon", "DELETE", ({ coupon_unused }) => `/v1/coupons/${coupon_unused}`),
  request(
    "apply a coupon",
    "POST",
    ({ coupon_later }) => `/v1/coupons/${coupon_later}/apply`,
    ({ c4 }) => ({ customer_id: c4 }),
  ),
  request("end a coupon", "DELETE", ({ applied }) => `/v1/applied-coupons/${applied}`),
];

const LEDGER: readonly Write[] = [
  request(
    "grant credit",
    "POST",
    () => "/v1/grants",
    ({ c1 }) => ({ customer_id: c1, amount_cents: 400, kind: "free" }),
  ),
  request(
    "sell credit",
    "POST",
    () => "/v1/grants",
    ({ c1 }) => ({ customer_id: c1, amount_cents: 400, kind: "paid" }),
  ),
  request("take credit back", "POST", ({ lasting_grant }) => `/v1/grants/${lasting_grant}/revoke`),
  request(
    "pay a top-up",
    "POST",
    () => "/v1/payments",
    ({ wanted_invoice }) => ({
      invoice_id: wanted_invoice,
      amount_cents: 2_100,
      currency: "USD",
      provider: "bank",
      provider_payment_id: "top-up",
      allow_overpayment: true,
      paid_at: "2025-02-14T00:00:00.000Z",
    }),
  ),
  request(
    "watch a wallet, which is low and topped up",
    "PUT",
    ({ c1 }) => `/v1/customers/${c1}/wallets/USD`,
    () => ({ low_balance_cents: 1_000_000, top_up_cents: 5_000 }),
  ),
];

const INVOICES: readonly Write[] = [
  request(
    "invoice lines of one's own, with a coupon, a tax and credit",
    "POST",
    () => "/v1/invoices",
    ({ c4 }) => ({
      customer_id: c4,
      lines: [{ name: "Work", quantity: "1.5", unit_amount_cents: 9_000 }],
    }),
  ),
  request(
    "change an invoice's words",
    "PATCH",
    ({ open_invoice }) => `/v1/invoices/${open_invoice}`,
    () => ({ memo: "Thanks", payment_url: "https://pay.example.com/1" }),
  ),
  request(
    "write an invoice off",
    "POST",
    ({ open_invoice }) => `/v1/invoices/${open_invoice}/write-off`,
  ),
  request(
    "void an invoice with a coupon, a tax and a payment",
    "POST",
    ({ open_invoice }) => `/v1/invoices/${open_invoice}/void`,
  ),
  request(
    "credit a line that is due",
    "POST",
    () => "/v1/credit-notes",
    ({ open_invoice, open_fee }) => ({
      invoice_id: open_invoice,
      lines: [{ fee_id: open_fee, amount_cents: 100 }],
    }),
  ),
  request(
    "credit all that is left of a paid invoice",
    "POST",
    () => "/v1/credit-notes",
    ({ settled_invoice }) => ({ invoice_id: settled_invoice, refund_cents: 500 }),
  ),
  request(
    "credit a top-up",
    "POST",
    () => "/v1/credit-notes",
    ({ bought_invoice }) => ({ invoice_id: bought_invoice }),
  ),
  request(
    "pay out a credit note",
    "POST",
    () => "/v1/refunds",
    ({ settled_payment, note }) => ({
      payment_id: settled_payment,
      credit_note_id: note,
      amount_cents: 500,
      provider_refund_id: "r1",
      refunded_at: "2025-02-14T00:00:00.000Z",
    }),
  ),
  request(
    "record a refund by its reference alone, which is due again",
    "POST",
    () => "/v1/refunds",
    ({ settled_payment }) => ({
      payment_id: settled_payment,
      amount_cents: 300,
      provider_refund_id: "r2",
      refunded_at: "2025-02-14T00:00:00.000Z",
    }),
    { keyed: false },
  ),
];

export const MONEY_WRITES: readonly Write[] = [...TAXES_AND_COUPONS, ...LEDGER, ...INVOICES];
