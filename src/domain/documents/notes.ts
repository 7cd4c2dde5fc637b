// A credit note as a document: what of an invoice is taken back, with its tax, and where it goes.

import type { CreditNote, Refund } from "../../schema/credit-notes.ts";
import { methodName } from "../payment-methods.ts";
import {
  type DocumentInput,
  type DocumentList,
  type InvoiceDocument,
  partiesOf,
  taxTexts,
} from "./document.ts";
import { formatDate, formatMoney } from "./format.ts";
import { lineOf } from "./lines.ts";
import { type FeeLine, sectionsOf } from "./sections.ts";
import { taxRows } from "./totals.ts";

export type Note = Omit<CreditNote, "seller" | "buyer">;

export type CreditNoteInput = Omit<DocumentInput, "settlement"> & {
  readonly note: Note;
  /** Refunds that the note has paid out, oldest first. */
  readonly refunds: readonly Refund[];
};

export function creditNoteDocument(input: CreditNoteInput): InvoiceDocument {
  const { issuer, invoice, names, note } = input;
  const { currency } = note;
  const row = (label: string, cents: number, strong = false) => ({
    label,
    amount: formatMoney(cents, currency),
    strong,
  });
  const taxes = taxRows(note.taxes, currency);
  const lines = note.lines.map((line) => lineOfNote(line, input));
  return {
    kind: "Credit note",
    number: note.number,
    created_at: note.created_at,
    state: undefined,
    ...partiesOf(input),
    facts: [
      ["Credit note number", note.number],
      ["Issued", formatDate(note.issuing_date)],
      ["Corrects invoice", note.invoice_number],
      ["Invoice issued", formatDate(invoice.issuing_date)],
      ...(invoice.po_number === "" ? [] : [["PO number", invoice.po_number] as const]),
    ],
    memo: [note.reason === "" ? "" : `Reason: ${note.reason}`, note.memo]
      .filter((text) => text !== "")
      .join("\n"),
    has_units: false,
    lines: lines.map(({ line }) => line),
    // Where one subscription is credited of several, the heading says which.
    sections: sectionsOf(invoice, lines.filter(isOfFee), names),
    totals: [
      ...(taxes.length === 0 ? [] : [row("Subtotal", note.subtotal_cents), ...taxes]),
      row("Total credited", note.total_cents, true),
    ],
    tax_note: invoice.tax_note,
    note: "",
    pay: undefined,
    payment_instructions: "",
    support_email: issuer.support_email,
    lists: [waysOf(input)],
    footer: issuer.footer,
  };
}

type NoteLine = Omit<FeeLine, "fee"> & { readonly fee: FeeLine["fee"] | undefined };

function isOfFee(line: NoteLine): line is FeeLine {
  return line.fee !== undefined;
}

/** A line of the note; what was billed stands below it, where only a part is taken back. */
function lineOfNote(
  { fee_id, amount_cents }: Note["lines"][number],
  { invoice, names, note }: CreditNoteInput,
): NoteLine {
  const fee = invoice.fees.find(({ id }) => id === fee_id);
  const amount = formatMoney(amount_cents, note.currency);
  const none = { details: [], parts: [], units: "", rate: "", amount };
  if (fee === undefined) return { fee, cents: amount_cents, line: { title: "Fee", ...none } };
  const billed = formatMoney(fee.taxable_cents, note.currency);
  const texts = [
    ...(fee.taxable_cents === amount_cents ? [] : [`of ${billed} billed`]),
    ...taxTexts(fee, invoice),
  ];
  const details = texts.length === 0 ? [] : [texts.join(", ")];
  const line = { ...none, title: lineOf(fee, names).title, details };
  return { fee, cents: amount_cents, line };
}

const NO_DATE = { date: "", day: "" } as const;

/** Where the money goes: offset, refund and credit above 0, and what of the refund is paid out. */
function waysOf({ note, refunds }: CreditNoteInput): DocumentList {
  const money = (cents: number) => formatMoney(cents, note.currency);
  const { offset_cents, refund_cents, refunded_cents, credit_cents } = note;
  const way = (text: string, cents: number) =>
    cents === 0 ? [] : [{ ...NO_DATE, text, amount: money(cents) }];
  const open = refund_cents - refunded_cents;
  return {
    title: "Where it goes",
    rows: [
      ...way(`Set off against ${note.invoice_number}`, offset_cents),
      ...way(open > 0 ? `Refund, ${money(open)} to be paid out` : "Refunded", refund_cents),
      ...refunds.map(({ refunded_at, provider, provider_refund_id, amount_cents }) => ({
        ...NO_DATE,
        text: paidOut(refunded_at, money(amount_cents), provider, provider_refund_id),
        amount: "",
      })),
      ...way("Added to your credit", credit_cents),
    ],
  };
}

function paidOut(at: Date, amount: string, provider: string, reference: string): string {
  return `${amount} paid out on ${formatDate(at.toISOString())} by ${methodName(provider)}, ${reference}`;
}
