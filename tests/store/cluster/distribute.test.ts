// Distribution where there is no cluster: it says what to do, and touches nothing.

import pg from "pg";
import { expect, test } from "vitest";
import { distribute } from "../../../src/store/cluster/distribute.ts";
import { emptyDatabase } from "../../support/database.ts";

test("a PostgreSQL without Citus is refused, before anything is migrated", async () => {
  const { connection, drop } = await emptyDatabase();
  const refused = distribute(connection, { shards: 4, progress: { starting() {}, done() {} } });
  await expect(refused).rejects.toThrow(/a PostgreSQL without Citus.*Point it at the coordinator/);
  const client = new pg.Client({ ...connection });
  await client.connect();
  const { rows } = await client.query("select to_regclass('schema_migrations') as found");
  expect(rows).toEqual([{ found: null }]);
  await client.end();
  await drop();
});
