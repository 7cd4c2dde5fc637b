// Delivery in fair weather: nothing twice, in the order of commits, and nobody waits for another.

import { test } from "vitest";
import { fairRun } from "./fair.ts";
import { steadyRun } from "./steady.ts";

test("1,000 messages arrive once each when nobody dies", async () => {
  await steadyRun(1_000);
});

test("no endpoint waits a second because another one hangs", async () => {
  await fairRun({ healthy: 10, waiting: 200, events: 60, rounds: 1 });
});
