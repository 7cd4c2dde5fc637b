// Laws of credit notes: in whatever parts an invoice is credited, the notes of a wholly credited
// one add up to its total, and before that an invoice less its notes is the invoice of the rest.

import fc from "fast-check";
import { expect, test } from "vitest";
import {
  type CreditableFee,
  isCreditable,
  linesLeft,
  type NoteAmounts,
  type NoteLine,
  noteAmounts,
  settleNote,
} from "../../src/domain/credit-notes.ts";
import { taxLines } from "../../src/domain/taxes.ts";

const percent = fc.integer({ min: 0, max: 1_000_000 }).map((n) => String(n / 10_000));
const rates = fc.tuple(percent, percent, percent);
const sold = fc.record({
  taxable_cents: fc.integer({ min: -3_000, max: 20_000 }),
  taxed: fc.subarray([0, 1, 2]),
});
const invoice = fc
  .tuple(rates, fc.array(sold, { minLength: 1, maxLength: 8 }))
  .map(([percents, fees]) =>
    fees.map(({ taxable_cents, taxed }, i): CreditableFee => {
      const taxes = taxed.map((n) => ({ code: `t${n}`, name: "T", percent: percents[n] ?? "0" }));
      return { id: `${i}`, taxable_cents, left_cents: taxable_cents, taxes };
    }),
  );
/** Which fee a line is of, and how much of what is left it takes. */
const picks = fc.array(fc.tuple(fc.nat(7), fc.double({ min: 0, max: 1, noNaN: true })), {
  minLength: 1,
  maxLength: 4,
});
const parts = fc.array(picks, { maxLength: 12 });

function totalOf(fees: readonly CreditableFee[]): number {
  const lines = fees.map(({ left_cents, taxes }) => ({ taxable_cents: left_cents, taxes }));
  const tax = taxLines(lines).reduce((sum, { tax_cents }) => sum + tax_cents, 0);
  return fees.reduce((sum, { left_cents }) => sum + left_cents, tax);
}

function linesOf(fees: readonly CreditableFee[], chosen: readonly (readonly [number, number])[]) {
  const lines = new Map<string, NoteLine>();
  for (const [at, share] of chosen) {
    const fee = fees[at % fees.length];
    if (fee === undefined || fee.left_cents === 0 || lines.has(fee.id)) continue;
    const amount_cents = Math.sign(fee.left_cents) * Math.ceil(Math.abs(fee.left_cents) * share);
    if (isCreditable(fee, amount_cents)) lines.set(fee.id, { fee_id: fee.id, amount_cents });
  }
  return [...lines.values()];
}

function less(fees: readonly CreditableFee[], { lines }: NoteAmounts): CreditableFee[] {
  return fees.map((fee) => {
    const line = lines.find(({ fee_id }) => fee_id === fee.id);
    return { ...fee, left_cents: fee.left_cents - (line?.amount_cents ?? 0) };
  });
}

test("in any parts, the notes of all of an invoice are exactly its total", () => {
  fc.assert(
    fc.property(invoice, parts, (sent, chosen) => {
      const whole = totalOf(sent);
      let fees = sent;
      let credited = 0;
      for (const choice of chosen) {
        const lines = linesOf(fees, choice);
        if (lines.length === 0) continue;
        const note = noteAmounts(fees, lines);
        expect(note.total_cents).toBe(note.subtotal_cents + note.tax_cents);
        fees = less(fees, note);
        credited += note.total_cents;
        // The invoice that would have been written with what is left.
        expect(whole - credited).toBe(totalOf(fees));
      }
      const last = noteAmounts(fees, linesLeft(fees));
      expect(credited + last.total_cents).toBe(whole);
      expect(less(fees, last).every(({ left_cents }) => left_cents === 0)).toBe(true);
    }),
    { numRuns: 500 },
  );
});

test("a note goes to what is due, then to what was written off, then out, and the rest is credit", () => {
  const cents = fc.nat(10_000);
  fc.assert(
    fc.property(cents, cents, cents, cents, (total, due_cents, written_off_cents, wanted) => {
      const { refundable_cents } = settleNote(total, { due_cents, written_off_cents }, 0);
      const refund = Math.min(wanted, refundable_cents);
      const gone = settleNote(total, { due_cents, written_off_cents }, refund);
      expect(gone.offset_cents + refund + gone.credit_cents).toBe(total);
      expect(gone.offset_cents).toBe(Math.min(total, due_cents + written_off_cents));
      expect(gone.from_written_off).toBe(Math.max(0, gone.offset_cents - due_cents));
      expect(gone.credit_cents).toBeGreaterThanOrEqual(0);
    }),
  );
});
