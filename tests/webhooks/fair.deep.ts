// Fairness at the size of a busy project.

import { test } from "vitest";
import { fairRun } from "./fair.ts";

test("20 endpoints at 20 events a second notice nothing of one with 2,000 waiting", async () => {
  const { alone_ms, beside_ms } = await fairRun({ healthy: 20, waiting: 2_000, events: 400 });
  process.stdout.write(
    `commit to receipt, p99: ${alone_ms.toPrecision(3)} ms alone, ` +
      `${beside_ms.toPrecision(3)} ms beside one that hangs\n`,
  );
}, 180_000);
