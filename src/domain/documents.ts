// An invoice as a document: its texts and amounts in order, for any renderer. No layout here.

import type { Fee, InvoiceWithFees } from "../schema/invoices.ts";
import type { Settings } from "../schema/settings.ts";
import {
  formatDate,
  formatMoney,
  formatPeriod,
  formatRate,
  formatUnits,
} from "./documents-format.ts";

export type DocumentNames = {
  readonly plan: string | undefined;
  readonly metrics: ReadonlyMap<string, string>;
  readonly catalog: ReadonlyMap<string, string>;
};

export type DocumentInput = {
  readonly issuer: Settings;
  readonly customer: { readonly name: string; readonly email: string; readonly reference: string };
  readonly invoice: InvoiceWithFees;
  readonly names: DocumentNames;
};

export type DocumentLine = {
  readonly title: string;
  readonly detail: string;
  readonly units: string;
  readonly rate: string;
  readonly amount: string;
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

function lineOf(fee: Fee, names: DocumentNames): DocumentLine {
  const amount = formatMoney(fee.amount_cents, fee.amount_currency);
  return { ...wordsOf(fee, names), units: formatUnits(fee.units), rate: rateOf(fee), amount };
}

function wordsOf(fee: Fee, names: DocumentNames): Pick<DocumentLine, "title" | "detail"> {
  const { properties } = fee;
  const code = fee.billable_metric_code;
  const metric = code === null ? "" : (names.metrics.get(code) ?? code);
  if (fee.fee_type === "subscription") {
    const { billable_days: billed, period_days: whole } = properties;
    const detail = billed === whole ? "" : `${String(billed)} of ${String(whole)} days`;
    return { title: names.plan ?? "Subscription", detail };
  }
  if (fee.fee_type === "adjustment") {
    const period = formatPeriod(text(properties.period_start), text(properties.period_end));
    const before = formatUnits(text(properties.billed_units));
    const after = formatUnits(text(properties.corrected_units));
    return {
      title: `Adjustment: ${metric}`,
      detail: `Late usage of ${period}: ${before} billed, ${after} used`,
    };
  }
  if (fee.fee_type === "add_on") return { title: text(properties.add_on_name), detail: "" };
  if (code !== null) return { title: metric, detail: "" };
  const item = text(properties.catalog_item_code);
  return { title: names.catalog.get(item) ?? (item === "" ? "Fee" : item), detail: "" };
}

/** What one unit costs, where the line says so. */
function rateOf({ fee_type, properties, amount_cents, amount_currency: currency }: Fee): string {
  if (fee_type === "add_on") return formatMoney(amount_cents, currency);
  const cents =
    fee_type === "subscription" ? properties.amount_cents : properties.unit_amount_cents;
  if (typeof cents === "number") return formatMoney(cents, currency);
  const rate = text(properties.amount);
  return /^\d+(\.\d+)?$/.test(rate) ? formatRate(rate, currency) : "";
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

function text(value: unknown): string {
  return typeof value === "string" ? value : "";
}
