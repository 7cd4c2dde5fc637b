// Two processes, each connected to another node: one Idempotency-Key has one effect.

import { afterAll, beforeAll, expect, test } from "vitest";
import { apiServer } from "../../../src/service/api-server.ts";
import { Pool } from "../../../src/store/db/db.ts";
import { sql } from "../../../src/store/db/sql.ts";
import { schemaVersion } from "../../../src/store/migration/migrate.ts";
import { App, startApp } from "../../support/app.ts";
import { testContext } from "../../support/context.ts";
import { nodesOf } from "../../support/database.ts";

const PAIRS = 200;
const AT_ONCE = 10;

let atCoordinator: App;
let atWorker: App;

beforeAll(async () => {
  atCoordinator = await startApp();
  atWorker = await secondProcess(atCoordinator);
});

afterAll(async () => {
  await atWorker.close();
  await atCoordinator.close();
});

/** The same service on the same cluster, connected to a worker. */
async function secondProcess(first: App): Promise<App> {
  const [, connection] = nodesOf(first.connection);
  if (connection === undefined) throw new Error("CLUSTER_WORKERS names no worker.");
  const db = new Pool(connection, {
    max: 10,
    statement_timeout_ms: 20_000,
    lock_timeout_ms: 5_000,
    application_name: "dues test",
  });
  const { config, clock, secret_key } = first.context;
  const context = testContext({ config, db, clock, secret_key });
  const readiness = { draining: false, schema_version: await schemaVersion(), warnings: [] };
  const server = apiServer(context, readiness);
  await server.fastify.ready();
  const close = async () => {
    await server.fastify.close();
    await db.end();
  };
  return new App({ server, context, connection, profile: first.profile, close });
}

async function pair(no: number): Promise<number[]> {
  const body = { external_id: `c${no}`, name: "Acme", email: "a@b.test", currency: "USD" };
  const headers = { "idempotency-key": `key-${no}` };
  const answers = await Promise.all(
    [atCoordinator, atWorker].map((app) => app.call("POST", "/v1/customers", body, headers)),
  );
  return answers.map(({ status }) => status).sort();
}

test("the same key at both, in 200 pairs: one effect each, and never a 500", async () => {
  const answers: number[][] = [];
  for (let from = 0; from < PAIRS; from += AT_ONCE) {
    const numbers = Array.from({ length: AT_ONCE }, (_, i) => from + i);
    answers.push(...(await Promise.all(numbers.map(pair))));
  }
  // The second is told the first one's answer, or that the key is in use.
  for (const statuses of answers)
    expect([
      [201, 201],
      [201, 409],
    ]).toContainEqual(statuses);
  const { count } = await atCoordinator.context.db.one<{ count: number }>(sql`
    select count(*)
      from customers
     where project_id = ${atCoordinator.profile.project_id}`);
  expect(count).toBe(PAIRS);
});
