// What e-invoices make of parties and texts: VAT ids, countries, blanks, and what reads as code.

import { expect, test } from "vitest";
import type { Fee, InvoiceWithFees } from "../../../src/schema/invoices.ts";
import { BUYER, billed, coupon, free, SELLER, written } from "../../documents/billed.ts";
import { at, type Element, texts } from "../../support/ubl.ts";

const of = (fields: Partial<InvoiceWithFees>) =>
  written(billed([{ cents: 100, percent: "20" }], fields));
const supplier = "AccountingSupplierParty/Party";
const customer = "AccountingCustomerParty/Party";
const idOf = (root: Element, party: string) => texts(root, `${party}/PartyTaxScheme/CompanyID`);

test("VAT ids are written in capitals, and without what parts their digits", () => {
  const seller = { ...SELLER, tax_id: "fr 00.111-222333" };
  const root = of({ seller, buyer: { ...BUYER, tax_id: "de123456789" } });
  expect(idOf(root, supplier)).toEqual(["FR00111222333"]);
  expect(idOf(root, customer)).toEqual(["DE123456789"]);
});

test.each([
  ["AT", "DE123456789"],
  ["MC", "FR00111222333"],
  ["GB", "XI123456789"],
  ["GR", "EL123456789"],
])("a buyer in %s may have the number %s", (country, tax_id) => {
  expect(idOf(of({ buyer: { ...BUYER, country, tax_id } }), customer)).toEqual([tax_id]);
});

test.each(["12-3456789", " ", "UK123"])("the number %j is no VAT id, and is left out", (tax_id) => {
  expect(idOf(of({ buyer: { ...BUYER, country: "US", tax_id } }), customer)).toEqual([]);
});

test("Kosovo has the letters of the norm", () => {
  const root = of({ buyer: { ...BUYER, country: "XK", tax_id: "" } });
  expect(texts(root, `${customer}/PostalAddress/Country/IdentificationCode`)).toEqual(["1A"]);
});

test("what cannot be seen is left out, or has the usual words", () => {
  const blanks = {
    external_id: " ",
    email: "",
    city: "\u0001",
    region: "\u200b",
    address: " \n\t",
  };
  const lines = [{ cents: 10_000, off: 100 }];
  const root = written(
    billed(lines, {
      buyer: { ...free("exempt"), ...blanks },
      tax_note: " ",
      memo: " \r\n",
      po_number: "\ufffe",
      coupons: [coupon(" ", "1", 100)],
    }),
  );
  const empty = (each: Element): string[] => [
    ...(each.children.length === 0 && each.text.trim() === "" ? [each.name] : []),
    ...each.children.flatMap(empty),
  ];
  expect(empty(root)).toEqual([]);
  const path = "TaxTotal/TaxSubtotal/TaxCategory/TaxExemptionReason";
  expect(texts(root, path)).toEqual(["Exempt from tax"]);
  expect([at(root, "Note"), at(root, "OrderReference")]).toEqual([[], []]);
});

test("a line whose name cannot be seen is a fee", () => {
  const invoice = billed([{ cents: 100, percent: "20" }]);
  const [fee] = invoice.fees as [Fee];
  const fees = [{ ...fee, properties: { ...fee.properties, name: "\u0001" } }];
  expect(texts(written({ ...invoice, fees }), "InvoiceLine/Item/Name")).toEqual(["Fee"]);
});

test.each([
  ["a #foo# b", "a # foo# b"],
  ["#AAI#text", "# AAI#text"],
  ["#ab\r\n#", "# ab\r\n#"],
  ["#f\u0001oo#", "# foo#"],
  ["#🙂🙂🙂#", "# 🙂🙂🙂#"],
  ["a #food# b", "a #food# b"],
  ["##abc#", "##abc#"],
  ["no. #123", "no. #123"],
])("the memo %j is no code", (memo, note) => {
  expect(texts(of({ memo }), "Note")).toEqual([note]);
});
