// Tokens: how long a good one is remembered, and what forged ones cost.

import { afterAll, afterEach, beforeEach, expect, test, vi } from "vitest";
import { FAILURES } from "../../../src/http/request/auth.ts";
import { newToken } from "../../../src/ids.ts";
import { apiServer } from "../../../src/service/api-server.ts";
import { sql } from "../../../src/store/db/sql.ts";
import { type Answer, App, startApp } from "../../support/app.ts";

const BURST = FAILURES.burst;

let wall_ms = Date.parse("2026-05-01T00:00:00.000Z");
const house = await startApp({ mode: "live", clock: { now: () => new Date(wall_ms) } });
let app: App;
let stopped_ms: number | undefined;

/** A server of its own for each test: failures are counted by server and address. */
beforeEach(async ({ task }) => {
  const server = apiServer(house.context, { draining: false, schema_version: 1, warnings: [] });
  await server.fastify.ready();
  const { profile } = await house.inOrganization(`of-${task.id}`, "live");
  app = new App({ ...house, server, profile, close: () => server.fastify.close() });
});
afterEach(async () => {
  vi.restoreAllMocks();
  stopped_ms = undefined;
  await app.close();
});
afterAll(() => house.close());

const as = (authorization: string): Promise<Answer> =>
  app.call("GET", "/v1/customers", undefined, { authorization });
const good = (blanks = 1) => `Bearer${" ".repeat(blanks)}${app.profile.token}`;

/** Questions to the database about tokens. */
function asked() {
  return vi.spyOn(app.context.point, "maybeOne");
}

const aboutTokens = (spy: ReturnType<typeof asked>) =>
  spy.mock.calls.filter(([query]) => query.text.includes("from tokens")).length;

/**
 * Stops the clock that is not the machine's, so many milliseconds from now or from where it stands:
 * what the calls between took is no time that passes.
 */
function passTime(ms: number): void {
  stopped_ms = (stopped_ms ?? performance.now()) + ms;
  vi.restoreAllMocks();
  vi.spyOn(performance, "now").mockReturnValue(stopped_ms);
}

/** Answers to so many forged tokens, a hundred at a time. */
async function forge(count: number): Promise<Answer[]> {
  const answers: Answer[] = [];
  while (answers.length < count) {
    const some = Array.from({ length: 100 }, () => as(`Bearer ${newToken()}`));
    answers.push(...(await Promise.all(some)));
  }
  return answers;
}

test("a token is known by itself, however its header is written", async () => {
  const questions = asked();
  expect((await as(good())).status).toBe(200);
  expect((await as(good(14_000))).status).toBe(200);
  expect((await as(`bearer ${app.profile.token}`)).status).toBe(200);
  expect(aboutTokens(questions)).toBe(1);
});

test("many failures of one address are refused without a question, until time has passed", async () => {
  passTime(0);
  const questions = asked();
  for (const { status } of await forge(BURST)) expect(status).toBe(401);
  expect(aboutTokens(questions)).toBe(BURST);
  const refused = await forge(100);
  for (const { status, headers, body } of refused) {
    expect(status).toBe(429);
    expect(body.error).toMatchObject({ code: "rate_limited", retryable: true });
    expect(body.error.message).toMatch(
      /^Too many tokens from this address were not valid: .* 1000 /,
    );
    expect(body.error.message).toMatch(/ 20 a second, .* Try again in 1 s,/);
    expect(headers["retry-after"]).toBe("1");
  }
  expect(aboutTokens(questions)).toBe(BURST);
  passTime(1_000);
  expect((await as(`Bearer ${newToken()}`)).status).toBe(401);
});

test("what is no token, or has a wrong checksum, is not counted as a failure", async () => {
  passTime(0);
  const questions = asked();
  const token = newToken();
  const wrong = `${token.slice(0, -1)}${token.endsWith("A") ? "B" : "A"}`;
  for (const text of [`Bearer ${wrong}`, "Bearer nothing", "Basic eDp5"]) {
    for (let n = 0; n < BURST; n += 2) expect((await as(text)).status).toBe(401);
  }
  expect(aboutTokens(questions)).toBe(0);
  expect((await as(`Bearer ${newToken()}`)).status).toBe(401);
});

test("a good token passes whatever else comes from its address", async () => {
  passTime(0);
  expect((await as(good())).status).toBe(200);
  await forge(BURST);
  expect((await as(`Bearer ${newToken()}`)).status).toBe(429);
  expect((await as(good())).status).toBe(200);
  // Also when what was remembered of it is no longer good and the database must be asked.
  passTime(1_000);
  await forge(100);
  expect((await as(`Bearer ${newToken()}`)).status).toBe(429);
  expect((await as(good())).status).toBe(200);
  expect((await app.call("GET", "/v1/keys/me")).status).toBe(200);
});

test("forged tokens that come at once are no way past the limit", async () => {
  passTime(0);
  const questions = asked();
  await Promise.all(Array.from({ length: 2 * BURST }, () => as(`Bearer ${newToken()}`)));
  expect(aboutTokens(questions)).toBe(BURST);
});

test("a good token that nobody has seen before comes in as many calls at once as it likes", async () => {
  passTime(0);
  const answers = await Promise.all(Array.from({ length: BURST + 100 }, () => as(good())));
  // 1,100 calls at once take 6 s on a slow machine, and some are then refused for their wait.
  const refused = answers.filter(({ status }) => status !== 200 && status !== 503);
  expect(refused).toEqual([]);
  expect(answers.filter(({ status }) => status === 200).length).toBeGreaterThan(BURST / 2);
});

test("a call without a token, or with one of a wrong form, costs nobody anything", async () => {
  passTime(0);
  for (let i = 0; i <= BURST; i++) expect((await as(i % 2 ? "" : "Bearer x")).status).toBe(401);
  expect((await as(`Bearer ${newToken()}`)).status).toBe(401);
});

test("a clock that is set back does not keep a revoked token alive", async () => {
  expect((await as(good())).status).toBe(200);
  await app.context.db.run(sql`update tokens set revoked_at = statement_timestamp()`);
  wall_ms -= 3_600_000;
  passTime(1_000);
  expect((await as(good())).status).toBe(401);
});
