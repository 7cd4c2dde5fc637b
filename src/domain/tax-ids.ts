// Numbers of tax offices: which of them are VAT ids, and how these are written.

import { COUNTRIES } from "../schema/countries.ts";
import { isVisible } from "../schema/formats.ts";

/** The letters VAT ids begin with: a country's, for Greece also EL, and none for Kosovo. */
const PREFIXES: ReadonlySet<string> = new Set([...COUNTRIES, "EL"].filter((each) => each !== "XK"));
const SEPARATORS = /[\s\p{Cf}\p{Pd}./]/gu;
const VAT_ID = /^[A-Z]{2}[A-Z0-9+*]*[0-9][A-Z0-9+*]*$/;

/** A VAT id in capitals and without separators; undefined where the text is none. */
export function vatIdOf(text: string): string | undefined {
  const id = text.replace(SEPARATORS, "").toUpperCase();
  return VAT_ID.test(id) && PREFIXES.has(id.slice(0, 2)) ? id : undefined;
}

/** A tax number as it is kept: from one that is no VAT id only the blanks around it are taken. */
export function taxIdOf(text: string): string {
  return vatIdOf(text) ?? (isVisible(text) ? text.trim() : "");
}

/** The record with its tax_id, where it has one, as it is kept. */
export function withTaxId<T extends { readonly tax_id?: string }>(given: T): T {
  return given.tax_id === undefined ? given : { ...given, tax_id: taxIdOf(given.tax_id) };
}
