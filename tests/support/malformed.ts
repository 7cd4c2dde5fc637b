// What no well-meaning caller sends: values, bodies, queries, paths and headers, as arbitraries.

import fc from "fast-check";

/** A lone surrogate, U+0000 and friends are written as escapes: that is how they get through. */
const TEXTS = [
  '"\\u0000"',
  '"a\\u0000b"',
  '"\\ud800"',
  '"\\udc00x"',
  '"\\ud800\\ud800"',
  '"\\u202e"',
  '""',
  '" "',
  `"${"x".repeat(256)}"`,
  `"${"ü".repeat(300)}"`,
  '"\\n\\t"',
  '"\'; drop table customers; --"',
  '"__proto__"',
  '"2026-02-30T00:00:00.000Z"',
  '"2026-01-01T00:00:00"',
  '"1999-12-31T23:59:59Z"',
  '"2201-01-01T00:00:00Z"',
  '"2026-01-01T24:00:00Z"',
  '"NaN"',
  '"1e9"',
  '"ext:"',
  '"00000000-0000-0000-0000-000000000000"',
];
const NUMBERS = ["1e400", "-1e400", "9007199254740993", "-9007199254740993", "1e308", "0.1", "-0"];
const OTHERS = [
  "null",
  "true",
  "[]",
  "{}",
  "[[]]",
  '{"__proto__":{"polluted":1}}',
  '{"constructor":{"prototype":{"polluted":1}}}',
  '{"toString":1,"length":-1}',
  "1000000000001",
  "-1",
  "1.5",
];

/** JSON text that a field was not made for. */
export const hostileJson: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(...TEXTS, ...NUMBERS, ...OTHERS),
  fc.json({ maxDepth: 4 }),
  fc.string({ unit: "binary", maxLength: 40 }).map((text) => JSON.stringify(text)),
  fc.integer({ min: 33, max: 200 }).map((depth) => "[".repeat(depth) + "]".repeat(depth)),
  fc.integer({ min: 33, max: 200 }).map((depth) => `${'{"a":'.repeat(depth)}1${"}".repeat(depth)}`),
  fc.integer({ min: 17, max: 40 }).map((kib) => `{"a":"${"x".repeat(kib * 1024)}"}`),
);

/** A good body with up to three of its fields, or one more, made hostile. */
export function hostileBody(good: Record<string, unknown>, fields: readonly string[]) {
  const known = fc.constantFrom(...fields, ...Object.keys(good), "__proto__", "unheard_of");
  const change = fc.tuple(known, hostileJson);
  return fc.array(change, { minLength: 1, maxLength: 3 }).map((changes) => {
    const parts = new Map(Object.entries(good).map(([key, value]) => [key, JSON.stringify(value)]));
    for (const [key, text] of changes) parts.set(key, text);
    const members = [...parts].map(([key, text]) => `${JSON.stringify(key)}:${text}`);
    return `{${members.join(",")}}`;
  });
}

/** Bytes that are no JSON, or JSON cut or spoiled somewhere. */
export function brokenBytes(good: Record<string, unknown>): fc.Arbitrary<Buffer> {
  const whole = Buffer.from(JSON.stringify(good));
  const at = fc.integer({ min: 0, max: whole.length - 1 });
  return fc.oneof(
    at.map((end) => whole.subarray(0, end)),
    fc.tuple(at, fc.integer({ min: 0x80, max: 0xff })).map(([i, byte]) => {
      const spoiled = Buffer.from(whole);
      spoiled[i] = byte;
      return spoiled;
    }),
    fc.uint8Array({ maxLength: 60 }).map((bytes) => Buffer.from(bytes)),
    fc.constantFrom(
      Buffer.from("\ufeff{}"),
      Buffer.from("{'a':1}"),
      Buffer.from("{}{}"),
      Buffer.from("[".repeat(100_000)),
      Buffer.from('{"a":"\\ud800"}'),
      Buffer.from('{"a":01}'),
      Buffer.from("NaN"),
      Buffer.from('{"a":1,}'),
      Buffer.from(`{"a":${"9".repeat(400)}}`),
    ),
  );
}

const QUERY_VALUES = [
  "",
  "-1",
  "0",
  "1e3",
  "1.5",
  "%00",
  "%",
  "%zz",
  "%ff",
  "%ed%a0%80",
  "9".repeat(20),
  "9007199254740993",
  "null",
  "[]",
  "' or 1=1 --",
  "x".repeat(400),
  "2026-02-30",
  "2026-02-30T00:00:00Z",
  "ext:",
  "ext:%00",
  "%F0%9F%92%A9",
];

export function hostileQuery(fields: readonly string[]): fc.Arbitrary<string> {
  const keys = ["limit", "offset", "all", "count", "cursor", "__proto__", "%00", ...fields];
  const key = fc.oneof(
    fc.constantFrom(...keys),
    fc.constantFrom(...keys).map((word) => `${word}[]`),
  );
  const value = fc.oneof(
    fc.constantFrom(...QUERY_VALUES),
    fc.string({ unit: "binary", maxLength: 30 }).map((text) => encodeText(text)),
  );
  const pair = fc.tuple(key, value).map(([name, text]) => `${name}=${text}`);
  return fc.array(pair, { minLength: 1, maxLength: 4 }).map((pairs) => pairs.join("&"));
}

export const hostileSegment: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom("%", "%zz", "%00", "%c3%28", "%ed%a0%80", "ext:%00", "ext:", "ext:%", ".."),
  fc.integer({ min: 300, max: 3_000 }).map((length) => "a".repeat(length)),
  fc.integer({ min: 300, max: 3_000 }).map((length) => `ext:${"a".repeat(length)}`),
  fc.string({ unit: "binary", minLength: 1, maxLength: 40 }).map((text) => encodeText(text)),
  fc.string({ unit: "binary", maxLength: 40 }).map((text) => `ext:${encodeText(text)}`),
);

/** Percent-encoded; a lone surrogate becomes the three bytes that UTF-8 forbids. */
function encodeText(text: string): string {
  return [...text]
    .map((char) => (char.isWellFormed() ? encodeURIComponent(char) : "%ed%a0%80"))
    .join("");
}

export const hostileHeaders: fc.Arbitrary<Record<string, string>> = fc.dictionary(
  fc.constantFrom(
    "authorization",
    "x-project-id",
    "idempotency-key",
    "x-request-id",
    "content-type",
    "accept",
    "expect",
  ),
  fc.oneof(
    fc.constantFrom(
      "",
      " ",
      "Bearer",
      "Bearer  ",
      "x".repeat(256),
      "x".repeat(5_000),
      "text/plain",
      "application/json; charset=utf-16",
      "application/xml",
      "multipart/form-data; boundary=x",
      "application/json, application/json",
      "00000000-0000-0000-0000-000000000000",
      "a, b",
      "{}",
    ),
    // What HTTP lets into a header at all.
    fc.string({ unit: fc.integer({ min: 0x20, max: 0x7e }).map((n) => String.fromCharCode(n)) }),
  ),
  { minKeys: 1, maxKeys: 3 },
);
