// What is missing or wrong for an e-invoice by EN 16931, each with the field to be mended.

import type { ErrorDetail } from "../../errors.ts";
import { COUNTRIES } from "../../schema/countries.ts";
import { isVisible } from "../../schema/formats.ts";
import type { InvoiceWithFees } from "../../schema/invoices.ts";
import {
  decimal,
  divideRounded,
  integer,
  multiply,
  roundHalfAway,
  shiftPoint,
} from "../decimal.ts";
import { exponentOf } from "../money.ts";
import { vatIdOf } from "../tax-ids.ts";
import type { EInvoice, FeeExemptions } from "./e-invoices.ts";
import type { Party } from "./parties.ts";

const PLACES_MAX = 2;
/** Currencies that are not in the norm's list: those withdrawn, and STN, which it has as STD. */
const UNLISTED_CURRENCIES: ReadonlySet<string> = new Set("ANG BGN CUC HRK SLL STN ZWL".split(" "));
/** One unit of a currency, in hundredths. */
const WHOLE_UNIT = 100n;

/** Everything that keeps the e-invoice from being written. */
export function missingIn(
  e: EInvoice,
  invoice: InvoiceWithFees,
  exemptions: FeeExemptions = new Map(),
): ErrorDetail[] {
  const { seller, buyer } = invoice;
  const named = new Set(e.lines.map(({ fee_id }) => fee_id));
  const isReverse = e.lines.some(({ category }) => category === "AE");
  return [
    ...partyFaults("seller", seller),
    ...taxIdFaults("seller", seller),
    ...partyFaults("buyer", buyer),
    ...(isReverse ? taxIdFaults("buyer", buyer) : []),
    ...taxFaults(named, invoice, exemptions),
    ...roundingFaults(e),
    ...currencyFaults(e),
    ...(e.total_cents > 0 ? [] : [missing("total_cents", "The total must be above 0.")]),
  ];
}

const missing = (field: string, message = `${field} is missing.`): ErrorDetail => ({
  field,
  code: "missing",
  message,
});
const invalid = (field: string, message: string): ErrorDetail => ({
  field,
  code: "invalid",
  message,
});

function partyFaults(whose: string, { name, country }: Party): ErrorDetail[] {
  const field = `${whose}.country`;
  const isUnknown = isGiven(country) && !COUNTRIES.has(country.toUpperCase());
  return [
    ...(isGiven(name) ? [] : [missing(`${whose}.name`)]),
    ...(isGiven(country) ? [] : [missing(field)]),
    ...(isUnknown ? [invalid(field, `${field} must be a country of ISO 3166-1.`)] : []),
  ];
}

/** Faults of a tax_id that must be a VAT id, of whichever country. */
function taxIdFaults(whose: string, { tax_id }: Party): ErrorDetail[] {
  const field = `${whose}.tax_id`;
  if (!isGiven(tax_id)) return [missing(field)];
  if (vatIdOf(tax_id) !== undefined) return [];
  const message = `${field} must be a VAT id, which begins with the letters of a country.`;
  return [invalid(field, message)];
}

function currencyFaults({ currency }: EInvoice): ErrorDetail[] {
  if (exponentOf(currency) > PLACES_MAX) {
    return [missing("currency", `${currency} has more than ${PLACES_MAX} decimals.`)];
  }
  if (!UNLISTED_CURRENCIES.has(currency)) return [];
  return [invalid("currency", `${currency} is not in the list of the norm.`)];
}

/**
 * BR-CO-17: the tax of a percent is less than one whole unit of the currency from the percent of
 * its base, which several taxes of one percent, each rounded to a whole yen, need not be.
 */
function roundingFaults({ currency, subtotals }: EInvoice): ErrorDetail[] {
  const places = exponentOf(currency);
  if (places > PLACES_MAX) return [];
  return subtotals.flatMap(({ taxable_cents, tax_cents, percent }) => {
    const share = multiply(integer(Math.abs(taxable_cents)), decimal(percent));
    const wanted = divideRounded(share, 10n ** BigInt(places));
    const told = roundHalfAway(shiftPoint(integer(Math.abs(tax_cents)), PLACES_MAX - places));
    const off = told - wanted;
    if (off < WHOLE_UNIT && off > -WHOLE_UNIT) return [];
    const message = `taxes of ${percent} % must be one tax: several are off by their rounding.`;
    return [{ field: "taxes", code: "count", message }];
  });
}

/** Faults in the taxes of the fees that lines are for: a note need not name all fees. */
function taxFaults(
  named: ReadonlySet<string>,
  invoice: InvoiceWithFees,
  exemptions: FeeExemptions,
): ErrorDetail[] {
  return invoice.fees.flatMap((fee, i) => {
    const count = fee.taxes.length;
    const isFree = exemptions.has(fee.id) || isExempt(invoice);
    if (!named.has(fee.id) || count === 1 || (count === 0 && isFree)) return [];
    const field = `fees.${i}.taxes`;
    const message = `${field} must be exactly one tax, or the customer exempt; there are ${count}.`;
    return [{ field, code: "count", message }];
  });
}

/** Whether the buyer is exempt and the invoice says why: a top-up, no sale yet, never does. */
function isExempt({ buyer, tax_note }: InvoiceWithFees): boolean {
  return (buyer.tax_exemption ?? "") !== "" && tax_note !== "";
}

function isGiven(text: string | null | undefined): text is string {
  return text !== undefined && text !== null && isVisible(text);
}
