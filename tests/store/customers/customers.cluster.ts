// What a change of a customer locks on the nodes: the shards of its own project, and no others.

import { afterAll, expect, test } from "vitest";
import { sql } from "../../../src/store/db/sql.ts";
import { countOnNodes, onClient, testDatabase } from "../../support/database.ts";

const database = await testDatabase();
afterAll(() => database.drop());

const PROJECT = `
  insert into organizations values (md5('o')::uuid, 'acme', 'Acme', '2026-01-01');
  insert into workspaces values (md5('o')::uuid, md5('w')::uuid, 'main', 'Main', '2026-01-01');
  insert into projects (id, organization_id, workspace_id, slug, name, mode, created_at,
                        customer_prefix)
  values (md5('p')::uuid, md5('o')::uuid, md5('w')::uuid, 'p', 'P', 'live', '2026-01-01', '00000001');
  insert into project_anchors values (md5('p')::uuid);`;

const CUSTOMER = `
  insert into customers (project_id, id, seq, short_id, external_id, name, email, currency,
                         created_at, updated_at)
  values (md5('p')::uuid, md5('c')::uuid, 1, 'cust_0001', 'c', 'C', 'c@example.com', 'USD',
          '2026-01-01', '2026-01-01')`;
const RENAMED = `
  update customers set name = 'Another Name'
   where project_id = md5('p')::uuid and id = md5('c')::uuid`;

/** Citus locks a group of shards, one of each table, by this class of advisory locks. */
const GROUPS = sql`
  select count(distinct classid) as count
    from pg_locks
   where locktype = 'advisory' and objsubid = 8
     and database = (select oid from pg_database where datname = current_database())`;

test("who writes a customer is not in the way of other projects' shards that move", async () => {
  await onClient(database.connection, async (client) => {
    await client.query(PROJECT);
    await client.query("begin");
    for (const change of [CUSTOMER, RENAMED]) {
      await client.query(change);
      // That of the project, at the coordinator and on the project's node.
      expect(await countOnNodes(database.connection, GROUPS)).toBe(2);
    }
    await client.query("rollback");
  });
});
