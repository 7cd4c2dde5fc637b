// The numbers of invoices and credit notes, written by the database and read here.

import { expect, test } from "vitest";
import { parseNumber } from "../../../src/store/invoices/numbers.ts";

test.each([
  ["INV-2026-0001", { prefix: "INV", year: 2026, seq: 1 }],
  ["CN-2022-0042", { prefix: "CN", year: 2022, seq: 42 }],
  ["A1-2027-10000", { prefix: "A1", year: 2027, seq: 10_000 }],
])("%s is read", (text, parts) => {
  expect(parseNumber(text)).toEqual(parts);
});

test.each([
  "",
  "INV",
  "inv-2026-0001",
  "INV-2026-1",
  "INV-2026-00001",
  "INV-26-0001",
  "A-B-2026-0001",
])("%j is none", (text) => {
  expect(parseNumber(text)).toBeUndefined();
});
