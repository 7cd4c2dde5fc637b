// Seller and buyer as lines of a document: the address as on an envelope, the tax number, and how
// the buyer is known.

/** A seller or buyer as an invoice keeps it; what is not known is left out or empty. */
export type Party = Readonly<Record<string, string | null>>;

export type DocumentParty = { readonly name: string; readonly lines: readonly string[] };

const COUNTRIES = new Intl.DisplayNames(["en"], { type: "region" });
/** Countries where the postal code stands after the city and the region. */
const CODE_LAST = new Set(["AU", "CA", "GB", "IN", "US"]);

export function partyOf(party: Party): DocumentParty {
  const { tax_id, email, external_id } = party;
  return {
    name: party.name ?? "",
    lines: [
      ...(party.address ?? "").split(/\r?\n/).filter((line) => line.trim() !== ""),
      ...[placeOf(party), countryOf(party)].filter((line) => line !== ""),
      ...(isGiven(tax_id) ? [`Tax number ${tax_id}`] : []),
      ...(isGiven(email) ? [email] : []),
      ...(isGiven(external_id) ? [`Customer no. ${external_id}`] : []),
    ],
  };
}

/** "75001 Paris, Île-de-France", or "Springfield, IL 62701". */
function placeOf(party: Party): string {
  const { city, postal_code, region, country } = party;
  const joined = (parts: readonly (string | null | undefined)[], by: string) =>
    parts.filter(isGiven).join(by);
  return CODE_LAST.has(country ?? "")
    ? joined([joined([city, region], ", "), postal_code], " ")
    : joined([joined([postal_code, city], " "), region], ", ");
}

function countryOf({ country }: Party): string {
  if (country === "XI") return "Northern Ireland";
  return isGiven(country) ? (COUNTRIES.of(country.toUpperCase()) ?? country) : "";
}

function isGiven(text: string | null | undefined): text is string {
  return text !== undefined && text !== null && text !== "";
}
