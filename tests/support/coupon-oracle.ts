// Coupons on one-off invoices, computed a second time and as simply as the rules say it: what each
// takes of each line, in the order they were applied, and what is left of them.

import { percentOf, shareOf, sum } from "./exact.ts";

export type Terms = {
  readonly percent?: string;
  readonly amount_cents?: number;
  readonly times: number | null;
};

/** An applied coupon and what it took, invoice by invoice; a voided invoice is taken out. */
export class OracleCoupon {
  readonly terms: Terms;
  readonly #taken = new Map<number, number>();

  constructor(terms: Terms) {
    this.terms = terms;
  }

  get uses(): number {
    return [...this.#taken.values()].filter((cents) => cents > 0).length;
  }

  get used_cents(): number {
    return sum([...this.#taken.values()]);
  }

  get #isPot(): boolean {
    return this.terms.amount_cents !== undefined && this.terms.times === 1;
  }

  /** What a pot has left; null for all others. */
  get remaining_cents(): number | null {
    return this.#isPot ? (this.terms.amount_cents ?? 0) - this.used_cents : null;
  }

  get status(): "running" | "used_up" {
    const { times } = this.terms;
    const ended = this.#isPot ? this.remaining_cents === 0 : times !== null && this.uses >= times;
    return ended ? "used_up" : "running";
  }

  /** What it takes of what the ones before it left of each line. */
  take(invoice: number, left: readonly number[]): number[] {
    const lost = this.status === "running" ? this.#spread(left) : left.map(() => 0);
    this.#taken.set(invoice, sum(lost));
    return lost;
  }

  undo(invoice: number): void {
    this.#taken.delete(invoice);
  }

  /** The first n lines together lose a rounded amount, for every n. */
  #spread(left: readonly number[]): number[] {
    const whole = sum(left);
    const { percent, amount_cents = 0 } = this.terms;
    const gives = Math.min(this.remaining_cents ?? amount_cents, whole);
    const together = (count: number): number => {
      const part = sum(left.slice(0, count));
      if (percent !== undefined) return percentOf(part, percent);
      return gives === 0 ? 0 : shareOf(gives, part, whole);
    };
    return left.map((_, i) => together(i + 1) - together(i));
  }
}

/** What an invoice of these lines loses, by line and by coupon. */
export function discounted(
  invoice: number,
  lines: readonly number[],
  coupons: readonly OracleCoupon[],
): { readonly discounts: number[]; readonly taken: number[] } {
  let left = [...lines];
  const taken: number[] = [];
  for (const coupon of coupons) {
    const lost = coupon.take(invoice, left);
    left = left.map((cents, i) => cents - (lost[i] ?? 0));
    taken.push(sum(lost));
  }
  return { discounts: lines.map((cents, i) => cents - (left[i] ?? 0)), taken };
}
