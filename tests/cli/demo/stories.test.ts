// Who does what in the demo: the seed decides for most, and those with a story keep it.

import { expect, test } from "vitest";
import { CUSTOMERS_MAX, customerBodies } from "../../../src/cli/demo/customers.ts";
import { storiesOf } from "../../../src/cli/demo/stories.ts";
import { usageOf } from "../../../src/cli/demo/usage.ts";

const stories = (seed: number) => storiesOf(customerBodies(CUSTOMERS_MAX), seed, 12);

test("fifty customers of many countries and scripts, each once", () => {
  const customers = customerBodies(CUSTOMERS_MAX);
  expect(CUSTOMERS_MAX).toBe(50);
  expect(new Set(customers.map(({ external_id }) => external_id)).size).toBe(50);
  expect(new Set(customers.map(({ country }) => country)).size).toBeGreaterThan(30);
  const names = customers.map(({ name }) => name).join("");
  const scripts = ["Han", "Hiragana", "Hangul", "Arabic", "Hebrew", "Cyrillic", "Greek"];
  for (const script of [...scripts, "Devanagari"]) {
    expect([script, new RegExp(`\\p{Script=${script}}`, "u").test(names)]).toEqual([script, true]);
  }
});

test("a seed gives the same company, another seed another one", () => {
  expect(stories(1)).toEqual(stories(1));
  expect(stories(2)).not.toEqual(stories(1));
  const northwind = (seed: number) => stories(seed)[0];
  expect(northwind(2)).toMatchObject({ payer: "stops", stops_at: 8, joins: { month: 0, day: 1 } });
  for (const { joins, changes, plan, customer } of stories(5)) {
    expect(joins.month).toBeLessThan(12);
    for (const { month } of changes) expect(month).toBeLessThan(12);
    if (customer.currency === "EUR") expect(plan).toMatch(/-eur$/);
  }
});

test("a day's usage is the same each time, grows with the months and rests at weekends", () => {
  const [story] = stories(1).filter(({ growth }) => growth > 5);
  if (story === undefined) throw new Error("Nobody grows.");
  const tokens = (date: string, month: number) =>
    usageOf(story, "team", { date, index: 0, month }, 1)
      .filter(({ code }) => code === "tokens")
      .reduce((sum, { properties }) => sum + Number(properties?.tokens), 0);
  expect(tokens("2025-01-06", 0)).toBe(tokens("2025-01-06", 0));
  expect(tokens("2025-01-06", 11)).toBeGreaterThan(tokens("2025-01-06", 0));
  expect(tokens("2025-01-05", 0)).toBeLessThan(tokens("2025-01-06", 0));
  const ids = usageOf(story, "scale", { date: "2025-01-02", index: 0, month: 0 }, 1);
  expect(new Set(ids.map(({ transaction_id }) => transaction_id)).size).toBe(ids.length);
});
