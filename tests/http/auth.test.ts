// Tokens: how long a good one is remembered, and what forged ones cost.

import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { newToken } from "../../src/ids.ts";
import { sql } from "../../src/store/sql.ts";
import { type Answer, type App, startApp } from "../support/app.ts";

const BURST = 100;

let app: App;
let wall_ms = Date.parse("2026-05-01T00:00:00.000Z");
const opened: App[] = [];

/** A server of its own for each test: failures are counted by server and address. */
beforeEach(async () => {
  app = await startApp({ mode: "live", clock: { now: () => new Date(wall_ms) } });
  opened.push(app);
});
afterEach(() => vi.restoreAllMocks());
afterAll(() => Promise.all(opened.map((each) => each.close())));

const as = (authorization: string): Promise<Answer> =>
  app.call("GET", "/v1/customers", undefined, { authorization });
const good = (blanks = 1) => `Bearer${" ".repeat(blanks)}${app.profile.token}`;

/** Questions to the database about tokens. */
function asked() {
  return vi.spyOn(app.context.point, "maybeOne");
}

const aboutTokens = (spy: ReturnType<typeof asked>) =>
  spy.mock.calls.filter(([query]) => query.text.includes("from tokens")).length;

function passTime(ms: number): void {
  const now = performance.now.bind(performance);
  vi.spyOn(performance, "now").mockImplementation(() => now() + ms);
}

test("a token is known by itself, however its header is written", async () => {
  const questions = asked();
  expect((await as(good())).status).toBe(200);
  expect((await as(good(14_000))).status).toBe(200);
  expect((await as(`bearer ${app.profile.token}`)).status).toBe(200);
  expect(aboutTokens(questions)).toBe(1);
});

test("many failures of one address are refused without a question, until time has passed", async () => {
  const questions = asked();
  for (let i = 0; i < BURST; i++) expect((await as(`Bearer ${newToken()}`)).status).toBe(401);
  expect(aboutTokens(questions)).toBe(BURST);
  const refused = await Promise.all(Array.from({ length: 50 }, () => as(`Bearer ${newToken()}`)));
  expect(refused.filter(({ status }) => status === 429).length).toBeGreaterThan(40);
  const last = refused.find(({ status }) => status === 429);
  expect(last?.body.error).toMatchObject({ code: "rate_limited", retryable: true });
  expect(Number(last?.headers["retry-after"])).toBeGreaterThanOrEqual(1);
  expect(aboutTokens(questions)).toBeLessThan(BURST + 10);
  passTime(10_000);
  expect((await as(`Bearer ${newToken()}`)).status).toBe(401);
});

test("a good token passes whatever else comes from its address", async () => {
  expect((await as(good())).status).toBe(200);
  const flood = async () => {
    await Promise.all(Array.from({ length: 2 * BURST }, () => as(`Bearer ${newToken()}`)));
    expect((await as(`Bearer ${newToken()}`)).status).toBe(429);
  };
  await flood();
  expect((await as(good())).status).toBe(200);
  // Also when what was remembered of it is no longer good and the database must be asked.
  passTime(1_000);
  await flood();
  expect((await as(good())).status).toBe(200);
  expect((await app.call("GET", "/v1/keys/me")).status).toBe(200);
});

test("forged tokens that come at once are no way past the limit", async () => {
  const questions = asked();
  await Promise.all(Array.from({ length: 5 * BURST }, () => as(`Bearer ${newToken()}`)));
  expect(aboutTokens(questions)).toBeLessThan(BURST + 20);
});

test("a call without a token is told so, as often as it comes", async () => {
  for (let i = 0; i < 2 * BURST; i++) expect((await as("")).status).toBe(401);
});

test("a clock that is set back does not keep a revoked token alive", async () => {
  expect((await as(good())).status).toBe(200);
  await app.context.db.run(sql`update tokens set revoked_at = statement_timestamp()`);
  wall_ms -= 3_600_000;
  passTime(1_000);
  expect((await as(good())).status).toBe(401);
});
