// The formats of texts that a list or Unicode decides, for whoever checks values against schemas.

import { COUNTRIES } from "./countries.ts";
import { CURRENCIES } from "./currencies.ts";

const INVISIBLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Z}\p{NChar}\p{DI}\u2800]/gu;

/** Whether there is anything to see: no blanks, control characters or those of no width alone. */
export function isVisible(text: string): boolean {
  return text.replace(INVISIBLE, "") !== "";
}

/** Checks by format. Faults of the schema's pattern or length are left to these. */
export const FORMATS: Readonly<Record<string, (text: string) => boolean>> = {
  currency: (text) => Object.hasOwn(CURRENCIES, text),
  country: (text) => !/^[A-Z]{2}$/.test(text) || COUNTRIES.has(text),
  name: (text) => text === "" || isVisible(text),
};
