// The rows below the lines of an invoice, in the one order of amounts: subtotal, coupons, taxes,
// total, credit, credit notes, payments, what was overpaid and written off, and what is due.

import type { InvoiceWithFees } from "../../schema/invoices.ts";
import { formatMoney } from "./format.ts";

export type DocumentRow = {
  readonly label: string;
  readonly amount: string;
  readonly strong: boolean;
};

type TaxLine = InvoiceWithFees["taxes"][number];

/** The figures of an invoice that has them, be it the service's own or one that was read. */
type Figures = Pick<
  InvoiceWithFees,
  | "currency"
  | "subtotal_cents"
  | "discount_cents"
  | "tax_cents"
  | "total_cents"
  | "credit_applied_cents"
  | "offset_cents"
  | "amount_paid_cents"
  | "overpaid_cents"
  | "written_off_cents"
  | "amount_due_cents"
> & {
  readonly coupons: readonly InvoiceWithFees["coupons"][number][];
  readonly taxes: readonly TaxLine[];
};

/**
 * The rows, but for those of 0. What was overpaid has its row only where something of taxes,
 * coupons, notes and the like is used: without, the document is the plainest one.
 */
export function totalsOf(invoice: Figures, hasMoney: boolean): DocumentRow[] {
  const { currency, subtotal_cents, discount_cents, tax_cents, total_cents } = invoice;
  const row = (label: string, cents: number, strong = false) => ({
    label,
    amount: formatMoney(cents, currency),
    strong,
  });
  const some = (label: string, cents: number) => (cents === 0 ? [] : [row(label, cents)]);
  const sum = subtotal_cents - discount_cents + tax_cents;
  const isPlain = subtotal_cents === total_cents && discount_cents === 0 && tax_cents === 0;
  return [
    ...(isPlain && !hasTaxes(invoice) ? [] : [row("Subtotal", subtotal_cents)]),
    ...invoice.coupons.flatMap((coupon) => some(couponLabel(coupon), -coupon.amount_cents)),
    ...taxRows(invoice.taxes, currency),
    ...(sum < 0 ? [row("Added to your credit", -sum)] : []),
    row("Total", total_cents, true),
    ...some("Credit applied", -invoice.credit_applied_cents),
    ...some("Credit notes", -invoice.offset_cents),
    ...some("Paid", -invoice.amount_paid_cents),
    ...(hasMoney ? some("Overpaid, kept as credit", invoice.overpaid_cents) : []),
    ...some("Written off", -invoice.written_off_cents),
    row("Amount due", invoice.amount_due_cents, true),
  ];
}

/** Rows such as "VAT 20 % on $35.14", also of 0 %: what is taxed at nothing is told too. */
export function taxRows(taxes: readonly TaxLine[], currency: string): DocumentRow[] {
  return taxes
    .filter(({ taxable_cents, tax_cents }) => taxable_cents !== 0 || tax_cents !== 0)
    .map((tax) => ({
      label: `${taxName(tax)} on ${formatMoney(tax.taxable_cents, currency)}`,
      amount: formatMoney(tax.tax_cents, currency),
      strong: false,
    }));
}

export function taxName({ name, percent }: Pick<TaxLine, "name" | "percent">): string {
  return `${name} ${percent} %`;
}

function hasTaxes({ taxes, currency }: Pick<Figures, "taxes" | "currency">): boolean {
  return taxRows(taxes, currency).length > 0;
}

function couponLabel({ name, percent }: InvoiceWithFees["coupons"][number]): string {
  return percent === null ? name : `${name}, ${percent} %`;
}
