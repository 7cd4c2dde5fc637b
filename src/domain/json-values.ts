// What a JSON value may hold so that it is kept as it was written: numbers that a double holds
// exactly, and text that PostgreSQL can store. The same for requests and for service.yaml.

export const JSON_DEPTH_MAX = 32;
/** A longer number is refused before its digits are compared: no amount needs that many. */
export const NUMBER_CHARS_MAX = 64;
export const BODY_BYTES_MAX = 1024 * 1024;

/** Whether a number in the form of JSON is read as what it says. */
export function isExactNumber(text: string): boolean {
  if (text.length > NUMBER_CHARS_MAX) return false;
  const value = Number(text);
  if (!Number.isFinite(value) || plain(text) !== plain(String(value))) return false;
  return !Number.isInteger(value) || Number.isSafeInteger(value);
}

const TEXTS = /"[^"\\]*(?:\\.[^"\\]*)*"/gs;
const NUMBERS = /-?\d[\d.eE+-]*/g;
/** A number that might be read as another: shorter ones without an exponent never are. */
const LONG_NUMBER = /[\d.-]{16}|\d[eE]/;

/** The first number of a JSON text that is read as another one; the text is known to be JSON. */
export function inexactNumberIn(json: string): string | undefined {
  if (!LONG_NUMBER.test(json)) return undefined;
  const numbers = json.replace(TEXTS, "").match(NUMBERS) ?? [];
  return numbers.find((text) => !isExactNumber(text));
}

/**
 * A number's digits and the position of its point, however it is written. Only for short text:
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

/** Whether PostgreSQL can store it as text. */
export function isPlainText(text: string): boolean {
  return !text.includes("\u0000") && text.isWellFormed();
}

/** How many lists and objects are in one another; 0 for a text or a number. */
export function depthOf(value: unknown): number {
  if (typeof value !== "object" || value === null) return 0;
  return (
    1 + Object.values(value).reduce((deepest: number, each) => Math.max(deepest, depthOf(each)), 0)
  );
}
