// Credit notes: an invoice less its notes is exactly the invoice that would have been written with
// what is left.

import { sumCents } from "./money.ts";
import { type Tax, type TaxLine, taxLines } from "./taxes.ts";

/** A fee of the invoice and what earlier notes have left of it, after coupons and before tax. */
export type CreditableFee = {
  readonly id: string;
  readonly taxable_cents: number;
  readonly left_cents: number;
  readonly taxes: readonly Tax[];
};

export type NoteLine = { readonly fee_id: string; readonly amount_cents: number };

export type NoteAmounts = {
  readonly lines: readonly NoteLine[];
  readonly taxes: readonly TaxLine[];
  readonly subtotal_cents: number;
  readonly tax_cents: number;
  readonly total_cents: number;
};

/** A note's lines for all that is left of the fees. */
export function linesLeft(fees: readonly CreditableFee[]): NoteLine[] {
  return fees
    .filter(({ left_cents }) => left_cents !== 0)
    .map(({ id, left_cents }) => ({ fee_id: id, amount_cents: left_cents }));
}

/** Whether the amount is of the fee's sign and no more than is left of it. */
export function isCreditable({ left_cents }: CreditableFee, amount_cents: number): boolean {
  if (amount_cents === 0 || Math.sign(amount_cents) !== Math.sign(left_cents)) return false;
  return Math.abs(amount_cents) <= Math.abs(left_cents);
}

/** A note's amounts: each tax is that on what was left before, less that on what is left after. */
export function noteAmounts(
  fees: readonly CreditableFee[],
  lines: readonly NoteLine[],
): NoteAmounts {
  const credited = new Map(lines.map(({ fee_id, amount_cents }) => [fee_id, amount_cents]));
  const before = taxLines(
    fees.map(({ left_cents, taxes }) => ({ taxable_cents: left_cents, taxes })),
  );
  const after = taxLines(
    fees.map(({ id, left_cents, taxes }) => ({
      taxable_cents: left_cents - (credited.get(id) ?? 0),
      taxes,
    })),
  );
  const taxes = before.flatMap((line, i): TaxLine[] => {
    const rest = after[i] ?? { taxable_cents: 0, tax_cents: 0 };
    const taxable_cents = line.taxable_cents - rest.taxable_cents;
    const tax_cents = line.tax_cents - rest.tax_cents;
    return taxable_cents === 0 && tax_cents === 0 ? [] : [{ ...line, taxable_cents, tax_cents }];
  });
  const subtotal_cents = sumCents(lines.map((line) => line.amount_cents));
  const tax_cents = sumCents(taxes.map((line) => line.tax_cents));
  const total_cents = sumCents([subtotal_cents, tax_cents]);
  return { lines, taxes, subtotal_cents, tax_cents, total_cents };
}

/** Splits a note: first it lowers what is due and written off, the rest is refunded or credit. */
export function settleNote(
  total_cents: number,
  invoice: { readonly due_cents: number; readonly written_off_cents: number },
  refund_cents: number,
) {
  const from_due = Math.min(total_cents, invoice.due_cents);
  const from_written_off = Math.min(total_cents - from_due, invoice.written_off_cents);
  const offset_cents = from_due + from_written_off;
  const rest = total_cents - offset_cents;
  return {
    offset_cents,
    from_written_off,
    refundable_cents: rest,
    credit_cents: rest - refund_cents,
  };
}
