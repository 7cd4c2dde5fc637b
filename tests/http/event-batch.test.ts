// A batch is answered in time: when its transactions are slow, and when one of them hangs.

import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { Refusal } from "../../src/errors.ts";
import { type BatchTarget, recordBatch } from "../../src/http/event-batch.ts";
import type { ProjectId } from "../../src/ids.ts";
import { UsageMemory } from "../../src/operations/usage/memory.ts";
import { getSettingsById } from "../../src/store/tenants/tenants.ts";
import { type App, startApp } from "../support/app.ts";

const CHUNK = 1_000;
const LATE = { code: "unavailable", status: 503, retryable: true };

let app: App;
let target: BatchTarget;
beforeAll(async () => {
  app = await startApp();
  const { db, config } = app.context;
  const settings = await getSettingsById(db, app.profile.project_id as ProjectId);
  target = { db, memory: new UsageMemory(), settings, rule: config };
});
afterAll(() => app.close());
beforeEach(() => () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Sends events that name nobody: each thousand of them is a transaction that finds so. */
function send(count: number) {
  const events = Array.from({ length: count }, (_, i) => ({
    transaction_id: `t-${i}`,
    subscription_id: "ext:nobody",
    code: "calls",
  }));
  return recordBatch(target, events, app.context.clock.now());
}

test("a batch of slow transactions begins none after four seconds", async () => {
  vi.useFakeTimers({ toFake: ["performance"] });
  const { db } = app.context;
  const tx = db.tx.bind(db);
  const begun = vi.spyOn(db, "tx").mockImplementation((work) => {
    vi.advanceTimersByTime(1_500);
    return tx(work);
  });
  await expect(send(5 * CHUNK)).rejects.toMatchObject(LATE);
  expect(begun).toHaveBeenCalledTimes(3);
  const outcomes = await send(3 * CHUNK);
  expect(outcomes).toHaveLength(3 * CHUNK);
  expect(outcomes.every((outcome) => outcome instanceof Refusal)).toBe(true);
});

test("a batch whose transaction hangs is answered after four seconds", async () => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  vi.spyOn(app.context.db, "tx").mockReturnValue(new Promise<never>(() => {}));
  const answer = expect(send(1)).rejects.toMatchObject(LATE);
  await vi.advanceTimersByTimeAsync(4_000);
  await answer;
});
