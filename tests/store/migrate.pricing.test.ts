// Books of the version before pricing, migrated while periods are open: they are billed as that
// version went on to bill them, line by line.

import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { newToken, tokenHash } from "../../src/ids.ts";
import { httpServer, testContext } from "../../src/main.ts";
import type { Pool } from "../../src/store/db.ts";
import { migrate } from "../../src/store/migrate.ts";
import { sql } from "../../src/store/sql.ts";
import { App, testConfig } from "../support/app.ts";
import { admin, emptyDatabase } from "../support/database.ts";
import {
  bills,
  comparable,
  FORMER_SCHEMA,
  type FormerBooks,
  goOn,
  loading,
  tell,
} from "../support/former-books.ts";
import { applyUpTo, openPool } from "../support/former-versions.ts";
import { checkInvariants } from "../support/invariants.ts";

const FILE = new URL("../support/former-books.json", import.meta.url);
const TOKEN = newToken();

const books: FormerBooks = JSON.parse(readFileSync(FILE, "utf8"));
let database: Awaited<ReturnType<typeof emptyDatabase>>;
let pool: Pool;
let app: App;
/** What was told at first, and how many invoices there were, before time went on. */
let told: unknown;
let before: number;

beforeAll(async () => {
  database = await emptyDatabase();
  const { connection } = database;
  await applyUpTo(connection, FORMER_SCHEMA);
  await admin(connection, loading(books));
  await migrate(connection);
  pool = openPool(connection);
  await pool.run(sql`update tokens set hash = ${tokenHash(TOKEN)}`);
  const secret_key = randomBytes(32);
  const context = testContext({ config: testConfig(), db: pool, clock: systemClock, secret_key });
  const readiness = { draining: false, schema_version: 0, warnings: [] };
  const { project_id } = books;
  const profile = { token: TOKEN, project_id, organization_id: "", workspace_id: "", base_url: "" };
  app = new App({
    server: httpServer(context, readiness, "all"),
    context,
    connection,
    profile,
    close: async () => {},
  });
  told = comparable(await tell(app));
  before = (await bills(app)).length;
  await goOn(app);
});

afterAll(async () => {
  await pool.end();
  await database.drop();
});

test("running usage and previews are what they were", () => {
  expect(told).toMatchObject(books.told);
});

test("every invoice from then on is the one that the version before made", async () => {
  const made = comparable((await bills(app)).slice(before));
  expect(made).toMatchObject(books.billed);
  expect(await checkInvariants(pool)).toEqual([]);
});

test("every invoice has a document, those from before too", async () => {
  const { invoices } = await app.get("/v1/invoices?all=1");
  for (const { id, number } of invoices) {
    const { status, body } = await app.call("GET", `/v1/invoices/${id}/document`);
    expect([status, String(body).includes(number)]).toEqual([200, true]);
  }
});
