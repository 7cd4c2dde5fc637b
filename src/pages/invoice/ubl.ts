// An e-invoice as XML: UBL 2.1 by EN 16931, an Invoice (380) or a CreditNote (381). The order of
// the elements is that of the schema.

import type { EInvoice, EInvoiceLine, TaxSubtotal } from "../../domain/documents/e-invoices.ts";
import type { Party } from "../../domain/documents/parties.ts";
import { decimalText, exponentOf } from "../../domain/money.ts";
import { isVisible } from "../../schema/formats.ts";
import { escapeXml, xmlText } from "../xml.ts";

const UBL = "urn:oasis:names:specification:ubl:schema:xsd";
const NORM = "urn:cen.eu:en16931:2017";
/** "One": the units of a line stand in its text. */
const UNIT = "C62";
const CODE_LENGTH = 3;

export function renderUbl(e: EInvoice): string {
  const isNote = e.kind === "credit_note";
  const name = isNote ? "CreditNote" : "Invoice";
  const { issuing_date, due_date, currency, period, corrects } = e;
  const children = [
    basic("CustomizationID", NORM),
    basic("ID", e.number),
    basic("IssueDate", issuing_date),
    due_date !== undefined && basic("DueDate", due_date),
    basic(`${name}TypeCode`, isNote ? "381" : "380"),
    e.notes.map((text) => basic("Note", noteText(text))),
    basic("DocumentCurrencyCode", currency),
    period !== undefined && days(period),
    isGiven(e.po_number) && group("OrderReference", basic("ID", e.po_number)),
    corrects !== undefined &&
      group(
        "BillingReference",
        group(
          "InvoiceDocumentReference",
          basic("ID", corrects.number),
          basic("IssueDate", corrects.issuing_date),
        ),
      ),
    group("AccountingSupplierParty", party(e.seller)),
    group("AccountingCustomerParty", party(e.buyer)),
    e.payment_terms !== "" && group("PaymentTerms", basic("Note", e.payment_terms)),
    taxTotal(e),
    monetaryTotal(e),
    e.lines.map((line, i) => lineOf(line, String(i + 1), e)),
  ];
  const spaces = [
    `xmlns="${UBL}:${name}-2"`,
    `xmlns:cac="${UBL}:CommonAggregateComponents-2"`,
    `xmlns:cbc="${UBL}:CommonBasicComponents-2"`,
  ];
  const body = joined(children);
  return `<?xml version="1.0" encoding="UTF-8"?>\n<${name} ${spaces.join(" ")}>\n${body}</${name}>\n`;
}

function party(who: Party): string {
  const { name, external_id, tax_id, email } = who;
  return group(
    "Party",
    isGiven(external_id) && group("PartyIdentification", basic("ID", external_id)),
    address(who),
    isGiven(tax_id) && group("PartyTaxScheme", basic("CompanyID", tax_id), VAT),
    group("PartyLegalEntity", basic("RegistrationName", name ?? "")),
    isGiven(email) && group("Contact", basic("ElectronicMail", email)),
  );
}

/** The third street line and those below it are one. */
function address({ address: street, city, postal_code, region, country }: Party): string {
  const lines = (street ?? "").split(/\r?\n/).filter(isVisible);
  const [first, second, ...rest] = lines;
  return group(
    "PostalAddress",
    isGiven(first) && basic("StreetName", first),
    isGiven(second) && basic("AdditionalStreetName", second),
    isGiven(city) && basic("CityName", city),
    isGiven(postal_code) && basic("PostalZone", postal_code),
    isGiven(region) && basic("CountrySubentity", region),
    rest.length > 0 && group("AddressLine", basic("Line", rest.join(", "))),
    group("Country", basic("IdentificationCode", countryCode(country ?? ""))),
  );
}

/** Kosovo has no letters in ISO 3166-1; the norm's list has it so. */
function countryCode(country: string): string {
  const code = country.toUpperCase();
  return code === "XK" ? "1A" : code;
}

/** What stands between the first two # is read as a code if it has three characters. */
function noteText(text: string): string {
  const [before, inner = "", ...rest] = xmlText(text).split("#");
  const isCode = rest.length > 0 && [...inner.replaceAll("\r\n", "\n")].length === CODE_LENGTH;
  return isCode ? [before, ` ${inner}`, ...rest].join("#") : text;
}

function days({ start, end }: NonNullable<EInvoice["period"]>): string {
  return group("InvoicePeriod", basic("StartDate", start), basic("EndDate", end));
}

function taxTotal({ currency, tax_cents, subtotals }: EInvoice): string {
  return group(
    "TaxTotal",
    amount("TaxAmount", tax_cents, currency),
    subtotals.map((subtotal) =>
      group(
        "TaxSubtotal",
        amount("TaxableAmount", subtotal.taxable_cents, currency),
        amount("TaxAmount", subtotal.tax_cents, currency),
        category("TaxCategory", subtotal, subtotal.reason),
      ),
    ),
  );
}

function monetaryTotal({ currency, net_cents, total_cents, prepaid_cents }: EInvoice): string {
  return group(
    "LegalMonetaryTotal",
    amount("LineExtensionAmount", net_cents, currency),
    amount("TaxExclusiveAmount", net_cents, currency),
    amount("TaxInclusiveAmount", total_cents, currency),
    prepaid_cents !== 0 && amount("PrepaidAmount", prepaid_cents, currency),
    amount("PayableAmount", total_cents - prepaid_cents, currency),
  );
}

function lineOf(line: EInvoiceLine, id: string, { kind, currency, discount_reason }: EInvoice) {
  const isNote = kind === "credit_note";
  const { quantity, net_cents, discount_cents, price_cents, description, note, period } = line;
  const counted = isNote ? "CreditedQuantity" : "InvoicedQuantity";
  return group(
    isNote ? "CreditNoteLine" : "InvoiceLine",
    basic("ID", id),
    isGiven(note) && basic("Note", noteText(note)),
    basic(counted, String(quantity), ` unitCode="${UNIT}"`),
    amount("LineExtensionAmount", net_cents, currency),
    period !== undefined && days(period),
    discount_cents !== 0 &&
      group(
        "AllowanceCharge",
        basic("ChargeIndicator", discount_cents < 0 ? "true" : "false"),
        basic("AllowanceChargeReason", isGiven(discount_reason) ? discount_reason : "Discount"),
        amount("Amount", Math.abs(discount_cents), currency),
      ),
    group(
      "Item",
      isGiven(description) && basic("Description", description),
      basic("Name", line.name),
      category("ClassifiedTaxCategory", line),
    ),
    group("Price", amount("PriceAmount", price_cents, currency)),
  );
}

function category(
  name: string,
  { category, percent }: Pick<TaxSubtotal, "category" | "percent">,
  reason = "",
): string {
  return group(
    name,
    basic("ID", category),
    basic("Percent", percent),
    reason !== "" && basic("TaxExemptionReason", reason),
    VAT,
  );
}

type Part = string | false | readonly string[];

function group(name: string, ...children: readonly Part[]): string {
  return `<cac:${name}>\n${joined(children)}</cac:${name}>\n`;
}

function joined(children: readonly Part[]): string {
  return children.flatMap((child) => (child === false ? [] : child)).join("");
}

function basic(name: string, text: string, attributes = ""): string {
  return `<cbc:${name}${attributes}>${escapeXml(text)}</cbc:${name}>\n`;
}

const VAT = group("TaxScheme", basic("ID", "VAT"));

function amount(name: string, cents: number, currency: string): string {
  return basic(name, decimalText(cents, exponentOf(currency)), ` currencyID="${currency}"`);
}

function isGiven(text: string | null | undefined): text is string {
  return text !== undefined && text !== null && isVisible(text);
}
