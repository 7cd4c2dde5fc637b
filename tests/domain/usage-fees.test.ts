// From units and a rate to the cents of a usage fee.

import { describe, expect, test } from "vitest";
import { AmountOutOfRange } from "../../src/domain/money.ts";
import { arrearsFees, planVersion, usageCharge, used } from "../support/price-lists.ts";

const JANUARY = { start: new Date("2026-01-01"), end: new Date("2026-02-01") };

function usageFee(units: string, rate: string, currency: string) {
  const version = planVersion({ currency, charges: [usageCharge(rate)] });
  const usage = used({ metric: units });
  return arrearsFees({ version, billed: JANUARY, suspensions: [], usage, properties: {} }).find(
    ({ charge_id }) => charge_id === "usage",
  );
}

describe("a usage fee is units times rate, rounded once", () => {
  test.each([
    ["30.75", "0.10", "USD", 308, "307.5"],
    ["1000000", "0.0001234", "USD", 12_340, "12340"],
    ["12345", "0.0001234", "USD", 152, "152.3373"],
    ["41", "0.0001234", "USD", 1, "0.50594"],
    ["40", "0.0001234", "USD", 0, "0.4936"],
    ["1", "1.005", "USD", 101, "100.5"],
    ["10000", "0.01", "USD", 10_000, "10000"],
    ["200", "0.01", "USD", 200, "200"],
    ["1234", "0.01", "USD", 1234, "1234"],
    ["70", "0.50", "USD", 3500, "3500"],
    ["15.5", "1", "USD", 1550, "1550"],
    ["3", "0.05", "JPY", 0, "0.15"],
    ["3", "0.5", "JPY", 2, "1.5"],
    ["3", "0.0005", "KWD", 2, "1.5"],
    ["1", "0.00005", "CLF", 1, "0.5"],
    ["0", "5", "USD", 0, "0"],
  ])("%s at %s in %s is %i", (units, rate, currency, amount_cents, precise_amount) => {
    expect(usageFee(units, rate, currency)).toMatchObject({
      amount_cents,
      properties: { precise_amount },
    });
  });
});

test("a usage fee that leaves the range is refused", () => {
  const most = "999999999999999";
  expect(() => usageFee(most, most, "USD")).toThrow(AmountOutOfRange);
});
