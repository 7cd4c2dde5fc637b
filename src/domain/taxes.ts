// Taxes of an invoice: one line for each tax and percentage, rounded once over all fees that have
// it, never per fee.

import { compare, decimal, divideRounded, integer, multiply } from "./decimal.ts";
import { toCents } from "./money.ts";

/** A tax as it stands at an instant; the percentage as canonical decimal text. */
export type Tax = { readonly code: string; readonly name: string; readonly percent: string };

export type TaxLine = Tax & { readonly taxable_cents: number; readonly tax_cents: number };

type Taxed = { readonly taxable_cents: number; readonly taxes: readonly Tax[] };

/** Sorted by code, then percentage. Below 0 where the taxed sum is. */
export function taxLines(fees: readonly Taxed[]): TaxLine[] {
  const lines = new Map<string, Tax & { taxable_cents: number }>();
  for (const { taxable_cents, taxes } of fees) {
    for (const tax of taxes) {
      const key = `${tax.code} ${tax.percent}`;
      const line = lines.get(key) ?? { ...tax, taxable_cents: 0 };
      line.taxable_cents += taxable_cents;
      lines.set(key, line);
    }
  }
  return [...lines.values()]
    .sort(compareTaxes)
    .map((line) => ({ ...line, tax_cents: taxOn(line.taxable_cents, line.percent) }));
}

export function taxOn(taxable_cents: number, percent: string): number {
  return toCents(divideRounded(multiply(integer(taxable_cents), decimal(percent)), 100n));
}

function compareTaxes(a: Tax, b: Tax): number {
  if (a.code !== b.code) return a.code < b.code ? -1 : 1;
  return compare(decimal(a.percent), decimal(b.percent));
}

/** The first that is not null decides alone. */
export function decidingCodes(
  candidates: readonly (readonly string[] | null | undefined)[],
): readonly string[] {
  return candidates.find((codes) => codes !== null && codes !== undefined) ?? [];
}

/** Taxes at an instant, and whom they are for. */
export type TaxTerms = {
  readonly customer_codes: readonly string[] | null;
  readonly settings_codes: readonly string[] | null;
  readonly is_exempt: boolean;
  readonly taxes: Readonly<Record<string, { readonly name: string; readonly percent: string }>>;
};

/** Those that lines of a price list may have, for when they are corrected; null: none. */
export function taxSnapshot(
  terms: TaxTerms | null,
  list: {
    readonly tax_codes?: readonly string[] | null;
    readonly charges: readonly { readonly tax_codes?: readonly string[] | null }[];
  },
): TaxTerms | null {
  if (terms === null || terms.is_exempt) return null;
  const { customer_codes, settings_codes } = terms;
  const named = [list, ...list.charges].flatMap(({ tax_codes }) => tax_codes ?? []);
  const codes = [...new Set([...named, ...(customer_codes ?? settings_codes ?? [])])];
  if (codes.length === 0) return null;
  return { ...terms, taxes: pick(terms.taxes, codes) };
}

function pick(taxes: TaxTerms["taxes"], codes: readonly string[]): TaxTerms["taxes"] {
  return Object.fromEntries(Object.entries(taxes).filter(([code]) => codes.includes(code)));
}

/** As if these were the customer's own. */
export function termsOf(taxes: readonly Tax[]): TaxTerms {
  return {
    customer_codes: taxes.map(({ code }) => code),
    settings_codes: null,
    is_exempt: false,
    taxes: Object.fromEntries(taxes.map(({ code, name, percent }) => [code, { name, percent }])),
  };
}
