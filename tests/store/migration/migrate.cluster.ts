// Migrations on a database that is spread over a cluster already.

import type pg from "pg";
import { afterEach, beforeEach, expect, test } from "vitest";
import {
  distributeLocal,
  prepareTransaction,
  releaseLocalRows,
} from "../../../src/store/migration/distribution.ts";
import { applyMissing, listMigrations, migrate } from "../../../src/store/migration/migrate.ts";
import { emptyCluster } from "../../support/cluster.ts";
import { onClient } from "../../support/database.ts";
import { LATER_NAMES, laterMigrations } from "../../support/later-versions.ts";

const SHARDS = 4;

let cluster: Awaited<ReturnType<typeof emptyCluster>>;
beforeEach(async () => {
  cluster = await emptyCluster();
});
afterEach(() => cluster.drop());

/** A database as this version distributes it, with rows in what later ones change. */
async function distributeThen(client: pg.Client): Promise<void> {
  await applyMissing(client, await listMigrations());
  await client.query("begin");
  await prepareTransaction(client);
  await distributeLocal(client, { shards: SHARDS });
  await client.query("commit");
  await releaseLocalRows(client);
  for (const statement of ROWS) await client.query(statement);
}

const ROWS = [
  "insert into organizations values (md5('o')::uuid, 'acme', 'Acme', '2026-01-01')",
  "insert into workspaces values (md5('o')::uuid, md5('w')::uuid, 'main', 'M', '2026-01-01')",
  `insert into projects (id, organization_id, workspace_id, slug, name, mode, created_at,
                         customer_prefix)
   select md5('p' || n)::uuid, md5('o')::uuid, md5('w')::uuid, 'p' || n, 'P', 'live', '2026-01-01',
          lpad(to_hex(n), 8, '0')
     from generate_series(1, 8) as n`,
  "insert into project_anchors select id from projects",
  `insert into customers (project_id, id, seq, short_id, external_id, name, email, currency,
                          created_at, updated_at)
   select p.id, md5(p.id::text)::uuid, 1, 'cust_0001', 'c', 'C', 'c@example.com', 'USD',
          '2026-01-01', '2026-01-01'
     from projects p`,
];

const columnsOf = (client: pg.Client) =>
  client.query(`
    select table_name, column_name, data_type, is_nullable, column_default
      from information_schema.columns
     where table_schema = 'public'
       and table_name in (select relname from pg_class join pg_dist_partition on oid = logicalrelid)
     order by 1, 2`);

test("what came since runs on a database that was distributed before it", async () => {
  await onClient(cluster.connection, distributeThen);
  const later = await laterMigrations();
  expect(await migrate(cluster.connection, later)).toEqual(LATER_NAMES);
  const { rows } = await onClient(cluster.connection, columnsOf);
  for (const worker of cluster.workers) {
    expect((await onClient(worker, columnsOf)).rows).toEqual(rows);
    expect(await migrate(worker, later)).toEqual([]);
  }
});

test("who holds a table for too long is named with the node that it is connected to", async () => {
  await onClient(cluster.connection, distributeThen);
  const added = {
    version: 1_000,
    name: "1000_added.sql",
    text: "alter table customers add c text",
  };
  const [worker] = cluster.workers;
  await onClient(worker ?? cluster.connection, async (holder) => {
    await holder.query("begin; select count(*) from customers");
    const { rows } = await holder.query(
      "select pg_backend_pid() as pid, inet_server_port() as port",
    );
    const refused = migrate(cluster.connection, [...(await listMigrations()), added], {
      patience_ms: 500,
    });
    const named = `In use by: .*process ${rows[0].pid} on \\S+:${rows[0].port} \\(`;
    await expect(refused).rejects.toThrow(new RegExp(named));
    await holder.query("rollback");
  });
});
