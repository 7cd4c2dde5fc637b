// What samples of answers say about money: one invoice with a coupon, a tax and credit, and what
// belongs to it, with figures that add up.

const ID = "0197a2b4-7c1e-7d3a-9f52-3b8e6a1c4d70";

const figures = {
  subtotal_cents: 10_000,
  discount_cents: 1_000,
  tax_cents: 1_800,
  total_cents: 10_800,
  credit_applied_cents: 800,
  offset_cents: 0,
  amount_paid_cents: 0,
  overpaid_cents: 0,
  written_off_cents: 0,
  amount_due_cents: 10_000,
  credit_notes_cents: 0,
};
const tax = { code: "vat", name: "VAT", percent: "20" };
const fee = {
  fee_type: "charge",
  charge_id: ID,
  billable_metric_code: "api_calls",
  units: "2000",
  amount_cents: 10_000,
  discount_cents: 1_000,
  taxable_cents: 9_000,
  taxes: [{ code: "vat", percent: "20" }],
  properties: { name: "API calls" },
};
const parts = {
  coupons: [
    {
      applied_coupon_id: ID,
      code: "welcome",
      name: "Welcome",
      percent: "10",
      amount_cents: 1_000,
    },
  ],
  taxes: [{ ...tax, taxable_cents: 9_000, tax_cents: 1_800 }],
  credits: [{ grant_id: ID, kind: "free", amount_cents: 800 }],
  tax_note: "",
  fees: [fee],
};
const place = { city: "London", postal_code: "N1 9GU", region: "", country: "GB" };
const invoice = {
  ...figures,
  customer_id: ID,
  subscription_id: ID,
  memo: "",
  po_number: "PO-77",
  tax_note: "",
  payment_url: "https://pay.example.test/INV-2026-0001",
};
const note = {
  subtotal_cents: 4_500,
  tax_cents: 900,
  total_cents: 5_400,
  offset_cents: 5_400,
  refund_cents: 0,
  credit_cents: 0,
  refunded_cents: 0,
  taxes: [{ ...tax, taxable_cents: 4_500, tax_cents: 900 }],
  lines: [{ fee_id: ID, amount_cents: 4_500 }],
};
const terms = { percent: "10", times: 3, plan_codes: ["pro"] };

/** By record; what is not said here is made from the schema and from example requests. */
export const SAMPLE_RECORDS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  Invoice: invoice,
  InvoiceWithFees: {
    ...invoice,
    ...parts,
    seller: { name: "Example Ltd", address: "1 Sample Street", ...place, tax_id: "GB000000000" },
    buyer: { name: "Acme Ltd", address: "2 Other Street", ...place, tax_id: "GB111111111" },
  },
  InvoicePreview: { ...figures, ...parts, subscription_id: ID },
  CreditNote: {
    ...note,
    number: "CN-2026-0001",
    invoice_number: "INV-2026-0001",
    reason: "Outage on 20 January",
    memo: "",
  },
  CreditNotePreview: note,
  Coupon: { ...terms, code: "welcome", name: "Welcome", max_redemptions: 500, redemptions: 1 },
  AppliedCoupon: { ...terms, code: "welcome", customer_id: ID, uses: 1, used_cents: 1_000 },
  Grant: { customer_id: ID, amount_cents: 5_000, remaining_cents: 4_200, priority: 50 },
  LedgerEntry: { reason: "applied", amount_cents: -800, balance_cents: 4_200, invoice_id: ID },
  Wallet: {
    balance_cents: 4_200,
    running_cents: 2_900,
    available_cents: 1_300,
    low_balance_cents: 2_000,
    top_up_cents: 5_000,
  },
  Refund: { amount_cents: 5_400, provider_refund_id: "re_3Nk8" },
};
