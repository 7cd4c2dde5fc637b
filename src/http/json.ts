// Reads request bodies: strict JSON whose depth, numbers and text every later part can trust.

import { isUtf8 } from "node:buffer";
import { setImmediate } from "node:timers/promises";
import { refuse } from "../errors.ts";

export const JSON_DEPTH_MAX = 32;
/** A longer number is refused before its digits are compared: no amount needs that many. */
export const NUMBER_CHARS_MAX = 64;
const NUMBER_TRUSTED_CHARS = 15;
/** Of 7 MB, which took 51 ms in one piece, and 150 the first time, before V8 has compiled it. */
const SCANNED_AT_ONCE = 512 * 1024;
const QUOTE = 0x22;
const BACKSLASH = 0x5c;

export function parseJson(bytes: Buffer): unknown {
  const text = decode(bytes);
  return parseScanned(text, scan(text, START, text.length));
}

/** The same, with others served between its steps: 7 MB take 100 ms in all. */
export async function parseLargeJson(bytes: Buffer): Promise<unknown> {
  const text = decode(bytes);
  let scanned = START;
  while (scanned.at < text.length) {
    await setImmediate();
    scanned = scan(text, scanned, SCANNED_AT_ONCE);
  }
  await setImmediate();
  return parseScanned(text, scanned);
}

function parseScanned(text: string, { unicodeEscape }: Scanned): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw refuse("invalid_json", "The body is not valid JSON.");
  }
  // Valid UTF-8 holds no lone surrogates, and raw control characters are no JSON: only an escape
  // can bring U+0000 or half a surrogate pair.
  if (unicodeEscape) checkText(value);
  return value;
}

function decode(bytes: Buffer): string {
  if (!isUtf8(bytes)) throw refuse("invalid_json", "The body is not valid UTF-8.");
  return bytes.toString("utf8");
}

/** How far a text was looked through, and what was found. */
type Scanned = {
  readonly at: number;
  readonly depth: number;
  readonly unicodeEscape: boolean;
};
const START: Scanned = { at: 0, depth: 0, unicodeEscape: false };

/**
 * One pass before JSON.parse, which would recurse into any depth and round any number. Reads so
 * many characters more, and to the end of the text or number that they end in.
 */
function scan(text: string, { at, depth, unicodeEscape }: Scanned, count: number): Scanned {
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
      if (++depth > JSON_DEPTH_MAX) {
        throw refuse("validation_error", `JSON may nest at most ${JSON_DEPTH_MAX} levels deep.`);
      }
    } else if (char === 0x7d || char === 0x5d) {
      depth--;
    } else if (char === 0x2d || isDigit(char)) {
      const start = i;
      while (i + 1 < text.length && isNumberPart(text.charCodeAt(i + 1))) i++;
      checkNumber(text.slice(start, i + 1));
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

/** A number that a double cannot hold exactly would be billed as another number. */
function checkNumber(text: string): void {
  if (text.length <= NUMBER_TRUSTED_CHARS && !/e/i.test(text)) return;
  if (text.length > NUMBER_CHARS_MAX || !isExact(text)) {
    const shown = text.length > 40 ? `${text.slice(0, 40)}…` : text;
    throw refuse(
      "validation_error",
      `The number ${shown} cannot be kept exactly. Send it as a string, or within ±(2^53 - 1).`,
    );
  }
}

function isExact(text: string): boolean {
  const value = Number(text);
  if (!Number.isFinite(value) || plain(text) !== plain(String(value))) return false;
  return !Number.isInteger(value) || Number.isSafeInteger(value);
}

/**
 * The digits and the place of the point, however the number is written. Only for short text:
 * the time that the pattern for trailing zeros takes grows with the square of the length.
 */
function plain(text: string): string {
  const [, sign = "", whole = "", fraction = "", exponent = "0"] =
    /^(-?)(\d*)(?:\.(\d*))?(?:e([+-]?\d{1,6}))?$/i.exec(text) ?? [];
  const digits = (whole + fraction).replace(/^0+/, "");
  const significant = digits.replace(/0+$/, "");
  if (significant === "") return "0";
  const scale = Number(exponent) - fraction.length + (digits.length - significant.length);
  return `${sign}${significant}e${scale}`;
}

function checkText(value: unknown): void {
  if (typeof value === "string") {
    if (!isPlainText(value)) {
      throw refuse("validation_error", "Text may not contain U+0000 or lone surrogates.");
    }
  } else if (Array.isArray(value)) {
    value.forEach(checkText);
  } else if (typeof value === "object" && value !== null) {
    for (const [key, member] of Object.entries(value)) {
      checkText(key);
      checkText(member);
    }
  }
}

/** What PostgreSQL can store as text. */
export function isPlainText(text: string): boolean {
  return !text.includes("\u0000") && text.isWellFormed();
}
