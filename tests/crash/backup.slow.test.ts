// The drill of a backup, as often as the tests are run; the long one is backup.deep.ts.

import { expect, test } from "vitest";
import { drill } from "./backup-drill.ts";

test("a backup under load is restored elsewhere, held, and goes on where it was", {
  timeout: 120_000,
}, async () => {
  const figures = await drill({ customers: 50, events_each: 20, invoices_each: 4 });
  expect(figures.load_during_backup).toBeGreaterThan(0);
  expect(figures.rows).toBeGreaterThan(1_000);
});
