// Delivery in fair weather: nobody waits for another. That nothing is sent twice: storm.deep.ts.

import { test } from "vitest";
import { fairRun } from "./fair.ts";

test("no endpoint waits a second because another one hangs", async () => {
  await fairRun({ healthy: 10, waiting: 200, events: 60, rounds: 1 });
});
