// What an e-invoice by EN 16931 says, from an invoice or a credit note: lines, tax by category and
// percent, totals. e-invoice-faults.ts says what is missing, pages/invoice/ubl.ts writes it as XML.

import { isVisible } from "../../schema/formats.ts";
import type { InvoiceWithFees } from "../../schema/invoices.ts";
import { compare, decimal, isZero } from "../decimal.ts";
import { sumCents } from "../money.ts";
import { subscriptionCount } from "../parts.ts";
import { vatIdOf } from "../tax-ids.ts";
import { type Exemption, reasonOr } from "../taxes.ts";
import { formatMoney } from "./format.ts";
import type { DocumentNames } from "./lines.ts";
import { lineOf } from "./lines.ts";
import type { Note } from "./notes.ts";
import type { Party } from "./parties.ts";

/** Categories of tax by the norm: standard rate, zero rate, exempt, reverse charge. */
export type TaxCategory = "S" | "Z" | "E" | "AE";

type Days = { readonly start: string; readonly end: string };

export type EInvoiceLine = {
  readonly fee_id: string;
  /** The subscription that it is of, where several are billed; else "". */
  readonly note: string;
  /** The days of its service, where lines are of several; else those of the invoice are. */
  readonly period: Days | undefined;
  readonly name: string;
  readonly description: string;
  /** -1 for an amount below 0, because a price is never below 0. */
  readonly quantity: 1 | -1;
  readonly price_cents: number;
  /** An allowance above 0, a charge below. */
  readonly discount_cents: number;
  readonly net_cents: number;
  readonly category: TaxCategory;
  readonly percent: string;
  /** Why no tax is due, where the category is `E` or `AE`; else "". */
  readonly reason: string;
};

export type TaxSubtotal = {
  readonly category: TaxCategory;
  readonly percent: string;
  readonly taxable_cents: number;
  readonly tax_cents: number;
  /** Why no tax is due, where the category is `E` or `AE`; else "". */
  readonly reason: string;
};

export type EInvoice = {
  readonly kind: "invoice" | "credit_note";
  readonly number: string;
  readonly issuing_date: string;
  /** When an invoice is due; a credit note has no such day. */
  readonly due_date: string | undefined;
  readonly currency: string;
  readonly notes: readonly string[];
  readonly period: Days | undefined;
  readonly po_number: string;
  /** The invoice that a credit note corrects. */
  readonly corrects: { readonly number: string; readonly issuing_date: string } | undefined;
  readonly seller: Party;
  readonly buyer: Party;
  readonly payment_terms: string;
  readonly discount_reason: string;
  readonly lines: readonly EInvoiceLine[];
  readonly subtotals: readonly TaxSubtotal[];
  readonly net_cents: number;
  readonly tax_cents: number;
  readonly total_cents: number;
  readonly prepaid_cents: number;
};

type Fee = InvoiceWithFees["fees"][number];
/** Why fees have no tax, by fee, as kept with it; for one that is not here, the buyer says. */
export type FeeExemptions = ReadonlyMap<string, Exemption>;

/** An invoice as it stands. What notes have offset, and what was written off, stays payable. */
export function eInvoiceOf(
  invoice: InvoiceWithFees,
  names: DocumentNames,
  exemptions: FeeExemptions = new Map(),
): EInvoice {
  const { number, issuing_date, due_date, currency, memo, po_number, fees } = invoice;
  const { credit_applied_cents, amount_paid_cents, overpaid_cents } = invoice;
  const lines = fees.map((fee) =>
    lineFor(fee, fee.amount_cents, fee.discount_cents, { invoice, names, exemptions }),
  );
  return {
    kind: "invoice",
    number,
    issuing_date,
    due_date,
    currency,
    po_number,
    notes: [memo].filter(isVisible),
    period: spanOf(lines) ?? ownPeriod(invoice),
    corrects: undefined,
    seller: written(invoice.seller),
    buyer: written(invoice.buyer),
    payment_terms: "",
    discount_reason: invoice.coupons.map(({ name }) => name).join(", "),
    lines,
    ...amountsOf(lines, invoice.taxes),
    prepaid_cents: credit_applied_cents + amount_paid_cents - overpaid_cents,
  };
}

/** A credit note, with the parties, taxes and names of the invoice that it corrects. */
export function eCreditNoteOf(
  note: Note,
  invoice: InvoiceWithFees,
  names: DocumentNames,
  exemptions: FeeExemptions = new Map(),
): EInvoice {
  const { number, issuing_date, currency, reason, memo } = note;
  const lines = note.lines.flatMap(({ fee_id, amount_cents }) => {
    const fee = invoice.fees.find(({ id }) => id === fee_id);
    return fee === undefined ? [] : [lineFor(fee, amount_cents, 0, { invoice, names, exemptions })];
  });
  return {
    kind: "credit_note",
    number,
    issuing_date,
    due_date: undefined,
    currency,
    notes: [reason, memo].filter(isVisible),
    period: spanOf(lines),
    po_number: invoice.po_number,
    corrects: { number: invoice.number, issuing_date: invoice.issuing_date },
    seller: written(invoice.seller),
    buyer: written(invoice.buyer),
    payment_terms: waysOf(note),
    discount_reason: "",
    lines,
    ...amountsOf(lines, note.taxes),
    prepaid_cents: 0,
  };
}

function ownPeriod({ invoice_type, period_start, period_end }: InvoiceWithFees) {
  return invoice_type === "subscription" ? { start: period_start, end: period_end } : undefined;
}

/** The days from the first to the last of all lines; undefined where lines do not say theirs. */
function spanOf(lines: readonly EInvoiceLine[]): Days | undefined {
  const days = lines.flatMap(({ period }) => period ?? []);
  if (days.length === 0) return undefined;
  const starts = days.map(({ start }) => start).sort();
  const ends = days.map(({ end }) => end).sort();
  return { start: starts[0] ?? "", end: ends.at(-1) ?? "" };
}

/** The party with its number only where that is a VAT id: the norm asks for no other. */
function written(party: Party): Party {
  return { ...party, tax_id: vatIdOf(party.tax_id ?? "") ?? null };
}

type Told = {
  readonly invoice: InvoiceWithFees;
  readonly names: DocumentNames;
  readonly exemptions: FeeExemptions;
};

function lineFor(
  fee: Fee,
  amount_cents: number,
  discount_cents: number,
  { invoice, names, exemptions }: Told,
): EInvoiceLine {
  const { title, details, units, rate } = lineOf(fee, names);
  const counted = rate === "" ? `${units} units` : `${units} × ${rate}`;
  return {
    fee_id: fee.id,
    ...whoseAndWhen(fee, invoice),
    name: isVisible(title) ? title : "Fee",
    description: [...(units === "" ? [] : [counted]), ...details].join(", "),
    quantity: amount_cents < 0 ? -1 : 1,
    price_cents: Math.abs(amount_cents),
    discount_cents,
    net_cents: amount_cents - discount_cents,
    ...categoryOf(fee, invoice, exemptions),
  };
}

/** Said where several things are billed together; a correction is of the days that it corrects. */
function whoseAndWhen(
  { part, fee_type, properties }: Fee,
  { parts }: InvoiceWithFees,
): Pick<EInvoiceLine, "note" | "period"> {
  const own = parts[part];
  if (own === undefined || parts.length < 2) return { note: "", period: undefined };
  const { period_start, period_end } = fee_type === "adjustment" ? properties : own;
  const isDated = typeof period_start === "string" && typeof period_end === "string";
  return {
    note: subscriptionCount(parts) > 1 ? (own.subscription_external_id ?? "") : "",
    period: isDated
      ? { start: period_start.slice(0, 10), end: period_end.slice(0, 10) }
      : { start: own.period_start, end: own.period_end },
  };
}

function categoryOf(
  fee: Fee,
  { buyer, tax_note }: InvoiceWithFees,
  exemptions: FeeExemptions,
): Pick<EInvoiceLine, "category" | "percent" | "reason"> {
  const [tax] = fee.taxes;
  if (tax !== undefined) {
    const category: TaxCategory = isZero(decimal(tax.percent)) ? "Z" : "S";
    return { category, percent: tax.percent, reason: "" };
  }
  const kept = exemptions.get(fee.id);
  if (kept !== undefined) {
    return { category: kept.tax_category, percent: "0", reason: kept.tax_reason };
  }
  const category = buyer.tax_exemption === "reverse_charge" ? "AE" : "E";
  return { category, percent: "0", reason: reasonOr(category, tax_note) };
}

type Taxed = { readonly percent: string; readonly tax_cents: number };

/** One subtotal for each category and percent, in the order of their lines. */
function amountsOf(lines: readonly EInvoiceLine[], taxes: readonly Taxed[]) {
  const groups = new Map<string, EInvoiceLine[]>();
  for (const line of lines) {
    const key = `${line.category} ${line.percent}`;
    groups.set(key, [...(groups.get(key) ?? []), line]);
  }
  const subtotals = [...groups.values()].flatMap((group): TaxSubtotal[] => {
    const [first] = group;
    if (first === undefined) return [];
    const { category, percent } = first;
    const own = taxes.filter((tax) => compare(decimal(tax.percent), decimal(percent)) === 0);
    const hasReason = category === "E" || category === "AE";
    return [
      {
        category,
        percent,
        taxable_cents: sumCents(group.map((line) => line.net_cents)),
        tax_cents: hasReason ? 0 : sumCents(own.map((tax) => tax.tax_cents)),
        reason: [...new Set(group.map((line) => line.reason))].join("; "),
      },
    ];
  });
  const net_cents = sumCents(lines.map((line) => line.net_cents));
  const tax_cents = sumCents(subtotals.map((subtotal) => subtotal.tax_cents));
  return { subtotals, net_cents, tax_cents, total_cents: sumCents([net_cents, tax_cents]) };
}

/** Where a note's money goes: said where an invoice says when it is due. */
function waysOf({ currency, offset_cents, refund_cents, credit_cents, invoice_number }: Note) {
  const ways = [
    [`Set off against ${invoice_number}`, offset_cents],
    ["To be refunded", refund_cents],
    ["Added to the customer's credit", credit_cents],
  ] as const;
  return ways
    .filter(([, cents]) => cents > 0)
    .map(([label, cents]) => `${label}: ${formatMoney(cents, currency)}`)
    .join("; ");
}
