// An invoice as a document: its texts and amounts in order, for any renderer. No layout here.

import type { CreditNote, Refund } from "../../schema/credit-notes.ts";
import type { InvoiceWithFees } from "../../schema/invoices.ts";
import type { Payment } from "../../schema/payments.ts";
import type { Settings } from "../../schema/settings.ts";
import { utcDate } from "../dates.ts";
import { subscriptionCount } from "../parts.ts";
import { methodName } from "../payment-methods.ts";
import { formatDate, formatMoney, formatPeriod } from "./format.ts";
import { type DocumentLine, type DocumentNames, lineOf, planNameOf } from "./lines.ts";
import { type DocumentParty, partyOf } from "./parties.ts";
import { type DocumentSection, type FeeLine, sectionsOf } from "./sections.ts";
import { type DocumentRow, taxName, totalsOf } from "./totals.ts";

export type DocumentInput = {
  /** The project's settings now; the document's parties are those that the invoice keeps. */
  readonly issuer: Settings;
  readonly invoice: InvoiceWithFees;
  readonly names: DocumentNames;
  /** Payments, refunds and credit notes since it was issued, oldest first. */
  readonly settlement: {
    readonly payments: readonly PaidAmount[];
    readonly refunds: readonly Refund[];
    readonly notes: readonly Pick<CreditNote, "number" | "issuing_date" | "total_cents">[];
  };
};

type PaidAmount = Pick<
  Payment,
  "amount_cents" | "currency" | "paid_at" | "provider" | "provider_payment_id" | "reference"
>;

/** Payments, credit notes, or where a credit note goes. */
export type DocumentList = {
  readonly title: string;
  readonly rows: readonly {
    readonly date: string;
    /** The date for machines, `2026-01-31`; "" where `date` is. */
    readonly day: string;
    readonly text: string;
    readonly amount: string;
  }[];
};

export type InvoiceDocument = {
  readonly kind: "Invoice" | "Credit note";
  readonly number: string;
  readonly created_at: Date;
  /** The badge of an invoice; a credit note has none. */
  readonly state:
    | { readonly label: string; readonly tone: "good" | "warn" | "bad" | "mute" }
    | undefined;
  readonly issuer: DocumentParty & { readonly color: string };
  readonly customer: DocumentParty;
  readonly facts: readonly (readonly [label: string, value: string])[];
  /** Text of the caller's own, which may have several lines; so may `footer`. */
  readonly memo: string;
  /** Whether lines have units and a price, or an amount alone. */
  readonly has_units: boolean;
  readonly lines: readonly DocumentLine[];
  /** The same lines under headings, where several things are billed together; else none. */
  readonly sections: readonly DocumentSection[];
  readonly totals: readonly DocumentRow[];
  readonly tax_note: string;
  readonly note: string;
  readonly pay: { readonly label: string; readonly url: string } | undefined;
  /** The project's words on other ways to pay, while something is due; or "". */
  readonly payment_instructions: string;
  /** The address for questions; or "". */
  readonly support_email: string;
  readonly lists: readonly DocumentList[];
  readonly footer: string;
};

export function invoiceDocument(input: DocumentInput): InvoiceDocument {
  const { issuer, invoice, names } = input;
  const plan = planOf(invoice, names);
  const parties = partiesOf(input);
  const hasMoney = usesMoney(input);
  const drawn = invoice.fees.map((fee): FeeLine => {
    return { fee, line: withTerms(lineOf(fee, names), fee, invoice), cents: fee.amount_cents };
  });
  return {
    kind: "Invoice",
    number: invoice.number,
    created_at: invoice.created_at,
    state: stateOf(invoice),
    ...parties,
    facts: [
      ["Invoice number", invoice.number],
      ...(invoice.po_number === "" ? [] : [["PO number", invoice.po_number] as const]),
      ["Issued", formatDate(invoice.issuing_date)],
      ["Due", formatDate(invoice.due_date)],
      ...(invoice.invoice_type === "subscription"
        ? [["Period", formatPeriod(invoice.period_start, invoice.period_end)] as const]
        : []),
      ...(plan === undefined ? [] : [["Plan", plan] as const]),
    ],
    memo: invoice.memo,
    has_units: true,
    lines: drawn.map(({ line }) => line),
    sections: sectionsOf(invoice, drawn, names),
    totals: totalsOf(invoice, hasMoney),
    tax_note: invoice.tax_note,
    note: noteOf(invoice),
    pay: payOf(invoice),
    payment_instructions: isOpen(invoice) ? issuer.payment_instructions : "",
    support_email: issuer.support_email,
    lists: hasMoney
      ? [notesOf(input), paymentsOf(input)].filter(({ rows }) => rows.length > 0)
      : [],
    footer: issuer.footer,
  };
}

/** The plan of the invoice's last period; none where several subscriptions are on it. */
function planOf({ parts, fees }: InvoiceWithFees, names: DocumentNames): string | undefined {
  if (subscriptionCount(parts) > 1) return undefined;
  const last = parts.length - 1;
  return planNameOf(
    fees.filter(({ part }) => part === last),
    names,
  );
}

/** The seller and the buyer as the invoice keeps them. */
export function partiesOf({ issuer, invoice }: Pick<DocumentInput, "issuer" | "invoice">) {
  const seller = { ...partyOf(invoice.seller), color: issuer.logo_color };
  return { issuer: seller, customer: partyOf(invoice.buyer) };
}

/**
 * Whether anything of taxes, coupons, credit notes, prepaid money and the like is used. Without any
 * of it the document is the plainest one, and lists no payments.
 */
function usesMoney({ issuer, invoice, settlement }: DocumentInput): boolean {
  const { seller, buyer, coupons, taxes, credits, memo, po_number, tax_note } = invoice;
  const { city, postal_code, region, country } = seller;
  const { name: _name, email: _email, external_id: _id, ...terms } = buyer;
  const texts = [city, postal_code, region, country, ...Object.values(terms)];
  return (
    [...texts, memo, po_number, tax_note, issuer.footer, issuer.payment_url].some(
      (text) => text !== undefined && text !== null && text !== "",
    ) ||
    issuer.tax_codes !== null ||
    invoice.payment_url !== null ||
    ["one_off", "top_up"].includes(invoice.invoice_type) ||
    invoice.written_off_cents !== 0 ||
    coupons.length + taxes.length + settlement.refunds.length + settlement.notes.length > 0 ||
    credits.some(({ kind }) => ["free", "paid", "credit_note"].includes(kind))
  );
}

type Fee = InvoiceWithFees["fees"][number];

/** The line with its share of the coupons and, where lines are taxed differently, its taxes. */
function withTerms(line: DocumentLine, fee: Fee, invoice: InvoiceWithFees): DocumentLine {
  const { discount_cents, amount_currency } = fee;
  const money = formatMoney(Math.abs(discount_cents), amount_currency);
  const notes = [
    ...(discount_cents > 0 ? [`Discount ${money}`] : []),
    ...(discount_cents < 0 ? [`Discount given back ${money}`] : []),
    ...taxTexts(fee, invoice),
  ];
  return notes.length === 0 ? line : { ...line, details: [...line.details, notes.join(", ")] };
}

/** Taxes of a line, "VAT 5.5 %"; none where all lines have the same taxes. */
export function taxTexts(fee: Fee, { fees, taxes }: InvoiceWithFees): string[] {
  const keyOf = (each: Fee) => each.taxes.map(({ code, percent }) => `${code} ${percent}`).join();
  if (fees.every((each) => keyOf(each) === keyOf(fee))) return [];
  if (fee.taxes.length === 0) return ["no tax"];
  return fee.taxes.map(({ code, percent }) => {
    const found = taxes.find((tax) => tax.code === code && tax.percent === percent);
    return taxName({ name: found?.name ?? code, percent });
  });
}

function stateOf(invoice: InvoiceWithFees): InvoiceDocument["state"] {
  switch (invoice.status) {
    case "succeeded":
      return { label: "Paid", tone: "good" };
    case "voided":
      return { label: "Void", tone: "bad" };
    case "uncollectible":
      return { label: "Written off", tone: "mute" };
    case "overdue":
      return { label: "Overdue", tone: "bad" };
    default:
      return invoice.payment_status === "partially_paid"
        ? { label: "Partly paid", tone: "warn" }
        : { label: "Open", tone: "warn" };
  }
}

function noteOf(invoice: InvoiceWithFees): string {
  if (invoice.status === "voided") return "This invoice is void. Nothing is to be paid.";
  if (invoice.status === "succeeded") return "Nothing is left to pay. Thank you.";
  if (invoice.status === "uncollectible") return "What was left to pay is written off.";
  const due = formatMoney(invoice.amount_due_cents, invoice.currency);
  const date = formatDate(invoice.due_date);
  return invoice.status === "overdue"
    ? `${due} was due on ${date}. Please pay now and name ${invoice.number}.`
    : `Please pay ${due} by ${date} and name ${invoice.number}.`;
}

function isOpen({ status, amount_due_cents }: InvoiceWithFees): boolean {
  return (status === "outstanding" || status === "overdue") && amount_due_cents > 0;
}

function payOf({ payment_url, amount_due_cents, currency }: InvoiceWithFees) {
  if (payment_url === null) return undefined;
  return { label: `Pay ${formatMoney(amount_due_cents, currency)}`, url: payment_url };
}

function notesOf({ invoice, settlement }: DocumentInput): DocumentList {
  const rows = settlement.notes.map(({ number, issuing_date, total_cents }) => ({
    date: formatDate(issuing_date),
    day: issuing_date,
    text: number,
    amount: formatMoney(-total_cents, invoice.currency),
  }));
  return { title: "Credit notes", rows };
}

/** Payments and refunds, in the order of their instants. */
function paymentsOf({ settlement }: DocumentInput): DocumentList {
  const entries = [
    ...settlement.payments.map(({ paid_at, provider, reference, ...payment }) => ({
      at: paid_at,
      text: [methodName(provider), reference ?? payment.provider_payment_id].join(", "),
      amount: formatMoney(payment.amount_cents, payment.currency),
    })),
    ...settlement.refunds.map(({ refunded_at, ...refund }) => refundEntry(refunded_at, refund)),
  ];
  const ordered = entries.sort((a, b) => a.at.getTime() - b.at.getTime());
  const rows = ordered.map(({ at, ...row }) => {
    const day = utcDate(at);
    return { date: formatDate(day), day, ...row };
  });
  return { title: "Payments", rows };
}

function refundEntry(at: Date, refund: Omit<Refund, "refunded_at">) {
  const { provider, provider_refund_id, amount_cents, currency } = refund;
  const text = `Refund by ${methodName(provider)}, ${provider_refund_id}`;
  return { at, text, amount: formatMoney(-amount_cents, currency) };
}
