// A close gives way while the API answers requests, so it must see them from its own thread.

import { expect, test } from "vitest";
import { ApiActivity } from "../src/api-activity.ts";

test("the API is active while a request runs, however long, and for a moment after it", async () => {
  const api = new ApiActivity();
  const seenByWorkers = new ApiActivity(api.shared);
  expect(seenByWorkers.active).toBe(false);
  api.begin();
  api.begin();
  expect(seenByWorkers.active).toBe(true);
  api.end();
  expect(seenByWorkers.active).toBe(true);
  api.end();
  expect(seenByWorkers.active).toBe(true);
  await expect.poll(() => seenByWorkers.active, { timeout: 5_000 }).toBe(false);
});
