// The doctor on a real database whose states are made bad one by one: each is found, and the others
// are not blamed for it.

import pg from "pg";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readConfig } from "../../src/config.ts";
import { examine, type Surroundings } from "../../src/doctor/examine.ts";
import type { Finding } from "../../src/doctor/finding.ts";
import { readSecretKey } from "../../src/key-file.ts";
import { examineInstallation } from "../../src/service/doctor.ts";
import { checkSecretKey } from "../../src/service/open-store.ts";
import { sql } from "../../src/store/db/sql.ts";
import { schemaVersion } from "../../src/store/migration/migrate.ts";
import { type App, startApp } from "../support/app.ts";
import { admin, databaseUrl, onCluster } from "../support/database.ts";
import { makeSubscription } from "../support/records.ts";

const SECRET_KEY = "the key that the doctor's test uses";

let app: App;
let given: Surroundings;
const clients: pg.Client[] = [];

beforeAll(async () => {
  app = await startApp({ env: { WEBHOOK_ALLOW_PRIVATE: "1" } });
  const { connection } = app;
  const config = readConfig({ DATABASE_URL: databaseUrl(connection), SECRET_KEY, BASE_URL: "" });
  await checkSecretKey(app.context.db, readSecretKey(config), new Date());
  given = {
    config,
    schema_version: await schemaVersion(),
    node_version: process.versions.node,
    now: () => new Date(),
    readKey: () => readSecretKey(config),
    ask: async () => ({ address: "http://127.0.0.1:1", why: "nobody answers" }),
    open: async () => ({ connection, stop: async () => {} }),
  };
});

afterAll(async () => {
  await Promise.all(clients.map((client) => client.end()));
  await app.close();
});

async function find(check: string, change: Partial<Surroundings> = {}): Promise<Finding> {
  const findings = await examine({ ...given, ...change });
  const found = findings.find((each) => each.check === check);
  if (found === undefined) throw new Error(`There is no check ${check}.`);
  return found;
}

/** Another session of the database. */
async function connect(application_name: string): Promise<pg.Client> {
  const client = new pg.Client({ ...app.connection, application_name });
  client.on("error", () => {});
  await client.connect();
  clients.push(client);
  return client;
}

test("every check says what was seen, and what to do where something is wrong", async () => {
  const findings = await examine(given);
  expect(new Set(findings.map(({ check }) => check)).size).toBe(findings.length);
  expect(findings.length).toBeGreaterThan(18);
  for (const { status, seen, advice } of findings) {
    expect(seen).not.toBe("");
    expect(seen).not.toContain("could not be read");
    expect(advice === null).toBe(status === "ok" || status === "skipped");
  }
});

test("a schema of another version", async () => {
  expect((await find("schema")).status).toBe("ok");
  expect((await find("schema", { schema_version: 9_999 })).status).toBe("fail");
  expect((await find("schema", { schema_version: 0 })).status).toBe("warn");
});

test("another key than the database was set up with", async () => {
  expect((await find("secret_key")).status).toBe("ok");
  const other = await find("secret_key", { readKey: () => Buffer.alloc(32) });
  expect(other).toMatchObject({ status: "fail", seen: expect.stringContaining("another key") });
});

test("commits that are confirmed before they are on the disk", async () => {
  const name = await app.context.db.one<{ name: string }>(sql`select current_database() as name`);
  await admin(app.connection, `alter database ${name.name} set synchronous_commit = off`);
  const found = await find("durability");
  await admin(app.connection, `alter database ${name.name} set synchronous_commit = on`);
  expect(found).toMatchObject({
    status: "fail",
    seen: expect.stringContaining("synchronous_commit is off"),
  });
  // On a cluster the other nodes are set as they are.
  if (!onCluster) {
    expect((await find("durability")).seen).not.toContain("synchronous_commit is off");
  }
});

test("a clock that is not the database's", async () => {
  expect((await find("clock")).status).toBe("ok");
  const late = await find("clock", { now: () => new Date(Date.now() - 3_000) });
  expect(late).toMatchObject({ status: "warn", seen: expect.stringContaining("ahead of") });
  const early = await find("clock", { now: () => new Date(Date.now() + 60_000) });
  expect(early).toMatchObject({ status: "fail", seen: expect.stringContaining("behind") });
});

test("fewer connections than a process needs", async () => {
  const { name } = await app.context.db.one<{ name: string }>(
    sql`select current_database() as name`,
  );
  await admin(app.connection, `alter database ${name} connection limit 12`);
  const found = await find("connections");
  await admin(app.connection, `alter database ${name} connection limit -1`);
  expect(found).toMatchObject({ status: "fail", seen: expect.stringContaining("of 12") });
  expect((await find("connections")).status).not.toBe("fail");
});

test("a transaction that somebody left open", async () => {
  const client = await connect("left open");
  await client.query("begin; select 1 from customers");
  const [row] = (await client.query("select pg_backend_pid() as pid")).rows;
  const found = await find("transactions", { long_transaction_s: 0 });
  expect((await find("transactions")).status).toBe("ok");
  await client.query("rollback");
  expect(found.status).toBe("warn");
  expect(found.seen).toContain(`${row.pid} (left open, idle in transaction)`);
  expect(found.advice).toContain(`pg_terminate_backend(${row.pid})`);
});

test("a restored database that waits for a word, and portals that are open to strangers", async () => {
  expect((await find("held")).status).toBe("ok");
  await app.context.db.run(sql`update installation set held_since = statement_timestamp()`);
  const held = await find("held");
  await app.context.db.run(sql`update installation set held_since = null`);
  expect(held).toMatchObject({ status: "warn", advice: expect.stringContaining("dues resume") });

  await app.context.db.run(sql`delete from project_clocks`);
  await app.context.db.run(sql`update projects set mode = 'live'`);
  expect((await find("portal_access")).status).toBe("skipped");
  const config = { ...given.config, is_public: true };
  expect((await find("portal_access", { config })).status).toBe("warn");
  await app.context.db.run(sql`update projects set portal_access = 'signed'`);
  expect((await find("portal_access", { config })).status).toBe("ok");
});

test("tokens for every project, where there are several of both", async () => {
  const config = { ...given.config, is_public: true };
  const { organization_id, project_id } = app.profile;
  const make = (name: string, more = {}) =>
    app.post("/v1/keys", { name, organization_id, scopes: ["read"], ...more });
  await make("shop", { project_ids: [project_id] });
  const { id } = await make("reports");
  expect((await find("tokens", { config })).status).toBe("ok");
  await app.post("/v1/projects", { workspace: "main", slug: "second", mode: "sandbox" });
  expect((await find("tokens")).status).toBe("skipped");
  expect(await find("tokens", { config })).toMatchObject({
    status: "warn",
    seen: expect.stringMatching(/^2 tokens are each for every project/),
    advice: expect.stringContaining("dues keys create --for"),
  });
  await app.context.db.run(sql`
    update tokens set expires_at = statement_timestamp() where id = ${id}`);
  expect((await find("tokens", { config })).status).toBe("ok");
});

describe("workers", () => {
  test("are known by their connections", async () => {
    expect((await find("workers")).status).toBe("warn");
    await connect("dues api");
    expect((await find("workers")).status).toBe("fail");
    await connect("dues worker");
    expect((await find("workers")).status).toBe("ok");
  });
});

describe("billing", () => {
  test("a period that ended and is not closed, and one that cannot be", async () => {
    const { id, external_id } = await makeSubscription(app);
    expect(await find("periods")).toMatchObject({ status: "ok" });
    const later = { now: () => new Date(Date.now() + 40 * 86_400_000) };
    expect((await find("periods", later)).status).toBe("fail");
    expect((await find("set_aside", later)).status).toBe("ok");
    await app.context.db.run(sql`
      update subscriptions
         set set_aside_reason = 'seats is missing'
       where project_id = ${app.profile.project_id} and id = ${id}`);
    expect((await find("periods", later)).status).toBe("ok");
    const found = await find("set_aside", later);
    expect(found).toMatchObject({
      status: "fail",
      seen: expect.stringContaining(`${external_id} of`),
    });
    expect(found.seen).toContain("seats is missing");
  });
});

describe("webhooks", () => {
  const age = (seconds: number, tries: number) =>
    app.context.db.run(sql`
      update webhook_queue
         set tries = ${tries}, due_at = statement_timestamp() - make_interval(secs => ${seconds})
       where project_id = ${app.profile.project_id}`);

  test("what waits for long, and an endpoint that fails", async () => {
    const events = ["addon.applied", "invoice.created"];
    const url = "http://127.0.0.1:9999/hook";
    await app.post("/v1/webhooks", { url, events });
    expect((await find("webhooks")).status).toBe("ok");
    const { add_on } = await app.post("/v1/addons", { code: "a", name: "A", amount_cents: 5 });
    const { customer } = await app.post("/v1/customers", { external_id: "w", name: "W" });
    await app.post(`/v1/addons/${add_on.id}/apply`, { customer_id: customer.id });
    await age(1, 0);
    expect((await find("webhooks")).status).toBe("ok");
    await age(120, 0);
    expect((await find("webhooks")).status).toBe("warn");
    await age(7_200, 0);
    expect((await find("webhooks")).status).toBe("fail");
    await age(-600, 3);
    const found = await find("webhooks");
    expect(found).toMatchObject({ status: "warn" });
    expect(found.seen).toContain("http://127.0.0.1:9999 (");
    expect(found.seen).toContain("failed 3 time(s)");
  });
});

test("without a database the rest is examined, and nothing is made", async () => {
  const url = "postgres://nobody@127.0.0.1:1/nowhere";
  const config = readConfig({ DATABASE_URL: url, SECRET_KEY, BASE_URL: "" });
  const findings = await examineInstallation(config, () => {});
  const statuses = new Map(findings.map(({ check, status }) => [check, status]));
  expect(statuses.get("database")).toBe("fail");
  expect(statuses.get("node")).toBe("ok");
  expect(statuses.get("durability")).toBe("skipped");
  const folder = `${import.meta.dirname}/none`;
  const none = { DATABASE_URL: "", SECRET_KEY: "", BASE_URL: "" };
  const empty = readConfig({ ...none, DUES_DATA: folder });
  const found = await examineInstallation(empty, () => {});
  expect(found.find(({ check }) => check === "database")).toMatchObject({
    status: "fail",
    seen: `embedded in ${folder}: there is no database in this folder yet`,
  });
});
