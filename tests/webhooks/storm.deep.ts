// The storm in full, and a long run without one.

import { test } from "vitest";
import { steadyRun } from "./steady.ts";
import { killStorm } from "./storm.ts";

test("2,000 messages to 3 endpoints all arrive though the worker is killed 30 times", async () => {
  await killStorm(2_000, 30);
}, 600_000);

test("5,000 messages arrive once each when nobody dies", async () => {
  await steadyRun(5_000);
}, 300_000);
