// Functions on a cluster: where they run, and that every node has those that statements call.

import pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import { distribute } from "../../../src/store/cluster/distribute.ts";
import type { Connection } from "../../../src/store/db/db.ts";
import { migrate } from "../../../src/store/migration/migrate.ts";
import { emptyCluster } from "../../support/cluster.ts";
import { admin } from "../../support/database.ts";

let cluster: Awaited<ReturnType<typeof emptyCluster>>;
beforeEach(async () => {
  cluster = await emptyCluster();
});
afterEach(() => cluster.drop());

async function definitionOf(connection: Connection, name: string): Promise<string> {
  const client = new pg.Client({ ...connection });
  await client.connect();
  try {
    const { rows } = await client.query<{ text: string }>(
      "select pg_get_functiondef($1::regproc) as text",
      [name],
    );
    return rows[0]?.text ?? "";
  } finally {
    await client.end();
  }
}

test("one that the coordinator alone has is given to every node", async () => {
  await migrate(cluster.connection);
  const made = await definitionOf(cluster.connection, "sent_events");
  await admin(
    cluster.connection,
    `drop function sent_events; set citus.enable_ddl_propagation = off; ${made}`,
  );
  const progress = { starting() {}, done() {} };
  const { functions } = await distribute(cluster.connection, { shards: 4, progress });
  expect(functions).toContainEqual(expect.stringMatching(/^sent_events\(/));
  for (const worker of cluster.workers) {
    expect(await definitionOf(worker, "sent_events")).toBe(made);
  }
});
