// The drill of a backup with a million events and twenty thousand invoices.

import { expect, test } from "vitest";
import { drill } from "./backup-drill.ts";

test("a million events and 20,000 invoices are restored to the cent", {
  timeout: 1_800_000,
}, async () => {
  const figures = await drill({ customers: 2_000, events_each: 500, invoices_each: 10 });
  process.stdout.write(`${JSON.stringify(figures, null, 2)}\n`);
  expect(figures.rows).toBeGreaterThan(1_000_000);
});
