// Customers of the version before are found by their words, as those that are made later.

import { expect, test } from "vitest";
import { list } from "../../src/store/customers.ts";
import { migrate } from "../../src/store/migrate.ts";
import { admin, emptyDatabase } from "../support/database.ts";
import { applyUpTo, id, MADE, openPool, ours, TENANTS } from "../support/former-versions.ts";

const FORMER_SCHEMA = 18;
const PAGE = { limit: 10, offset: 0, count: false };

const BOOKS = `
  alter table projects alter customer_prefix set default substr(gen_random_uuid()::text, 1, 8);
  ${TENANTS}
  alter table projects alter customer_prefix drop default;
  insert into project_anchors values ('${ours}');
  insert into customers (project_id, id, seq, short_id, external_id, name, email, currency,
                         created_at, updated_at)
  values ('${ours}', '${id(21)}', 1, 'cust_0001', 'ORG-1', 'Acme Acme Ltd', '', 'USD', ${MADE}, ${MADE}),
         ('${ours}', '${id(22)}', 2, 'cust_0002', 'b', 'Beta', 'a@ACME.test', 'USD', ${MADE}, ${MADE});`;

test("the words of customers that are there are written", async () => {
  const { connection, drop } = await emptyDatabase();
  await applyUpTo(connection, FORMER_SCHEMA);
  await admin(connection, BOOKS);
  await migrate(connection);
  const db = openPool(connection);
  try {
    const found = async (search: string) =>
      (await list(db, ours, { search }, PAGE)).rows.map(({ external_id }) => external_id);
    expect(await found("acme")).toEqual(["b", "ORG-1"]);
    expect(await found("1 lt")).toEqual(["ORG-1"]);
    expect(await found("cust_0002")).toEqual(["b"]);
  } finally {
    await db.end();
    await drop();
  }
});
