// Documents made of records, without a service: an invoice of one fee and what may be varied.

import { type DocumentInput, invoiceDocument } from "../../src/domain/documents/document.ts";
import type { Fee, InvoicePart, InvoiceWithFees } from "../../src/schema/invoices.ts";

export const ISSUER: DocumentInput["issuer"] = {
  name: "Northwind Metering Ltd",
  address: "1 Sample Street\nSampletown AB1 2CD",
  city: "",
  postal_code: "",
  region: "",
  country: "",
  tax_id: "GB000000000",
  tax_codes: null,
  footer: "",
  invoice_prefix: "INV",
  credit_note_prefix: "CN",
  payment_url: "",
  payment_instructions: "",
  support_email: "",
  logo_color: "#0b6e4f",
  net_payment_days: 14,
  default_currency: "USD",
  late_usage_periods: 2,
  portal_access: "open",
  invoice_grouping: "separate",
};

export function usage(name: string, fields: Partial<Fee> = {}): Fee {
  const fee = {
    id: "00000000-0000-7000-8000-000000000001",
    part: 0,
    subscription_id: null,
    fee_type: "charge" as const,
    charge_id: null,
    billable_metric_code: name,
    units: "430.5",
    amount_cents: 10_763,
    amount_currency: "USD",
    discount_cents: 0,
    taxes: [],
    ...fields,
    properties: { name, ...(fields.properties ?? { amount: "0.25" }) },
  };
  return { taxable_cents: fee.amount_cents - fee.discount_cents, ...fee };
}

export type Variation = {
  readonly fees?: Fee[];
  readonly invoice?: Partial<InvoiceWithFees>;
  readonly issuer?: Partial<DocumentInput["issuer"]>;
  readonly customer?: { name?: string; email?: string; reference?: string };
  readonly settlement?: Partial<DocumentInput["settlement"]>;
};

export function partOf(fields: Partial<InvoicePart> = {}): InvoicePart {
  return {
    part: 0,
    subscription_id: "00000000-0000-7000-8000-000000000004",
    subscription_external_id: "main",
    plan_code: "pro",
    reason: "period",
    period_start: "2025-01-01",
    period_end: "2025-01-31",
    due_at: new Date("2025-02-01T00:00:00.000Z"),
    set_aside: false,
    subtotal_cents: 0,
    discount_cents: 0,
    net_cents: 0,
    ...fields,
  };
}

export function invoiceOf({ fees = [usage("API calls")], invoice }: Variation): InvoiceWithFees {
  const total_cents = fees.reduce((sum, fee) => sum + fee.amount_cents, 0);
  return {
    id: "00000000-0000-7000-8000-000000000002",
    number: "INV-2025-0007",
    status: "outstanding",
    payment_status: "pending",
    invoice_type: "subscription",
    customer_id: "00000000-0000-7000-8000-000000000003",
    customer_external_id: "acme",
    customer_name: "Acme Ltd",
    subscription_id: null,
    currency: fees[0]?.amount_currency ?? "USD",
    subtotal_cents: total_cents,
    discount_cents: 0,
    tax_cents: 0,
    total_cents,
    credit_applied_cents: 0,
    offset_cents: 0,
    amount_paid_cents: 0,
    overpaid_cents: 0,
    written_off_cents: 0,
    amount_due_cents: total_cents,
    credit_notes_cents: 0,
    issuing_date: "2025-02-01",
    due_date: "2025-02-15",
    period_start: "2025-01-10",
    period_end: "2025-01-31",
    part_count: 1,
    subscription_count: 1,
    voided_at: null,
    created_at: new Date("2025-02-01T00:00:00.000Z"),
    memo: "",
    po_number: "",
    metadata: {},
    tax_note: "",
    payment_url: null,
    coupons: [],
    taxes: [],
    credits: [],
    seller: {},
    buyer: {},
    parts: [partOf()],
    fees,
    ...invoice,
  };
}

export const PAYMENT = {
  id: "00000000-0000-7000-8000-000000000009",
  invoice_id: "00000000-0000-7000-8000-000000000002",
  amount_cents: 12_000,
  currency: "USD",
  provider: "bank",
  provider_payment_id: "p1",
  reference: null,
  status: "succeeded",
  paid_at: new Date("2025-02-03T00:00:00.000Z"),
  refunded_cents: 0,
  created_at: new Date("2025-02-03T00:00:00.000Z"),
};

export const NAMES: DocumentInput["names"] = {
  plans: new Map([["pro", "Professional"]]),
  dimensions: new Map(),
};

const CUSTOMER = {
  name: "Blue Harbour Shipping",
  email: "billing@blue.test",
  reference: "cus-1029",
};

/** The invoice keeps the issuer and the customer as they are varied, or what it says itself. */
export function inputOf(variation: Variation = {}): DocumentInput {
  const issuer = { ...ISSUER, ...variation.issuer };
  const { name, address, tax_id } = issuer;
  const { reference: external_id, ...customer } = { ...CUSTOMER, ...variation.customer };
  const kept = { seller: { name, address, tax_id }, buyer: { ...customer, external_id } };
  return {
    issuer,
    invoice: { ...invoiceOf(variation), ...kept, ...partiesIn(variation) },
    names: NAMES,
    settlement: { payments: [], refunds: [], notes: [], ...variation.settlement },
  };
}

function partiesIn({ invoice: { seller, buyer } = {} }: Variation) {
  return { ...(seller && { seller }), ...(buyer && { buyer }) };
}

export function documentOf(variation: Variation = {}) {
  return invoiceDocument(inputOf(variation));
}
