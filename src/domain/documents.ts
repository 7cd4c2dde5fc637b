// An invoice as a document: its texts and amounts in order, for any renderer. No layout here.

import type { InvoiceWithFees } from "../schema/invoices.ts";
import type { Settings } from "../schema/settings.ts";
import { formatDate, formatMoney, formatPeriod } from "./documents-format.ts";
import { type DocumentLine, type DocumentNames, lineOf, planNameOf } from "./documents-lines.ts";

export type DocumentInput = {
  readonly issuer: Settings;
  readonly customer: { readonly name: string; readonly email: string; readonly reference: string };
  readonly invoice: InvoiceWithFees;
  readonly names: DocumentNames;
};

export type InvoiceDocument = {
  readonly number: string;
  readonly created_at: Date;
  readonly state: { readonly label: string; readonly tone: "good" | "warn" | "bad" | "mute" };
  readonly issuer: {
    readonly name: string;
    readonly lines: readonly string[];
    readonly color: string;
  };
  readonly customer: { readonly name: string; readonly lines: readonly string[] };
  readonly facts: readonly (readonly [label: string, value: string])[];
  readonly lines: readonly DocumentLine[];
  readonly totals: readonly {
    readonly label: string;
    readonly amount: string;
    readonly strong: boolean;
  }[];
  readonly note: string;
};

export function invoiceDocument(input: DocumentInput): InvoiceDocument {
  const { issuer, customer, invoice, names } = input;
  const isAddOn = invoice.invoice_type === "addon";
  const plan = planNameOf(invoice.fees, names);
  return {
    number: invoice.number,
    created_at: invoice.created_at,
    state: stateOf(invoice),
    issuer: {
      name: issuer.name,
      lines: [
        ...issuer.address.split(/\r?\n/).filter((line) => line.trim() !== ""),
        ...(issuer.tax_id === "" ? [] : [`Tax number ${issuer.tax_id}`]),
      ],
      color: issuer.logo_color,
    },
    customer: {
      name: customer.name,
      lines: [customer.email, customer.reference].filter((line) => line !== ""),
    },
    facts: [
      ["Invoice number", invoice.number],
      ["Issued", formatDate(invoice.issuing_date)],
      ["Due", formatDate(invoice.due_date)],
      ...(isAddOn
        ? []
        : [["Period", formatPeriod(invoice.period_start, invoice.period_end)] as const]),
      ...(plan === undefined ? [] : [["Plan", plan] as const]),
    ],
    lines: invoice.fees.map((fee) => lineOf(fee, names)),
    totals: totalsOf(invoice),
    note: noteOf(invoice),
  };
}

function stateOf(invoice: InvoiceWithFees): InvoiceDocument["state"] {
  switch (invoice.status) {
    case "succeeded":
      return { label: "Paid", tone: "good" };
    case "voided":
      return { label: "Void", tone: "mute" };
    case "overdue":
      return { label: "Overdue", tone: "bad" };
    default:
      return invoice.payment_status === "partially_paid"
        ? { label: "Partly paid", tone: "warn" }
        : { label: "Open", tone: "warn" };
  }
}

function totalsOf(invoice: InvoiceWithFees): InvoiceDocument["totals"] {
  const { currency, subtotal_cents, total_cents, credit_applied_cents, amount_paid_cents } =
    invoice;
  const row = (label: string, cents: number, strong = false) => ({
    label,
    amount: formatMoney(cents, currency),
    strong,
  });
  return [
    ...(subtotal_cents === total_cents
      ? []
      : [row("Subtotal", subtotal_cents), row("Added to your credit", -subtotal_cents)]),
    row("Total", total_cents, true),
    ...(credit_applied_cents === 0 ? [] : [row("Credit applied", -credit_applied_cents)]),
    ...(amount_paid_cents === 0 ? [] : [row("Paid", -amount_paid_cents)]),
    row("Amount due", invoice.amount_due_cents, true),
  ];
}

function noteOf(invoice: InvoiceWithFees): string {
  if (invoice.status === "voided") return "This invoice is void. Nothing is to be paid.";
  if (invoice.status === "succeeded") return "Nothing is left to pay. Thank you.";
  const due = formatMoney(invoice.amount_due_cents, invoice.currency);
  const date = formatDate(invoice.due_date);
  return invoice.status === "overdue"
    ? `${due} was due on ${date}. Please pay now and name ${invoice.number}.`
    : `Please pay ${due} by ${date} and name ${invoice.number}.`;
}
