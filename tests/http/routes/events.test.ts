// A batch is answered in time: when its transactions are slow, and when one of them hangs.

import { afterAll, beforeAll, beforeEach, expect, test, vi } from "vitest";
import { Bounds } from "../../../src/http/limits/bound.ts";
import type { Route } from "../../../src/http/route.ts";
import { eventRoutes } from "../../../src/http/routes/events.ts";
import { type App, startApp } from "../../support/app.ts";

const CHUNK = 1_000;
const LATE = { code: "unavailable", status: 503, retryable: true };

let app: App;
let route: Extract<Route, { kind: "own" }>;
beforeAll(async () => {
  app = await startApp();
  const found = eventRoutes(app.context, new Bounds()).find(({ id }) => id === "sendEventBatch");
  route = found as typeof route;
});
afterAll(() => app.close());
beforeEach(() => () => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** Of events of nobody: each thousand of them is a transaction that finds so. */
function send(count: number): Promise<unknown> {
  const events = Array.from({ length: count }, (_, i) => ({
    ...{ transaction_id: `t-${i}`, subscription_id: "ext:nobody", code: "calls" },
  }));
  const settings = { id: app.profile.project_id };
  const { db, clock } = app.context;
  const call = { db, settings, body: { events }, now: clock.now() };
  return route.handle(call as unknown as Parameters<typeof route.handle>[0]);
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
  expect(await send(3 * CHUNK)).toMatchObject({ accepted: 0, refused: 3 * CHUNK });
});

test("a batch whose transaction hangs is answered after four seconds", async () => {
  vi.useFakeTimers({ toFake: ["performance", "setTimeout", "clearTimeout"] });
  vi.spyOn(app.context.db, "tx").mockReturnValue(new Promise<never>(() => {}));
  const answer = expect(send(1)).rejects.toMatchObject(LATE);
  await vi.advanceTimersByTimeAsync(4_000);
  await answer;
});
