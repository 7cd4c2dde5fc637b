// The caller's address behind proxies: what the last trusted one saw, not what a caller says.

import { afterEach, expect, test } from "vitest";
import { sql } from "../../src/store/db/sql.ts";
import { type App, startApp } from "../support/app.ts";

let app: App;
afterEach(() => app.close());

/** As which address a token was created. */
async function seenAs(forwarded: string | undefined): Promise<unknown> {
  const { organization_id, project_id } = app.profile;
  const headers = { authorization: undefined, "x-forwarded-for": forwarded };
  const answer = await app.call("POST", "/v1/keys", { name: "k", organization_id }, headers);
  expect(answer.status).toBe(201);
  const [row] = await app.context.db.many<{ payload: { ip?: string } }>(sql`
    select payload
      from billing_events
     where project_id = ${project_id} and event_type = 'token.created'
     order by position desc
     limit 1`);
  return JSON.stringify(row?.payload);
}

test("without TRUST_PROXY the header means nothing", async () => {
  app = await startApp();
  expect(await seenAs("203.0.113.9")).toContain("127.0.0.1");
});

test("with one proxy it is the last address, whatever stands before it", async () => {
  app = await startApp({ env: { TRUST_PROXY: "1" } });
  expect(await seenAs("198.51.100.1, 203.0.113.9")).toContain("203.0.113.9");
  expect(await seenAs("<b>1</b>")).toContain("127.0.0.1");
  expect(await seenAs(`${"x".repeat(5_000)}, 203.0.113.9`)).toContain("203.0.113.9");
  expect(await seenAs(undefined)).toContain("127.0.0.1");
});

test("with two it is the last but one", async () => {
  app = await startApp({ env: { TRUST_PROXY: "2" } });
  expect(await seenAs("192.0.2.1, 203.0.113.9, 10.0.0.1")).toContain("203.0.113.9");
});

test("by address it is the last that is no proxy", async () => {
  app = await startApp({ env: { TRUST_PROXY: "loopback,10.0.0.0/8" } });
  expect(await seenAs("192.0.2.1, 203.0.113.9, 10.1.2.3")).toContain("203.0.113.9");
});

test("another made-up address with every call passes no limit", async () => {
  app = await startApp({ env: { TRUST_PROXY: "1" } });
  const { organization_id } = app.profile;
  const body = { name: "k", organization_id: organization_id.replace(/^./, "0") };
  const call = (i: number) => {
    const forwarded = { "x-forwarded-for": `198.51.100.${i % 256}, 203.0.113.9` };
    return app.call("POST", "/v1/keys", body, { authorization: undefined, ...forwarded });
  };
  const answers = await Promise.all(Array.from({ length: 320 }, (_, i) => call(i)));
  expect(answers.filter(({ status }) => status === 429).length).toBeGreaterThan(0);
});
