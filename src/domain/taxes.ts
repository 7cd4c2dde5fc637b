// Taxes of an invoice: one line for each tax and percentage, rounded once over all fees that have
// it, never per fee.

import { isVisible } from "../schema/formats.ts";
import { compare, decimal, divideRounded, integer, multiply } from "./decimal.ts";
import { toCents } from "./money.ts";

/** A tax as it stands at an instant; the percentage as canonical decimal text. */
export type Tax = { readonly code: string; readonly name: string; readonly percent: string };

export type TaxLine = Tax & { readonly taxable_cents: number; readonly tax_cents: number };

type Taxed = { readonly taxable_cents: number; readonly taxes: readonly Tax[] };

/** The tax lines of fees, by code, then percentage. A line is below 0 where its taxed sum is. */
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

/** The tax codes that count: the first list that is given decides alone. */
export function decidingCodes(
  candidates: readonly (readonly string[] | null | undefined)[],
): readonly string[] {
  return candidates.find((codes) => codes !== null && codes !== undefined) ?? [];
}

/** Why a fee has no tax, in the letters of e-invoices and in words. */
export type Exemption = { readonly tax_category: "E" | "AE"; readonly tax_reason: string };

/** Reasons for no tax where the customer's note says none. */
export const USUAL_REASONS = { E: "Exempt from tax", AE: "Reverse charge" } as const;

export function exemptionOf(customer: {
  readonly tax_exemption: "exempt" | "reverse_charge" | null;
  readonly tax_note: string;
}): Exemption | null {
  const { tax_exemption, tax_note } = customer;
  if (tax_exemption === null) return null;
  const tax_category = tax_exemption === "exempt" ? "E" : "AE";
  return { tax_category, tax_reason: reasonOr(tax_category, tax_note) };
}

export function reasonOr(category: Exemption["tax_category"], tax_note: string): string {
  return isVisible(tax_note) ? tax_note : USUAL_REASONS[category];
}

/** The taxes of a customer at an instant: which are named by whom, and their percentages. */
export type TaxTerms = {
  readonly customer_codes: readonly string[] | null;
  readonly settings_codes: readonly string[] | null;
  /** Why the customer pays no tax; then the other fields do not count. */
  readonly exemption?: Exemption | null;
  readonly taxes: Readonly<Record<string, { readonly name: string; readonly percent: string }>>;
};

/**
 * The terms that lines of a price list may need, kept so that corrections are taxed as the lines
 * were. null: there is no tax.
 */
export function taxSnapshot(
  terms: TaxTerms | null,
  list: {
    readonly tax_codes?: readonly string[] | null;
    readonly charges: readonly { readonly tax_codes?: readonly string[] | null }[];
  },
): TaxTerms | null {
  if (terms === null) return null;
  if (terms.exemption) return { ...NO_TERMS, exemption: terms.exemption };
  const { customer_codes, settings_codes } = terms;
  const named = [list, ...list.charges].flatMap(({ tax_codes }) => tax_codes ?? []);
  const codes = [...new Set([...named, ...(customer_codes ?? settings_codes ?? [])])];
  if (codes.length === 0) return null;
  return { ...terms, taxes: pick(terms.taxes, codes) };
}

function pick(taxes: TaxTerms["taxes"], codes: readonly string[]): TaxTerms["taxes"] {
  return Object.fromEntries(Object.entries(taxes).filter(([code]) => codes.includes(code)));
}

const NO_TERMS: TaxTerms = { customer_codes: null, settings_codes: null, taxes: {} };

/** Terms under which a fee has exactly these taxes: as if they were the customer's own. */
export function termsOf(taxes: readonly Tax[], exemption: Exemption | null): TaxTerms {
  return {
    exemption,
    customer_codes: taxes.map(({ code }) => code),
    settings_codes: null,
    taxes: Object.fromEntries(taxes.map(({ code, name, percent }) => [code, { name, percent }])),
  };
}
