// Looks through the text of a JSON body for what cannot be kept, before anything parses it.

import { isExactNumber, JSON_DEPTH_MAX } from "../../domain/json-values.ts";

export const NOT_JSON = "The body is not valid JSON.";
export const NOT_TEXT = "Text may not contain U+0000 or lone surrogates.";
const TOO_DEEP = `JSON may nest at most ${JSON_DEPTH_MAX} levels deep.`;
const NUMBER_TRUSTED_CHARS = 15;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

/** What becomes of a fault; `start`, `end` and `at` count characters of the text. */
export type Faults = {
  number(start: number, end: number, message: string): void;
  /** The text nests too deep from here on, until `shallow`. */
  deep(at: number, message: string): void;
  /** A list or object of the last level that may be has ended what lay in it. */
  shallow(at: number): void;
};

/** How far a text was looked through, and what was found. */
export type Scanned = {
  readonly at: number;
  readonly depth: number;
  readonly unicodeEscape: boolean;
};
export const START: Scanned = { at: 0, depth: 0, unicodeEscape: false };

/**
 * Looks through a text before JSON.parse, which would recurse into any depth and round any number.
 * Reads so many characters more, and to the end of the text or number that they end in.
 */
export function scan(
  text: string,
  { at, depth, unicodeEscape }: Scanned,
  count: number,
  faults: Faults,
): Scanned {
  const end = Math.min(at + count, text.length);
  let i = at;
  for (; i < end; i++) {
    const char = text.charCodeAt(i);
    if (char === QUOTE) {
      for (i++; i < text.length && text.charCodeAt(i) !== QUOTE; i++) {
        if (text.charCodeAt(i) !== BACKSLASH) continue;
        i++;
        if (text[i] === "u") unicodeEscape = true;
      }
    } else if (char === 0x7b || char === 0x5b) {
      if (++depth > JSON_DEPTH_MAX) faults.deep(i, TOO_DEEP);
    } else if (char === 0x7d || char === 0x5d) {
      if (--depth === JSON_DEPTH_MAX) faults.shallow(i + 1);
    } else if (char === 0x2d || isDigit(char)) {
      const start = i;
      while (i + 1 < text.length && isNumberPart(text.charCodeAt(i + 1))) i++;
      checkNumber(text, start, i + 1, faults);
    }
  }
  return { at: i, depth, unicodeEscape };
}

function isDigit(char: number): boolean {
  return char >= 0x30 && char <= 0x39;
}

function isNumberPart(char: number): boolean {
  return isDigit(char) || char === 0x2e || char === 0x2b || char === 0x2d || (char | 0x20) === 0x65;
}

/** Finds a number that a double cannot hold exactly: it would be billed as another one. */
function checkNumber(all: string, start: number, end: number, faults: Faults): void {
  const text = all.slice(start, end);
  if (text.length <= NUMBER_TRUSTED_CHARS && !/e/i.test(text)) return;
  if (isExactNumber(text)) return;
  const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
  faults.number(
    start,
    end,
    `The number ${shown} cannot be kept exactly. Send it as a string, or within ±(2^53 - 1).`,
  );
}
