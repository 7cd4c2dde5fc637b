// Settings that a database or role brings along for every session must not change an answer.

import { randomBytes } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { HttpServer } from "../../../src/http/server.ts";
import { apiServer } from "../../../src/service/api-server.ts";
import { Pool } from "../../../src/store/db/db.ts";
import { type App, startApp } from "../../support/app.ts";
import { testContext } from "../../support/context.ts";
import { admin } from "../../support/database.ts";

const SETTINGS = {
  datestyle: "SQL, DMY",
  intervalstyle: "sql_standard",
  timezone: "Asia/Kolkata",
  bytea_output: "escape",
  extra_float_digits: "-5",
};
const AT = "2026-03-04T05:06:07.089Z";

let app: App;
beforeAll(async () => {
  app = await startApp({ at: AT });
});
afterAll(() => app.close());

/** A second service on the same database, whose sessions begin after the setting was made. */
async function beginAnew(): Promise<{ server: HttpServer; close(): Promise<void> }> {
  const db = new Pool(app.connection, {
    max: 2,
    statement_timeout_ms: 20_000,
    lock_timeout_ms: 5_000,
    application_name: "dues settings",
  });
  const context = testContext({ ...app.context, db, secret_key: randomBytes(32) });
  const server = apiServer(context, { draining: false, schema_version: 0, warnings: [] });
  const close = async () => {
    await server.fastify.close();
    await db.end();
  };
  return { server, close };
}

async function answers(server: HttpServer, external_id: string): Promise<unknown[]> {
  const headers = {
    authorization: `Bearer ${app.profile.token}`,
    "x-project-id": app.profile.project_id,
  };
  const body = { external_id, name: "Acme", currency: "USD" };
  const call = { headers, url: "/v1/customers" };
  const made = await server.fastify.inject({ ...call, method: "POST", payload: body });
  const clock = await server.fastify.inject({ ...call, method: "GET", url: "/v1/clock" });
  const url = `/v1/customers?external_id=${external_id}`;
  const found = await server.fastify.inject({ ...call, method: "GET", url });
  return [made, found, clock].map((answer) => {
    const text = answer.body.replaceAll(external_id, "<customer>");
    return [answer.statusCode, text.replace(/"(id|short_id|request_id)":"[^"]*"/g, "")];
  });
}

test.each(Object.entries(SETTINGS))("%s = '%s' changes no answer", async (name, value) => {
  const database =
    app.connection.database ?? new URL(app.connection.connectionString ?? "").pathname.slice(1);
  const usual = await answers(app.server, `usual-${name}`);
  expect(JSON.stringify(usual)).toContain(`created_at\\":\\"${AT}`);
  await admin(app.connection, `alter database ${database} set ${name} = '${value}'`);
  const { server, close } = await beginAnew();
  try {
    expect(await answers(server, `set-${name}`)).toEqual(usual);
  } finally {
    await close();
    await admin(app.connection, `alter database ${database} reset ${name}`);
  }
});
