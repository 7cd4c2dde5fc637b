// Reads an e-invoice (UBL 2.1) as a tree and checks the arithmetic that EN 16931 asks of it. Not a
// parser of XML at large: no comments, sections of characters or declared entities.

import { percentOf, sum } from "./exact.ts";

export type Element = {
  readonly name: string;
  readonly attributes: Readonly<Record<string, string>>;
  readonly children: Element[];
  text: string;
};

const TOKEN = /<\?[^>]*\?>|<(\/?)([\w:]+)((?:\s+[\w:]+="[^"]*")*)\s*(\/?)>|([^<]+)/g;
const ATTRIBUTE = /([\w:]+)="([^"]*)"/g;
const ENTITIES: Readonly<Record<string, string>> = {
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&apos;": "'",
  "&amp;": "&",
};

const plain = (text: string) =>
  text.replace(/&(?:lt|gt|quot|apos|amp);/g, (entity) => ENTITIES[entity] ?? entity);

/** The root; names without their prefix. */
export function readXml(text: string): Element {
  const root: Element = { name: "", attributes: {}, children: [], text: "" };
  const open = [root];
  for (const [, close, name = "", attributes = "", empty, words] of text.matchAll(TOKEN)) {
    const top = open.at(-1) ?? root;
    if (words !== undefined) top.text += plain(words);
    if (name === "") continue;
    const local = name.replace(/^\w+:/, "");
    if (close === "/") {
      if (top.name !== local) throw new Error(`</${local}> closes <${top.name}>.`);
      open.pop();
      continue;
    }
    const pairs = [...attributes.matchAll(ATTRIBUTE)].map(([, key = "", value = ""]) => [
      key,
      plain(value),
    ]);
    const made: Element = {
      name: local,
      attributes: Object.fromEntries(pairs),
      children: [],
      text: "",
    };
    top.children.push(made);
    if (empty !== "/") open.push(made);
  }
  const [found] = root.children;
  if (found === undefined || open.length !== 1) throw new Error("The XML does not end.");
  return found;
}

/** Every element at this path of local names below the given one. */
export function at({ children }: Element, path: string): Element[] {
  const [first, ...rest] = path.split("/");
  const here = children.filter(({ name }) => name === first);
  return rest.length === 0 ? here : here.flatMap((each) => at(each, rest.join("/")));
}

/** The texts at a path, in their order. */
export function texts(root: Element, path: string): string[] {
  return at(root, path).map(({ text }) => text.trim());
}

/** "-12.30" as cents of a currency of two digits. */
function cents(text: string): number {
  const [, sign, whole = "", part = ""] = /^(-?)(\d+)(?:\.(\d{1,2}))?$/.exec(text) ?? [];
  if (whole === "") throw new Error(`"${text}" is no amount of at most 2 decimals.`);
  const size = Number(whole) * 100 + Number(part.padEnd(2, "0"));
  return sign === "-" ? 0 - size : size;
}

const amounts = (root: Element, path: string) => texts(root, path).map(cents);
const amount = (root: Element, path: string) => sum(amounts(root, path));

/** Names of the rules BR-CO-10 to 17 and of the lines that an invoice or note breaks. */
export function brokenArithmetic(root: Element): string[] {
  const isNote = root.name === "CreditNote";
  const lines = at(root, isNote ? "CreditNoteLine" : "InvoiceLine");
  const total = (name: string) => amount(root, `LegalMonetaryTotal/${name}`);
  const tax = amount(root, "TaxTotal/TaxAmount");
  const subtotals = at(root, "TaxTotal/TaxSubtotal");
  const rules: readonly (readonly [string, number, number])[] = [
    [
      "BR-CO-10",
      total("LineExtensionAmount"),
      sum(lines.map((line) => amount(line, "LineExtensionAmount"))),
    ],
    [
      "BR-CO-13",
      total("TaxExclusiveAmount"),
      total("LineExtensionAmount") - total("AllowanceTotalAmount") + total("ChargeTotalAmount"),
    ],
    ["BR-CO-14", tax, sum(subtotals.map((each) => amount(each, "TaxAmount")))],
    ["BR-CO-15", total("TaxInclusiveAmount"), total("TaxExclusiveAmount") + tax],
    [
      "BR-CO-16",
      total("PayableAmount"),
      total("TaxInclusiveAmount") - total("PrepaidAmount") + total("PayableRoundingAmount"),
    ],
    [
      "taxable",
      sum(subtotals.map((each) => amount(each, "TaxableAmount"))),
      total("TaxExclusiveAmount"),
    ],
  ];
  return [
    ...rules.filter(([, found, wanted]) => found !== wanted).map(String),
    ...subtotals.flatMap(brokenSubtotal),
    ...lines.flatMap(brokenLine),
  ];
}

/** BR-CO-17: the tax of a category is its percent of what is taxed. */
function brokenSubtotal(subtotal: Element): string[] {
  const [percent = "0"] = texts(subtotal, "TaxCategory/Percent");
  const wanted = percentOf(amount(subtotal, "TaxableAmount"), percent);
  const found = amount(subtotal, "TaxAmount");
  return found === wanted ? [] : [`BR-CO-17: ${found}, not ${wanted}`];
}

/** A line is its quantity times its price, less its allowances, and a price is never below 0. */
function brokenLine(line: Element): string[] {
  const [quantity] = [...texts(line, "InvoicedQuantity"), ...texts(line, "CreditedQuantity")];
  const price = amount(line, "Price/PriceAmount");
  const changes = at(line, "AllowanceCharge").map((change) => {
    const [isCharge] = texts(change, "ChargeIndicator");
    return isCharge === "true" ? amount(change, "Amount") : 0 - amount(change, "Amount");
  });
  const wanted = Number(quantity) * price + sum(changes);
  const found = amount(line, "LineExtensionAmount");
  const faults = found === wanted ? [] : [`line: ${found}, not ${wanted}`];
  const [id] = texts(line, "ID");
  return price < 0 ? [...faults, `line ${id}: a price below 0 (BR-27)`] : faults;
}
