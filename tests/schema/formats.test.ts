// The lists that texts are held to, and which texts can be seen.

import { describe, expect, test } from "vitest";
import { COUNTRIES, COUNTRY_MEANT } from "../../src/schema/countries.ts";
import { FORMATS, isVisible } from "../../src/schema/formats.ts";

describe("countries", () => {
  test("the 249 of ISO 3166-1 and two more, each with a name of its own", () => {
    expect(COUNTRIES.size).toBe(249 + 2);
    const names = new Intl.DisplayNames(["en"], { type: "region", fallback: "none" });
    const known = [...COUNTRIES].filter((code) => code !== "XI");
    expect(known.filter((code) => names.of(code) === undefined)).toEqual([]);
    expect(new Set(known.map((code) => names.of(code))).size).toBe(known.length);
  });

  test("what is often written for another is none, and means one that is", () => {
    for (const [written, meant] of Object.entries(COUNTRY_MEANT)) {
      expect([COUNTRIES.has(written), COUNTRIES.has(meant)]).toEqual([false, true]);
    }
  });

  test.each(["ZZ", "XX", "EU", "AN", "SU", "CS", "AA", "AC", "IC"])("%s is none", (code) => {
    expect(FORMATS.country?.(code)).toBe(false);
  });
});

test.each(["a", "é", "一", "\u0639", "-", "\u00a0x\u200b", "🙂", "½"])("%j can be seen", (text) => {
  expect(isVisible(text)).toBe(true);
});

test.each([
  ...["", " ", "\u0001", "\n\r\n", "\ufffe", "\u200b", "\u00a0", "\u2028", "\ufeff", "\u3164"],
  ...["\u2800", "\u00ad", "\u{1fffe}", "\u{e0001}", "\u2060\u202e"],
])("%j cannot", (text) => {
  expect(isVisible(text)).toBe(false);
});
