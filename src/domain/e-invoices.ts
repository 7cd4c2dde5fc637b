// What an e-invoice by EN 16931 says, from an invoice or a credit note: lines, tax by category and
// percent, totals; and what is missing for it. pages/invoice/ubl.ts writes it as XML.

import type { ErrorDetail } from "../errors.ts";
import type { InvoiceWithFees } from "../schema/invoices.ts";
import { compare, decimal, isZero } from "./decimal.ts";
import { formatMoney } from "./documents-format.ts";
import type { DocumentNames } from "./documents-lines.ts";
import { lineOf } from "./documents-lines.ts";
import type { Note } from "./documents-notes.ts";
import type { Party } from "./documents-parties.ts";
import { exponentOf, sumCents } from "./money.ts";

/** Standard rate, zero rate, exempt, reverse charge. */
export type TaxCategory = "S" | "Z" | "E" | "AE";

export type EInvoiceLine = {
  readonly fee_id: string;
  readonly name: string;
  readonly description: string;
  /** A price is never below 0, so an amount below 0 is a quantity of -1. */
  readonly quantity: 1 | -1;
  readonly price_cents: number;
  /** An allowance above 0, a charge below. */
  readonly discount_cents: number;
  readonly net_cents: number;
  readonly category: TaxCategory;
  readonly percent: string;
};

export type TaxSubtotal = {
  readonly category: TaxCategory;
  readonly percent: string;
  readonly taxable_cents: number;
  readonly tax_cents: number;
  /** Why no tax is due: of `E` and `AE`. */
  readonly reason: string;
};

export type EInvoice = {
  readonly kind: "invoice" | "credit_note";
  readonly number: string;
  readonly issuing_date: string;
  /** A credit note has none. */
  readonly due_date: string | undefined;
  readonly currency: string;
  readonly notes: readonly string[];
  readonly period: { readonly start: string; readonly end: string } | undefined;
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
const PLACES_MAX = 2;
/** Countries whose tax numbers begin with other letters than their own. */
const OTHER_LETTERS: Readonly<Record<string, string>> = { GR: "EL" };

/** Of the invoice as it stands: what notes offset or was written off stays payable. */
export function eInvoiceOf(invoice: InvoiceWithFees, names: DocumentNames): EInvoice {
  const { number, issuing_date, due_date, currency, memo, po_number, fees } = invoice;
  const { credit_applied_cents, amount_paid_cents, overpaid_cents } = invoice;
  const isVoid = invoice.status === "voided";
  const lines = fees.map((fee) =>
    lineFor(fee, fee.amount_cents, fee.discount_cents, invoice, names),
  );
  return {
    kind: "invoice",
    ...{ number, issuing_date, due_date, currency, po_number },
    notes: [...(isVoid ? ["This invoice is void."] : []), memo].filter((text) => text !== ""),
    period:
      invoice.invoice_type === "subscription"
        ? { start: invoice.period_start, end: invoice.period_end }
        : undefined,
    corrects: undefined,
    ...{ seller: invoice.seller, buyer: invoice.buyer, payment_terms: "" },
    discount_reason: invoice.coupons.map(({ name }) => name).join(", "),
    lines,
    ...amountsOf(lines, invoice.taxes, invoice.tax_note),
    prepaid_cents: credit_applied_cents + amount_paid_cents - overpaid_cents,
  };
}

/** Of a note and the invoice that it corrects, whose parties, taxes and names it has. */
export function eCreditNoteOf(
  note: Note,
  invoice: InvoiceWithFees,
  names: DocumentNames,
): EInvoice {
  const { number, issuing_date, currency, reason, memo } = note;
  const lines = note.lines.flatMap(({ fee_id, amount_cents }) => {
    const fee = invoice.fees.find(({ id }) => id === fee_id);
    return fee === undefined ? [] : [lineFor(fee, amount_cents, 0, invoice, names)];
  });
  return {
    kind: "credit_note",
    ...{ number, issuing_date, due_date: undefined, currency },
    notes: [reason, memo].filter((text) => text !== ""),
    period: undefined,
    po_number: invoice.po_number,
    corrects: { number: invoice.number, issuing_date: invoice.issuing_date },
    ...{ seller: invoice.seller, buyer: invoice.buyer, payment_terms: waysOf(note) },
    discount_reason: "",
    lines,
    ...amountsOf(lines, note.taxes, invoice.tax_note),
    prepaid_cents: 0,
  };
}

/** Everything that keeps it from being written, by the fields that are to be mended. */
export function missingIn(e: EInvoice, invoice: InvoiceWithFees): ErrorDetail[] {
  const missing = (field: string, message: string) => ({ field, code: "missing", message });
  const { seller, buyer, currency } = e;
  const named = new Set(e.lines.map(({ fee_id }) => fee_id));
  return [
    ...countryFaults("seller", seller),
    ...taxIdFaults("seller", seller),
    ...countryFaults("buyer", buyer),
    ...((buyer.tax_id ?? "") === "" ? [] : taxIdFaults("buyer", buyer)),
    ...taxFaults(named, invoice),
    ...(exponentOf(currency) <= PLACES_MAX
      ? []
      : [missing("currency", `${currency} has more than ${PLACES_MAX} decimals.`)]),
    ...(e.total_cents > 0 ? [] : [missing("total_cents", "The total must be above 0.")]),
  ];
}

function countryFaults(whose: string, { country = "" }: Party): ErrorDetail[] {
  const field = `${whose}.country`;
  return country === "" || country === null
    ? [{ field, code: "missing", message: `${field} is missing.` }]
    : [];
}

function taxIdFaults(whose: string, { tax_id, country }: Party): ErrorDetail[] {
  const field = `${whose}.tax_id`;
  if ((tax_id ?? "") === "") return [{ field, code: "missing", message: `${field} is missing.` }];
  const letters = (country ?? "").toUpperCase();
  const starts = [letters, OTHER_LETTERS[letters] ?? letters];
  if (letters === "" || starts.some((start) => tax_id?.toUpperCase().startsWith(start))) return [];
  const message = `${field} must begin with ${starts.at(-1)}, the letters of its country.`;
  return [{ field, code: "country", message }];
}

/** Of the fees that lines are for: a note need not have all. */
function taxFaults(named: ReadonlySet<string>, invoice: InvoiceWithFees): ErrorDetail[] {
  return invoice.fees.flatMap((fee, i) => {
    const count = fee.taxes.length;
    if (!named.has(fee.id) || count === 1 || (count === 0 && isExempt(invoice))) return [];
    const field = `fees.${i}.taxes`;
    const message = `${field} must be exactly one tax, or the customer exempt; there are ${count}.`;
    return [{ field, code: "count", message }];
  });
}

/** A top-up is no sale yet: it has no tax, and no reason for that. */
function isExempt({ buyer, tax_note }: InvoiceWithFees): boolean {
  return (buyer.tax_exemption ?? "") !== "" && tax_note !== "";
}

function lineFor(
  fee: Fee,
  amount_cents: number,
  discount_cents: number,
  invoice: InvoiceWithFees,
  names: DocumentNames,
): EInvoiceLine {
  const { title, details, units, rate } = lineOf(fee, names);
  const counted = rate === "" ? `${units} units` : `${units} × ${rate}`;
  return {
    fee_id: fee.id,
    name: title.trim() === "" ? "Fee" : title,
    description: [...(units === "" ? [] : [counted]), ...details].join(", "),
    quantity: amount_cents < 0 ? -1 : 1,
    price_cents: Math.abs(amount_cents),
    discount_cents,
    net_cents: amount_cents - discount_cents,
    ...categoryOf(fee, invoice),
  };
}

function categoryOf(fee: Fee, { buyer }: InvoiceWithFees) {
  const [tax] = fee.taxes;
  if (tax !== undefined) {
    const category: TaxCategory = isZero(decimal(tax.percent)) ? "Z" : "S";
    return { category, percent: tax.percent };
  }
  const category: TaxCategory = buyer.tax_exemption === "reverse_charge" ? "AE" : "E";
  return { category, percent: "0" };
}

type Taxed = { readonly percent: string; readonly tax_cents: number };

/** One subtotal for each category and percent, in the order of their lines. */
function amountsOf(lines: readonly EInvoiceLine[], taxes: readonly Taxed[], tax_note: string) {
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
        ...{ category, percent },
        taxable_cents: sumCents(group.map((line) => line.net_cents)),
        tax_cents: hasReason ? 0 : sumCents(own.map((tax) => tax.tax_cents)),
        reason: hasReason ? tax_note : "",
      },
    ];
  });
  const net_cents = sumCents(lines.map((line) => line.net_cents));
  const tax_cents = sumCents(subtotals.map((subtotal) => subtotal.tax_cents));
  return { subtotals, net_cents, tax_cents, total_cents: sumCents([net_cents, tax_cents]) };
}

/** Where a note goes, which stands where an invoice has its due date. */
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
