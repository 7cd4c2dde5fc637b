// The customers of the demo: companies of many countries and scripts, with how each is taxed.
// Those with a story come first, so that a smaller demo shows them all.

import type { CreateCustomerBody } from "../../client/types.ts";

type Party = Omit<CreateCustomerBody, "external_id" | "name" | "currency">;

/** What stands on an envelope, and how the customer is taxed. */
type Address = readonly [
  id: string,
  name: string,
  currency: string,
  country: string,
  city: string,
  tax?: Party,
];

/** A business of another EU country owes the tax itself. */
const reverse = (tax_id: string): Party => ({ tax_id, tax_exemption: "reverse_charge" });
const taxed = (code: string, region = ""): Party => ({
  tax_codes: [code],
  ...(region !== "" && { region }),
});
const exempt: Party = { tax_exemption: "exempt", tax_note: "Exempt: 501(c)(3) organization." };

const ADDRESSES: readonly Address[] = [
  ["northwind", "Northwind Freight Inc.", "USD", "US", "Oakland", taxed("us-ca", "CA")],
  ["kranich", "Kranich Verlag GmbH", "EUR", "DE", "Leipzig", taxed("vat-de")],
  ["sakura", "株式会社さくら翻訳", "JPY", "JP", "東京"],
  ["harbor-legal", "Harbor Legal LLP", "USD", "US", "New York", taxed("us-ny", "NY")],
  ["atlas-robotics", "Atlas Robotics BV", "EUR", "NL", "Eindhoven", reverse("NL004495445B01")],
  ["nour", "شركة نور للتقنية", "USD", "AE", "دبي"],
  ["pine-street", "Pine Street Labs", "USD", "US", "Seattle", taxed("us-wa", "WA")],
  ["open-atlas", "Open Atlas Foundation", "USD", "US", "San Francisco", exempt],
  ["lyra", "Lyra Musik AB", "EUR", "SE", "Göteborg", taxed("vat-se")],
  ["shanhai", "山海科技有限公司", "USD", "CN", "杭州"],
  ["meridian", "Meridian Claims Ltd", "USD", "GB", "Leeds"],
  ["elpida", "Ελπίδα Λογισμικό ΑΕ", "EUR", "GR", "Θεσσαλονίκη", taxed("vat-gr")],
  ["hangang", "한강데이터 주식회사", "USD", "KR", "서울"],
  ["ofek", "אופק מערכות בע״מ", "USD", "IL", "תל אביב"],
  ["brightwater", "Brightwater Clinics", "USD", "US", "San Diego", taxed("us-ca", "CA")],
  ["mosaique", "Mosaïque Éditions SARL", "EUR", "FR", "Lyon", taxed("vat-fr")],
  ["granat", "ТОВ «Гранат Софт»", "EUR", "UA", "Львів"],
  ["casa-verde", "Casa Verde Energía SL", "EUR", "ES", "Valencia", reverse("ESB12345674")],
  ["liffey", "Liffey Analytics Ltd", "EUR", "IE", "Dublin", taxed("vat-ie")],
  ["hudson-press", "Hudson Press", "USD", "US", "Brooklyn", taxed("us-ny", "NY")],
  ["tana", "Tana Coffee Traders", "USD", "KE", "Nairobi"],
  ["alba", "Alba Tessuti Srl", "EUR", "IT", "Prato", reverse("IT00743110157")],
  ["sagittarius", "Sagittarius Pty Ltd", "USD", "AU", "Melbourne"],
  ["yukon", "Yukon Mapping Co.", "USD", "CA", "Whitehorse"],
  ["bosphorus", "Boğaziçi Yazılım A.Ş.", "USD", "TR", "İstanbul"],
  ["dhara", "धारा सॉफ्टवेयर", "USD", "IN", "पुणे"],
  ["lotus", "Công ty Hoa Sen", "USD", "VN", "Hà Nội"],
  ["polana", "Polana Gier sp. z o.o.", "EUR", "PL", "Łódź", reverse("PL5260001246")],
  ["fjord", "Fjord Kart AS", "USD", "NO", "Bergen"],
  ["vltava", "Vltava Reklama s.r.o.", "EUR", "CZ", "Praha", reverse("CZ25123891")],
  ["sequoia-ed", "Sequoia Education", "USD", "US", "Sacramento", taxed("us-ca", "CA")],
  ["fuji-games", "富士ゲームス株式会社", "JPY", "JP", "静岡"],
  ["pampas", "Pampas Agro SA", "USD", "AR", "Rosario"],
  ["cordillera", "Cordillera Seguros", "USD", "CL", "Santiago"],
  ["rio-claro", "Rio Claro Logística", "USD", "BR", "São Paulo"],
  ["sahara", "Sahara Télécom", "EUR", "MA", "Casablanca"],
  ["baltic", "Baltic Freight OÜ", "EUR", "EE", "Tallinn", reverse("EE100931558")],
  ["danube", "Duna Könyvek Kft.", "EUR", "HU", "Budapest", reverse("HU12345676")],
  ["carpathia", "Carpatia Media SRL", "EUR", "RO", "Cluj-Napoca", reverse("RO18547290")],
  ["puget", "Puget Sound Ferries", "USD", "US", "Seattle", taxed("us-wa", "WA")],
  ["emerald", "Emerald Tours", "EUR", "IE", "Galway", taxed("vat-ie")],
  ["isarwerk", "Isarwerk GmbH & Co. KG", "EUR", "DE", "München", reverse("DE136695976")],
  ["montmartre", "Studio Montmartre", "EUR", "FR", "Paris", taxed("vat-fr")],
  ["kiwi", "Kiwi Orchards Ltd", "USD", "NZ", "Tauranga"],
  ["table-bay", "Table Bay Insurance", "USD", "ZA", "Cape Town"],
  ["lagos", "Lagos Market Data", "USD", "NG", "Lagos"],
  ["andes", "Andes Café SAS", "USD", "CO", "Medellín"],
  ["helvetia", "Helvetia Präzision AG", "EUR", "CH", "Winterthur"],
  ["sevilla", "Talleres Sevilla", "EUR", "ES", "Sevilla", taxed("vat-es")],
  ["queen-city", "Queen City Robotics", "USD", "US", "Charlotte"],
];

export const CUSTOMERS_MAX = ADDRESSES.length;

export function customerBodies(count: number): CreateCustomerBody[] {
  return ADDRESSES.slice(0, count).map(([external_id, name, currency, country, city, party]) => ({
    external_id,
    name,
    currency,
    country,
    city,
    email: `billing@${external_id}.example`,
    ...party,
  }));
}
