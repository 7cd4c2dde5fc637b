// What the log and the webhooks say about invoices.

import { subscriptionCount } from "../../domain/parts.ts";
import type { TaxLine } from "../../domain/taxes.ts";
import type { InvoicePart, InvoiceWithFees } from "../../schema/invoices.ts";
import type { InvoiceRow } from "../../store/invoices/invoices.ts";
import type { NewFee } from "../../store/invoices/new-invoices.ts";
import type { Fact } from "../emit.ts";
import type { InvoiceCustomer, InvoiceSubscription } from "./request.ts";

/** An invoice just made, with what a receiver is told of it. */
type Created = {
  readonly invoice: InvoiceRow;
  readonly payment_url: string | null;
  readonly fees: readonly NewFee[];
  readonly coupons: InvoiceWithFees["coupons"];
  readonly taxes: readonly TaxLine[];
  readonly parts: readonly InvoicePart[];
};

export function invoiceCreated(
  created: Created,
  customer: InvoiceCustomer,
  subscription: InvoiceSubscription | null,
): Fact {
  const { invoice } = created;
  return {
    type: "invoice.created",
    resource_id: invoice.id,
    payload: {
      number: invoice.number,
      invoice_type: invoice.invoice_type,
      total_cents: invoice.total_cents,
      currency: invoice.currency,
      customer_id: customer.id,
      subscription_id: subscription?.id ?? null,
      part_count: invoice.part_count,
    },
    webhook: {
      event: "invoice.created",
      data: { invoice: createdData(created), customer: customerData(customer), subscription },
    },
  };
}

/** Something is to be collected: at issue, or because a refund reopened the invoice. */
export function paymentDue(
  invoice: InvoiceRow,
  payment_url: string | null,
  customer: InvoiceCustomer,
): Fact {
  return {
    type: null,
    resource_id: invoice.id,
    payload: {},
    webhook: {
      event: "invoice.payment_due",
      data: { invoice: shortData(invoice, payment_url), customer: customerData(customer) },
    },
  };
}

/** The invoice as most webhooks show it. */
export function shortData(invoice: InvoiceRow, payment_url: string | null) {
  return {
    id: invoice.id,
    number: invoice.number,
    status: invoice.status,
    payment_status: invoice.payment_status,
    total_cents: invoice.total_cents,
    currency: invoice.currency,
    amount_due_cents: invoice.amount_due_cents,
    due_date: invoice.due_date,
    payment_url,
  };
}

function createdData({ invoice, payment_url, fees, coupons, taxes, parts }: Created) {
  return {
    id: invoice.id,
    number: invoice.number,
    status: invoice.status,
    payment_status: invoice.payment_status,
    invoice_type: invoice.invoice_type,
    currency: invoice.currency,
    subtotal_cents: invoice.subtotal_cents,
    discount_cents: invoice.discount_cents,
    tax_cents: invoice.tax_cents,
    total_cents: invoice.total_cents,
    credit_applied_cents: invoice.credit_applied_cents,
    offset_cents: invoice.offset_cents,
    amount_paid_cents: invoice.amount_paid_cents,
    overpaid_cents: invoice.overpaid_cents,
    written_off_cents: invoice.written_off_cents,
    amount_due_cents: invoice.amount_due_cents,
    issuing_date: invoice.issuing_date,
    due_date: invoice.due_date,
    period_start: invoice.period_start,
    period_end: invoice.period_end,
    part_count: invoice.part_count,
    subscription_count: subscriptionCount(parts),
    coupons,
    taxes,
    payment_url,
    parts,
    fees: fees.map((fee) => feeData(fee, parts[fee.part_no])),
  };
}

function feeData(fee: NewFee, part: InvoicePart | undefined) {
  return {
    id: fee.id,
    part: fee.part_no,
    subscription_id: part?.subscription_id ?? null,
    fee_type: fee.fee_type,
    billable_metric_code: fee.billable_metric_code,
    units: fee.units,
    amount_cents: fee.amount_cents,
    amount_currency: fee.amount_currency,
    properties: fee.properties,
    discount_cents: fee.discount_cents,
    taxable_cents: fee.taxable_cents,
    taxes: fee.taxes.map(({ code, percent }) => ({ code, percent })),
  };
}

export function customerData({ id, external_id, name, email }: InvoiceCustomer) {
  return { id, external_id, name, email };
}

export function becameOverdue({ id, number, due_date }: InvoiceRow): Fact {
  return { type: "invoice.overdue", resource_id: id, payload: { number, due_date } };
}
