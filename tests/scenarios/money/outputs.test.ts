// What is shown of money: analytics, the portal, documents and e-invoices.

import { describe, expect, test, vi } from "vitest";
import type { Body, Json } from "../../support/app.ts";
import type { Sandbox } from "../../support/given.ts";
import {
  balanceOf,
  discount,
  figures,
  grant,
  note,
  oneOff,
  outcome,
  paid,
  refund,
  settings,
  stories,
  tax,
  topUp,
  vat,
  voidInvoice,
} from "../../support/money.ts";
import { at, brokenArithmetic, type Element, readXml, texts } from "../../support/ubl.ts";

const { app, begin } = stories();

/** The words of a page, without its markup. */
function textOf(page: string): string {
  return page
    .replace(/^[\s\S]*<body>/, "")
    .replace(/<[^>]*>/g, " ")
    .replace(/&amp;/g, "&")
    .replace(/\s+/g, " ");
}

test("M111 analytics show what was earned, taxed, given back and prepaid", async () => {
  const story = await begin("2026-01-01");
  await vat(story, "20");
  const customer = await story.customer();
  await oneOff(story, customer, "700");
  await story.travelTo("2026-01-30T23:59:59.999");
  expect(await story.get("/v1/analytics")).toMatchObject({
    net_revenue_30d_cents: 700,
    tax_30d_cents: 140,
  });
  await story.travelTo("2026-01-31");
  await discount(story, customer, { percent: "10" });
  const invoice = await oneOff(story, customer, "10000");
  const payment = await paid(story, invoice, 10_800);
  await voidInvoice(story, await oneOff(story, customer, "5000"));
  await topUp(story, customer, 300);
  await oneOff(story, customer, "100", { currency: "EUR" });
  await note(story, invoice, { 0: 1000 });
  const second = await note(story, invoice, { 0: 500 }, { refund_cents: 600 });
  await refund(story, payment, 600, { credit_note_id: second.id });
  await grant(story, customer, 250);
  const dollars = {
    net_revenue_30d_cents: 7500,
    tax_30d_cents: 1500,
    refunds_30d_cents: 600,
    wallet_balance_cents: 1450,
    revenue_30d_cents: 10_800,
  };
  const analytics = await story.get("/v1/analytics");
  expect(analytics).toMatchObject({ currency: "USD", ...dollars });
  const byCurrency = (currency: string) =>
    analytics.by_currency.find((each: Json) => each.currency === currency);
  expect(byCurrency("USD")).toMatchObject(dollars);
  expect(byCurrency("EUR")).toMatchObject({
    net_revenue_30d_cents: 100,
    tax_30d_cents: 20,
    refunds_30d_cents: 0,
    wallet_balance_cents: 0,
  });
});

// The note counts by its own day: while the invoice is inside, both do, and then only the note.
test("M111 also: a note lowers the revenue of its own day", async () => {
  const story = await begin("2026-01-01");
  const invoice = await oneOff(story, await story.customer(), "1000");
  await story.travelTo("2026-01-10");
  await note(story, invoice, { 0: 300 });
  const revenue = async () => (await story.get("/v1/analytics")).net_revenue_30d_cents;
  expect(await revenue()).toBe(700);
  await story.travelTo("2026-01-31");
  expect(await revenue()).toBe(-300);
  await story.travelTo("2026-02-09");
  expect(await revenue()).toBe(0);
});

test("M112 the portal shows the rows, the note, the wallet and the link to pay", async () => {
  const story = await begin("2026-01-01");
  await vat(story, "20");
  await settings(story, { payment_url: "https://pay.test/{number}" });
  const customer = await story.customer();
  await grant(story, customer, 100);
  await discount(story, customer, { percent: "10" });
  const invoice = await oneOff(story, customer, "1000");
  const made = await note(story, invoice, { 0: 100 });
  await grant(story, customer, 70);
  const stranger = { authorization: undefined, "x-project-id": undefined };
  const read = (url: string) => app().call("GET", url, undefined, stranger);
  const { body } = await read(`/v1/portal/${customer.id}?refresh=1`);
  expect(body.invoices).toMatchObject([
    {
      discount_cents: 100,
      tax_cents: 180,
      total_cents: 1080,
      credit_applied_cents: 100,
      amount_due_cents: 860,
      payment_url: `https://pay.test/${invoice.number}`,
    },
  ]);
  expect(body.credit_notes).toMatchObject([{ number: made.number, total_cents: 120 }]);
  expect(body.wallets).toMatchObject([{ currency: "USD", balance_cents: 70 }]);
  const page = await read(`/portal/${customer.id}?refresh=1`);
  expect(page.body).toContain(`href="https://pay.test/${invoice.number}"`);
  const shown = await read(`/portal/${customer.id}/credit-notes/${made.number}`);
  expect(shown.status).toBe(200);
  expect(textOf(shown.body)).toContain(made.number);
  expect(textOf(shown.body)).toContain(invoice.number);
  expect(textOf(shown.body)).toContain("$1.20");
  const other = await story.customer();
  const guessed = await read(`/portal/${other.id}/credit-notes/${made.number}`);
  expect(guessed.status).toBe(404);
});

const SELLER = {
  name: "Example SARL",
  address: "1 rue A",
  city: "Paris",
  postal_code: "75001",
  region: "Ile-de-France",
  country: "FR",
  tax_id: "FR00111222333",
};
const BUYER = {
  name: "Acme GmbH",
  address: "Hof 2",
  city: "Berlin",
  postal_code: "10115",
  region: "Brandenburg",
  country: "DE",
  tax_id: "DE123456789",
};

describe("a document", () => {
  test("M113 shows all of it, as it was at issue", async () => {
    const story = await begin("2026-01-01");
    const url = "https://pay.test/{number}";
    await tax(story, "tva", "20", { name: "TVA" });
    const ours = { ...SELLER, footer: "Thank you & goodbye", payment_url: url };
    await settings(story, { ...ours, tax_codes: ["tva"] });
    const customer = await story.customer(BUYER);
    await discount(story, customer, { percent: "10", name: "Spring deal" });
    const fields = { memo: "For the spring", po_number: "PO-77" };
    const invoice = await oneOff(story, customer, "12345", fields);
    expect(figures(invoice)).toBe(
      "subtotal 12345, discount 1235, tax 2222, total 13332, due 13332",
    );
    const document = async () =>
      (await story.call("GET", `/v1/invoices/${invoice.id}/document`)).body as string;
    const text = textOf(await document());
    for (const part of [
      ...Object.values(SELLER).filter((each) => each !== "FR"),
      ...Object.values(BUYER).filter((each) => each !== "DE"),
      ...["Spring deal", "TVA", "20", "123.45", "12.35", "111.10", "22.22", "133.32"],
      ...["For the spring", "PO-77", "Thank you & goodbye"],
    ]) {
      expect(text).toContain(part);
    }
    const button = `href="https://pay.test/${invoice.number}"`;
    expect(await document()).toContain(button);
    // The rows stand in their one order.
    const places = ["Spring deal", "22.22", "133.32"].map((part) => text.indexOf(part));
    expect(places).toEqual([...places].sort((a, b) => a - b));
    await story.patch(`/v1/customers/${customer.id}`, { name: "Renamed", city: "Moved" });
    const later = textOf(await document());
    expect(later).toContain("Acme GmbH");
    expect(later).not.toContain("Renamed");
    expect(later).not.toContain("Moved");
    const made = await note(story, invoice, undefined, { reason: "Wrong order", memo: "Sorry" });
    expect(await document()).not.toContain(button);
    const credited = await story.call("GET", `/v1/credit-notes/${made.id}/document`);
    for (const part of [made.number, invoice.number, "Acme GmbH", "TVA", "111.10", "133.32"]) {
      expect(textOf(credited.body)).toContain(part);
    }
    // The first PDF loads the fonts: on a busy machine it is asked for again, as the answer says.
    await vi.waitFor(
      async () => {
        const pdf = await story.call("GET", `/v1/credit-notes/${made.id}/document.pdf`);
        expect([pdf.status, pdf.headers["content-type"]]).toEqual([200, "application/pdf"]);
      },
      { timeout: 20_000, interval: 500 },
    );
  });

  test("M113 also: of a paid invoice is a receipt that lists its payments", async () => {
    const story = await begin("2026-01-01");
    const customer = await story.customer({ ...BUYER, tax_exemption: "reverse_charge" });
    const invoice = await oneOff(story, customer, "1000");
    await paid(story, invoice, 320);
    await paid(story, invoice, 680);
    const { body } = await story.call("GET", `/v1/invoices/${invoice.id}/document`);
    for (const part of ["$3.20", "$6.80", "Reverse charge"]) expect(textOf(body)).toContain(part);
  });
});

describe("an e-invoice", () => {
  async function seller(): Promise<Sandbox> {
    const story = await begin("2026-01-01");
    await settings(story, SELLER);
    await tax(story, "vat", "20");
    await tax(story, "zero", "0");
    return story;
  }

  async function ubl(story: Sandbox, path: string): Promise<Element> {
    const answer = await story.call("GET", `${path}/document.xml`);
    expect([answer.status, answer.body?.error]).toEqual([200, undefined]);
    expect(answer.headers["content-type"]).toContain("xml");
    const root = readXml(answer.body);
    expect(brokenArithmetic(root)).toEqual([]);
    return root;
  }
  const totals = (root: Element) =>
    at(root, "LegalMonetaryTotal").flatMap(({ children }) =>
      children.map(({ name, text, attributes }) => `${name} ${text} ${attributes.currencyID}`),
    );
  const categories = (root: Element) =>
    at(root, "TaxTotal/TaxSubtotal").map((each) =>
      [
        ...texts(each, "TaxCategory/ID"),
        ...texts(each, "TaxCategory/Percent").map(Number),
        ...texts(each, "TaxableAmount"),
        ...texts(each, "TaxAmount"),
      ].join(" "),
    );

  test("M114 of two categories, paid in part, and its note", async () => {
    const story = await seller();
    const customer = await story.customer({ ...BUYER, currency: "EUR" });
    const invoice = await oneOff(story, customer, "10000 [vat], 500 [zero]");
    await paid(story, invoice, 2000);
    const root = await ubl(story, `/v1/invoices/${invoice.id}`);
    expect(root.name).toBe("Invoice");
    expect(texts(root, "InvoiceTypeCode")).toEqual(["380"]);
    expect(texts(root, "ID")).toEqual([invoice.number]);
    const shown = totals(root);
    for (const row of [
      "TaxExclusiveAmount 105.00 EUR",
      "TaxInclusiveAmount 125.00 EUR",
      "PrepaidAmount 20.00 EUR",
      "PayableAmount 105.00 EUR",
    ]) {
      expect(shown).toContain(row);
    }
    expect(categories(root).sort()).toEqual(["S 20 100.00 20.00", "Z 0 5.00 0.00"]);
    for (const [party, { city, postal_code, region, country }] of [
      ["AccountingSupplierParty", SELLER],
      ["AccountingCustomerParty", BUYER],
    ] as const) {
      const [address] = at(root, `${party}/Party/PostalAddress`);
      expect(address && texts(address, "CityName")).toEqual([city]);
      expect(address && texts(address, "PostalZone")).toEqual([postal_code]);
      expect(address && texts(address, "CountrySubentity")).toEqual([region]);
      expect(address && texts(address, "Country/IdentificationCode")).toEqual([country]);
    }
    const made = await note(story, invoice, { 0: 1000 });
    const credited = await ubl(story, `/v1/credit-notes/${made.id}`);
    expect(credited.name).toBe("CreditNote");
    expect(texts(credited, "CreditNoteTypeCode")).toEqual(["381"]);
    expect(totals(credited)).toContain("TaxInclusiveAmount 12.00 EUR");
    expect(texts(credited, "BillingReference/InvoiceDocumentReference/ID")).toEqual([
      invoice.number,
    ]);
    // What a note offsets stays payable on the invoice: the two documents are read together.
    expect(await ubl(story, `/v1/invoices/${invoice.id}`)).toEqual(root);
  });

  test("M114 of a reverse charge, and of an exempt customer", async () => {
    const story = await seller();
    for (const [fields, category, reason] of [
      [{ tax_exemption: "reverse_charge" }, "AE", "Reverse charge"],
      [{ tax_exemption: "exempt", tax_note: "Art. 132" }, "E", "Art. 132"],
    ] as const) {
      const customer = await story.customer({ ...BUYER, ...fields });
      const invoice = await oneOff(story, customer, "10000 [vat]");
      const root = await ubl(story, `/v1/invoices/${invoice.id}`);
      expect(categories(root)).toEqual([`${category} 0 100.00 0.00`]);
      const path = "TaxTotal/TaxSubtotal/TaxCategory/TaxExemptionReason";
      expect(texts(root, path)).toEqual([reason]);
    }
  });

  test.each<[string, Body, string, Body]>([
    ["without the buyer's country", { ...BUYER, country: "" }, "100 [vat]", {}],
    ["without a tax", BUYER, "100 []", {}],
    ["with two taxes", BUYER, "100 [vat zero]", {}],
    ["in KWD", BUYER, "100 [vat]", { currency: "KWD" }],
    ["of nothing", BUYER, "0 [vat]", {}],
  ])("M114 %s is incomplete", async (_, buyer, lines, fields) => {
    const story = await seller();
    const invoice = await oneOff(story, await story.customer(buyer), lines, fields);
    const answer = await story.call("GET", `/v1/invoices/${invoice.id}/document.xml`);
    expect(outcome(answer)).toBe("422 document_incomplete");
  });

  test.each<[string, Body]>([
    ["country", { country: "" }],
    ["tax_id", { tax_id: "" }],
    ["tax_id", { tax_id: "00111222333" }],
  ])("M114 the seller's %s is missing: %j", async (field, fields) => {
    const story = await seller();
    await settings(story, fields);
    const invoice = await oneOff(story, await story.customer(BUYER), "100 [vat]");
    const answer = await story.call("GET", `/v1/invoices/${invoice.id}/document.xml`);
    expect(outcome(answer)).toBe("422 document_incomplete");
    expect(answer.body.error.message).toContain(field);
  });

  test("M114 also: a void one has none, as nothing is to be paid of it", async () => {
    const story = await seller();
    const invoice = await oneOff(story, await story.customer(BUYER), "2000 [vat]");
    await voidInvoice(story, invoice);
    const answer = await story.call("GET", `/v1/invoices/${invoice.id}/document.xml`);
    expect(outcome(answer)).toBe("422 invoice_voided");
  });

  test("M114 also: VAT ids are capitals without signs, from the first word of them", async () => {
    const story = await seller();
    await settings(story, { tax_id: "fr 00 111 222 333" });
    const customer = await story.customer({ ...BUYER, tax_id: "de-123.456.789" });
    expect(customer.tax_id).toBe("DE123456789");
    const invoice = await oneOff(story, customer, "100 [vat]");
    const root = await ubl(story, `/v1/invoices/${invoice.id}`);
    expect(
      ["AccountingSupplierParty", "AccountingCustomerParty"].flatMap((side) =>
        texts(root, `${side}/Party/PartyTaxScheme/CompanyID`),
      ),
    ).toEqual(["FR00111222333", "DE123456789"]);
  });

  // A discount is an allowance of its line, credit is prepaid, and a grant is no lower price:
  // 10000 − 1000 + 1800 = 10800, of which 800 are prepaid.
  test("M114 also: a discount is an allowance of its line, credit is prepaid", async () => {
    const story = await seller();
    const customer = await story.customer(BUYER);
    await discount(story, customer, { percent: "10" });
    await grant(story, customer, 800);
    const invoice = await oneOff(story, customer, "10000 [vat]");
    const root = await ubl(story, `/v1/invoices/${invoice.id}`);
    expect(texts(root, "InvoiceLine/AllowanceCharge/Amount")).toEqual(["10.00"]);
    expect(texts(root, "InvoiceLine/AllowanceCharge/ChargeIndicator")).toEqual(["false"]);
    expect(texts(root, "InvoiceLine/LineExtensionAmount")).toEqual(["90.00"]);
    expect(totals(root)).toContain("PrepaidAmount 8.00 USD");
    expect(totals(root)).toContain("PayableAmount 100.00 USD");
    expect(await balanceOf(story, customer)).toBe(0);
  });
});
