// Invoices with taxes, for e-invoices: between a seller in France and a buyer in Germany.

import { expect } from "vitest";
import { missingIn } from "../../src/domain/documents/e-invoice-faults.ts";
import { eInvoiceOf } from "../../src/domain/documents/e-invoices.ts";
import { renderUbl } from "../../src/pages/invoice/ubl.ts";
import type { Fee, InvoiceWithFees } from "../../src/schema/invoices.ts";
import { percentOf, sum } from "../support/exact.ts";
import { type Element, readXml } from "../support/ubl.ts";
import { invoiceOf, NAMES, usage, type Variation } from "./samples.ts";

export const SELLER = {
  name: "Example & <Sons>",
  address: "1 rue A\nBât. B\nCour C\nPorte D",
  city: "Paris",
  postal_code: "75001",
  region: "",
  country: "FR",
  tax_id: "FR00111222333",
};
export const BUYER = {
  name: 'Acme "GmbH"',
  email: "pay@acme.test",
  external_id: "acme",
  address: "Hof 2",
  city: "Berlin",
  postal_code: "10115",
  region: "BE",
  country: "DE",
  tax_id: "DE123456789",
  tax_exemption: null,
};

type Line = { cents: number; percent?: string; off?: number; code?: string };

/** With the taxes of its lines: each is given its percent, and its discount. */
export function billed(
  lines: readonly Line[],
  fields: Partial<InvoiceWithFees> = {},
): InvoiceWithFees {
  const fees = lines.map(({ cents, percent, off = 0, code = "vat" }, i): Fee => {
    const taxes = percent === undefined ? [] : [{ code, percent }];
    const terms = { amount_cents: cents, discount_cents: off, taxes, amount_currency: "EUR" };
    return usage(`Metric ${i + 1}`, { id: `fee-${i + 1}`, ...terms });
  });
  const taxes = taxesOf(fees);
  const subtotal_cents = sum(fees.map((fee) => fee.amount_cents));
  const discount_cents = sum(fees.map((fee) => fee.discount_cents));
  const tax_cents = sum(taxes.map((tax) => tax.tax_cents));
  const total_cents = subtotal_cents - discount_cents + tax_cents;
  const amounts = { subtotal_cents, discount_cents, tax_cents, total_cents, taxes };
  const invoice = { currency: "EUR", seller: SELLER, buyer: BUYER, ...amounts, ...fields };
  return invoiceOf({ fees, invoice } satisfies Variation);
}

function taxesOf(fees: readonly Fee[]): InvoiceWithFees["taxes"] {
  const keys = new Set(fees.flatMap(({ taxes }) => taxes.map((t) => `${t.code} ${t.percent}`)));
  return [...keys].sort().map((key) => {
    const [code = "", percent = ""] = key.split(" ");
    const own = fees.filter(({ taxes }) => taxes.some((t) => `${t.code} ${t.percent}` === key));
    const taxable_cents = sum(own.map((fee) => fee.taxable_cents));
    const tax_cents = percentOf(taxable_cents, percent);
    return { code, name: "VAT", percent, taxable_cents, tax_cents };
  });
}

export const coupon = (name: string, percent: string | null, amount_cents: number) => ({
  applied_coupon_id: "00000000-0000-7000-8000-000000000005",
  code: "c",
  name,
  percent,
  amount_cents,
});

export function written(invoice: InvoiceWithFees): Element {
  const found = eInvoiceOf(invoice, NAMES);
  expect(missingIn(found, invoice)).toEqual([]);
  return readXml(renderUbl(found));
}

export const free = (tax_exemption: string) => ({ ...BUYER, tax_exemption });
