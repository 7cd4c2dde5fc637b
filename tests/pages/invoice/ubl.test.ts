// E-invoices of every kind, read back: the order of elements by the schema of UBL 2.1, and the
// rules of EN 16931 about sums, categories, decimals and what must be there.

import { describe, expect, test } from "vitest";
import { missingIn } from "../../../src/domain/documents/e-invoice-faults.ts";
import { eCreditNoteOf, eInvoiceOf } from "../../../src/domain/documents/e-invoices.ts";
import type { Note } from "../../../src/domain/documents/notes.ts";
import { renderUbl } from "../../../src/pages/invoice/ubl.ts";
import type { InvoiceWithFees } from "../../../src/schema/invoices.ts";
import { BUYER, billed, coupon, free, SELLER, written } from "../../documents/billed.ts";
import { NAMES } from "../../documents/samples.ts";
import { at, brokenArithmetic, type Element, readXml, texts } from "../../support/ubl.ts";

/** The elements that are used, in the order of the schema of UBL 2.1. */
const SEQUENCES: Readonly<Record<string, string>> = {
  Invoice:
    "CustomizationID ID IssueDate DueDate InvoiceTypeCode Note DocumentCurrencyCode InvoicePeriod OrderReference BillingReference AccountingSupplierParty AccountingCustomerParty PaymentTerms TaxTotal LegalMonetaryTotal InvoiceLine",
  CreditNote:
    "CustomizationID ID IssueDate CreditNoteTypeCode Note DocumentCurrencyCode InvoicePeriod OrderReference BillingReference AccountingSupplierParty AccountingCustomerParty PaymentTerms TaxTotal LegalMonetaryTotal CreditNoteLine",
  InvoicePeriod: "StartDate EndDate",
  OrderReference: "ID",
  BillingReference: "InvoiceDocumentReference",
  InvoiceDocumentReference: "ID IssueDate",
  AccountingSupplierParty: "Party",
  AccountingCustomerParty: "Party",
  Party: "PartyIdentification PostalAddress PartyTaxScheme PartyLegalEntity Contact",
  PartyIdentification: "ID",
  PostalAddress:
    "StreetName AdditionalStreetName CityName PostalZone CountrySubentity AddressLine Country",
  AddressLine: "Line",
  Country: "IdentificationCode",
  PartyTaxScheme: "CompanyID TaxScheme",
  TaxScheme: "ID",
  PartyLegalEntity: "RegistrationName",
  Contact: "ElectronicMail",
  PaymentTerms: "Note",
  TaxTotal: "TaxAmount TaxSubtotal",
  TaxSubtotal: "TaxableAmount TaxAmount TaxCategory",
  TaxCategory: "ID Percent TaxExemptionReason TaxScheme",
  LegalMonetaryTotal:
    "LineExtensionAmount TaxExclusiveAmount TaxInclusiveAmount PrepaidAmount PayableAmount",
  InvoiceLine:
    "ID Note InvoicedQuantity LineExtensionAmount InvoicePeriod AllowanceCharge Item Price",
  CreditNoteLine:
    "ID Note CreditedQuantity LineExtensionAmount InvoicePeriod AllowanceCharge Item Price",
  AllowanceCharge: "ChargeIndicator AllowanceChargeReason Amount",
  Item: "Description Name ClassifiedTaxCategory",
  ClassifiedTaxCategory: "ID Percent TaxScheme",
  Price: "PriceAmount",
};
/** Those that may come more than once. */
const REPEATED = new Set(["Note", "TaxSubtotal", "InvoiceLine", "CreditNoteLine"]);

function disorder({ name, children }: Element): string[] {
  if (children.length === 0) return [];
  const order = (SEQUENCES[name] ?? "").split(" ");
  const places = children.map((child) => order.indexOf(child.name));
  const faults = children.flatMap((child, i) => {
    const [place = -1, before = -1] = [places[i], places[i - 1]];
    const isAgain = place === before && REPEATED.has(child.name);
    return place > before || isAgain ? [] : [`${name}/${child.name}`];
  });
  return [...faults, ...children.flatMap(disorder)];
}

/** What BR-S, BR-Z, BR-E, BR-AE, BR-CO-18 and BR-DEC ask beyond the sums. */
function brokenCategories(root: Element): string[] {
  const isNote = root.name === "CreditNote";
  const lines = at(root, isNote ? "CreditNoteLine" : "InvoiceLine");
  const kinds = new Map<string, number>();
  for (const line of lines) {
    const [kind] = at(line, "Item/ClassifiedTaxCategory").map(kindOf);
    const [net] = texts(line, "LineExtensionAmount");
    kinds.set(kind ?? "", Math.round((kinds.get(kind ?? "") ?? 0) + Number(net) * 100));
  }
  const subtotals = at(root, "TaxTotal/TaxSubtotal");
  const told = subtotals.map((each) => at(each, "TaxCategory").map(kindOf).join());
  const faults = subtotals.flatMap((each, i) => {
    const [category = ""] = texts(each, "TaxCategory/ID");
    const [percent] = texts(each, "TaxCategory/Percent").map(Number);
    const [base] = texts(each, "TaxableAmount").map((text) => Math.round(Number(text) * 100));
    const [tax] = texts(each, "TaxAmount").map(Number);
    const hasReason = texts(each, "TaxCategory/TaxExemptionReason").some((text) => text !== "");
    const isFree = category === "E" || category === "AE";
    return [
      ...(base === kinds.get(told[i] ?? "") ? [] : [`BR-${category}-08`]),
      ...((category === "S" ? percent !== 0 : percent === 0) ? [] : [`BR-${category}-05`]),
      ...(category === "S" || tax === 0 ? [] : [`BR-${category}-09`]),
      ...(hasReason === isFree ? [] : [`BR-${category}-10`]),
    ];
  });
  const same = [...kinds.keys()].sort().join("|") === [...told].sort().join("|");
  return [...faults, ...(same && told.length > 0 ? [] : ["BR-CO-18"]), ...badDecimals(root)];
}

function kindOf(category: Element): string {
  return [...texts(category, "ID"), ...texts(category, "Percent")].join(" ");
}

/** BR-DEC: at most two decimals; every amount names its currency. */
function badDecimals({ name, text, attributes, children }: Element): string[] {
  const isAmount = name.endsWith("Amount");
  const good = /^-?\d+(\.\d{1,2})?$/.test(text) && /^[A-Z]{3}$/.test(attributes.currencyID ?? "");
  return [...(isAmount && !good ? [`BR-DEC ${name}`] : []), ...children.flatMap(badDecimals)];
}

/** Payable, tax and the base of each category. */
function figures(root: Element): string {
  const [payable] = texts(root, "LegalMonetaryTotal/PayableAmount");
  const parts = at(root, "TaxTotal/TaxSubtotal").map((each) => {
    const [kind] = at(each, "TaxCategory").map(kindOf);
    return `${kind}: ${texts(each, "TaxAmount")} of ${texts(each, "TaxableAmount")}`;
  });
  return `${payable}; ${parts.join("; ")}`;
}

describe("by the schema and the rules", () => {
  test.each<[string, InvoiceWithFees, string]>([
    ["standard", billed([{ cents: 12_345, percent: "20" }]), "148.14; S 20: 24.69 of 123.45"],
    [
      "two rates",
      billed([
        { cents: 2030, percent: "20" },
        { cents: 3600, percent: "5.5" },
        { cents: 1875, percent: "20" },
      ]),
      "84.84; S 20: 7.81 of 39.05; S 5.5: 1.98 of 36.00",
    ],
    [
      "a coupon in percent",
      billed([{ cents: 12_345, percent: "20", off: 1235 }], {
        coupons: [coupon("Spring & deal", "10", 1235)],
      }),
      "133.32; S 20: 22.22 of 111.10",
    ],
    [
      "a fixed coupon over two lines",
      billed(
        [
          { cents: 1000, percent: "20", off: 250 },
          { cents: 3000, percent: "20", off: 750 },
        ],
        { coupons: [coupon("Ten off", null, 1000)] },
      ),
      "36.00; S 20: 6.00 of 30.00",
    ],
    [
      "an adjustment below 0 that gives a discount back",
      billed([
        { cents: 10_000, percent: "20" },
        { cents: -2000, percent: "20", off: -200 },
      ]),
      "98.40; S 20: 16.40 of 82.00",
    ],
    [
      "exempt",
      billed([{ cents: 500 }], { buyer: free("exempt"), tax_note: "Art. 132" }),
      "5.00; E 0: 0.00 of 5.00",
    ],
    [
      "a reverse charge with a late line that is taxed",
      billed([{ cents: 10_000 }, { cents: 500, percent: "20" }], {
        buyer: free("reverse_charge"),
        tax_note: "Reverse charge",
      }),
      "106.00; AE 0: 0.00 of 100.00; S 20: 1.00 of 5.00",
    ],
    [
      "zero rate beside another",
      billed([
        { cents: 10_000, percent: "20" },
        { cents: 500, percent: "0" },
      ]),
      "125.00; S 20: 20.00 of 100.00; Z 0: 0.00 of 5.00",
    ],
    [
      "prepaid by credit and payments",
      billed([{ cents: 10_000, percent: "20" }], {
        credit_applied_cents: 800,
        amount_paid_cents: 12_000,
        overpaid_cents: 1000,
        po_number: "PO-77",
        memo: "For <you>",
        offset_cents: 100,
        written_off_cents: 100,
      }),
      "2.00; S 20: 20.00 of 100.00",
    ],
    [
      "yen have no decimals",
      billed([{ cents: 1230, percent: "10" }], { currency: "JPY" }),
      "1353; S 10: 123 of 1230",
    ],
  ])("%s", (_, invoice, expected) => {
    const root = written(invoice);
    expect(disorder(root)).toEqual([]);
    expect(brokenArithmetic(root)).toEqual([]);
    expect(brokenCategories(root)).toEqual([]);
    expect(figures(root)).toBe(expected);
    // No document-level allowances and charges, so no sums of them: BR-CO-11 and BR-CO-12.
    expect(at(root, "AllowanceCharge")).toEqual([]);
    expect(texts(root, "LegalMonetaryTotal/AllowanceTotalAmount")).toEqual([]);
  });

  test("two taxes of one percent are one subtotal", () => {
    const lines = [
      { cents: 1002, percent: "5", code: "a" },
      { cents: 1002, percent: "5", code: "b" },
    ];
    const root = written(billed(lines));
    expect(figures(root)).toBe("21.04; S 5: 1.00 of 20.04");
    expect(disorder(root)).toEqual([]);
  });

  test("a credit note, also of a line below 0", () => {
    const invoice = billed([
      { cents: 10_000, percent: "20" },
      { cents: -1000, percent: "20" },
    ]);
    const note: Note = {
      id: "n",
      number: "CN-2026-0001",
      invoice_id: invoice.id,
      customer_id: "c",
      invoice_number: invoice.number,
      currency: "EUR",
      subtotal_cents: 2000,
      tax_cents: 400,
      total_cents: 2400,
      offset_cents: 1400,
      refund_cents: 500,
      credit_cents: 500,
      refunded_cents: 0,
      reason: "Wrong",
      memo: "Sorry",
      issuing_date: "2026-05-04",
      created_at: new Date("2026-05-04T00:00:00.000Z"),
      taxes: [{ code: "vat", name: "VAT", percent: "20", taxable_cents: 2000, tax_cents: 400 }],
      lines: [
        { fee_id: "fee-1", amount_cents: 2500 },
        { fee_id: "fee-2", amount_cents: -500 },
      ],
    };
    const found = eCreditNoteOf(note, invoice, NAMES);
    expect(missingIn(found, invoice)).toEqual([]);
    const root = readXml(renderUbl(found));
    expect(disorder(root)).toEqual([]);
    expect(brokenArithmetic(root)).toEqual([]);
    expect(brokenCategories(root)).toEqual([]);
    expect(figures(root)).toBe("24.00; S 20: 4.00 of 20.00");
    expect(texts(root, "CreditNoteLine/CreditedQuantity")).toEqual(["1", "-1"]);
    expect(texts(root, "Note")).toEqual(["Wrong", "Sorry"]);
    expect(texts(root, "PaymentTerms/Note")).toEqual([
      "Set off against INV-2025-0007: €14.00; To be refunded: €5.00; Added to the customer's credit: €5.00",
    ]);
    expect(texts(root, "BillingReference/InvoiceDocumentReference/ID")).toEqual(["INV-2025-0007"]);
  });
});

describe("what it says", () => {
  test("parties in their parts, with all that needs escaping, and nothing XML cannot hold", () => {
    const name = "Acme \u0007\ud800\ufffe<b>&amp;";
    const root = written(billed([{ cents: 100, percent: "20" }], { buyer: { ...BUYER, name } }));
    const [seller, buyer] = ["AccountingSupplierParty", "AccountingCustomerParty"].map(
      (side) => at(root, `${side}/Party`)[0] as Element,
    );
    expect(texts(seller as Element, "PartyLegalEntity/RegistrationName")).toEqual([SELLER.name]);
    expect(texts(buyer as Element, "PartyLegalEntity/RegistrationName")).toEqual([
      "Acme \ufffd<b>&amp;",
    ]);
    const [address] = at(seller as Element, "PostalAddress");
    expect(address?.children.map(({ name, text }) => `${name} ${text.trim()}`.trim())).toEqual([
      "StreetName 1 rue A",
      "AdditionalStreetName Bât. B",
      "CityName Paris",
      "PostalZone 75001",
      "AddressLine",
      "Country",
    ]);
    expect(texts(seller as Element, "PostalAddress/AddressLine/Line")).toEqual(["Cour C, Porte D"]);
    expect(texts(buyer as Element, "PartyTaxScheme/CompanyID")).toEqual(["DE123456789"]);
  });

  test("units stand in the text of a line, a discount says why", () => {
    const root = written(
      billed([{ cents: 12_345, percent: "20", off: 1235 }], {
        coupons: [coupon("Spring deal", "10", 1235)],
      }),
    );
    expect(texts(root, "InvoiceLine/Item/Description")).toEqual(["430.5 × €0.25"]);
    expect(texts(root, "InvoiceLine/AllowanceCharge/AllowanceChargeReason")).toEqual([
      "Spring deal",
    ]);
    expect(at(root, "InvoiceLine/InvoicedQuantity")[0]?.attributes).toEqual({ unitCode: "C62" });
  });

  test("amounts are exact at any size", () => {
    const root = written(billed([{ cents: 900_719_925_474_099, percent: "0" }]));
    expect(texts(root, "LegalMonetaryTotal/PayableAmount")).toEqual(["9007199254740.99"]);
  });
});

describe("what is missing is named, all of it", () => {
  const faults = (invoice: InvoiceWithFees) =>
    missingIn(eInvoiceOf(invoice, NAMES), invoice).map(({ field, code }) => `${field} ${code}`);

  test("an invoice whose parties say nothing", () => {
    expect(faults(billed([{ cents: 100 }], { seller: {}, buyer: {} }))).toEqual([
      "seller.name missing",
      "seller.country missing",
      "seller.tax_id missing",
      "buyer.name missing",
      "buyer.country missing",
      "fees.0.taxes count",
    ]);
  });

  test.each<[string, InvoiceWithFees, string[]]>([
    ["KWD", billed([{ cents: 100, percent: "5" }], { currency: "KWD" }), ["currency missing"]],
    ["nothing", billed([{ cents: 0, percent: "5" }]), ["total_cents missing"]],
    [
      "a seller whose number is no VAT id",
      billed([{ cents: 1, percent: "5" }], { seller: { ...SELLER, tax_id: "12-3456789" } }),
      ["seller.tax_id invalid"],
    ],
    [
      "a reverse charge to a buyer whose number is no VAT id",
      billed([{ cents: 1 }], {
        buyer: { ...free("reverse_charge"), tax_id: "12-3456789" },
        tax_note: "Reverse charge",
      }),
      ["buyer.tax_id invalid"],
    ],
    [
      "parties whose names cannot be seen, in countries that there are not",
      billed([{ cents: 1, percent: "5" }], {
        seller: { ...SELLER, name: " ", country: "UK" },
        buyer: { ...BUYER, name: "\u0001\u00a0", country: "EU" },
      }),
      [
        "seller.name missing",
        "seller.country invalid",
        "buyer.name missing",
        "buyer.country invalid",
      ],
    ],
    ["STN", billed([{ cents: 1, percent: "5" }], { currency: "STN" }), ["currency invalid"]],
    ["HRK", billed([{ cents: 1, percent: "5" }], { currency: "HRK" }), ["currency invalid"]],
    [
      "two taxes of one percent whose rounding is off by a whole yen",
      billed(
        [
          { cents: 5, percent: "10", code: "a" },
          { cents: 5, percent: "10", code: "b" },
        ],
        { currency: "JPY" },
      ),
      ["taxes count"],
    ],
    [
      "the same in euros is within what the norm allows",
      billed([
        { cents: 5, percent: "10", code: "a" },
        { cents: 5, percent: "10", code: "b" },
      ]),
      [],
    ],
    [
      "a top-up of an exempt customer",
      billed([{ cents: 1 }], { buyer: free("exempt"), tax_note: "" }),
      ["fees.0.taxes count"],
    ],
  ])("%s", (_, invoice, expected) => {
    expect(faults(invoice)).toEqual(expected);
  });
});
