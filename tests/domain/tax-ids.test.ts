// Numbers of tax offices: how a VAT id is told from another number, and how each is kept.

import { expect, test } from "vitest";
import { taxIdOf, vatIdOf, withTaxId } from "../../src/domain/tax-ids.ts";

test.each([
  ["de123456789", "DE123456789"],
  [" DE 123 456 789 ", "DE123456789"],
  ["fr00.111-222/333", "FR00111222333"],
  ["PT 123\u2011456\u2013789", "PT123456789"],
  ["AT\u200bu12345678", "ATU12345678"],
  ["el094259216", "EL094259216"],
  ["XI123456789", "XI123456789"],
  ["CHE-123.456.789 MWST", "CHE123456789MWST"],
  ["NO974760673MVA", "NO974760673MVA"],
  ["ie 8d79739i", "IE8D79739I"],
])("%j is the VAT id %s", (text, id) => {
  expect(vatIdOf(text)).toBe(id);
  expect(taxIdOf(text)).toBe(id);
});

test.each([
  ["12-3456789", "12-3456789"],
  [" 214/5678/9012 ", "214/5678/9012"],
  ["UK123", "UK123"],
  ["xk 1", "xk 1"],
  ["1A234", "1A234"],
  ["pending", "pending"],
  ["DE 123 (asked for)", "DE 123 (asked for)"],
  ["", ""],
  [" ", ""],
  ["\u200b\u00a0", ""],
])("%j is none, and is kept as %j", (text, kept) => {
  expect(vatIdOf(text)).toBeUndefined();
  expect(taxIdOf(text)).toBe(kept);
});

test("what says nothing of a number stays as it is", () => {
  expect(withTaxId({})).toEqual({});
  expect(withTaxId({ tax_id: "de1" })).toEqual({ tax_id: "DE1" });
});
