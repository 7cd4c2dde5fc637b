// The log of a version that ordered it by transaction ids: its order and its cursors still hold.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as billingEvents from "../../src/store/billing-events.ts";
import type { Pool } from "../../src/store/db.ts";
import { migrate } from "../../src/store/migrate.ts";
import * as portal from "../../src/store/portal.ts";
import { sql } from "../../src/store/sql.ts";
import { listMessages } from "../../src/store/webhooks.ts";
import { admin, emptyDatabase } from "../support/database.ts";
import {
  applyUpTo,
  id,
  MADE,
  openPool,
  ours,
  TENANTS,
  theirs,
} from "../support/former-versions.ts";

const LAST_OLD = 11;
/** Transaction ids and ids in the order that they give; a server that was restored began anew. */
const ORDER = [
  [7, 5],
  [7, 9],
  [12, 1],
  [800, 3],
  [4_294_967_299, 2],
] as const;
const customer = id(77);

const OLD_ROWS = `
  ${TENANTS}
  insert into customers (project_id, id, short_id, external_id, name, email, currency,
                         created_at, updated_at)
  values ('${ours}', '${customer}', 'cust_0001', 'c', 'C', 'c@example.com', 'USD', ${MADE}, ${MADE});
  ${ORDER.map(([xid, n]) => rowsOf(ours, xid, n)).join("\n")}
  ${rowsOf(theirs, 9, 4)}`;

function rowsOf(project: string, xid: number, n: number): string {
  return `
    insert into billing_events (project_id, xid, id, resource_type, resource_id, event_type,
                                payload, created_at)
    values ('${project}', '${xid}', '${id(n)}', 'customer', '${id(n)}', 'customer.created', '{}',
            ${MADE});
    insert into webhook_messages (project_id, xid, id, event, body, created_at)
    values ('${project}', '${xid}', '${id(n)}', 'invoice.created', '{}', ${MADE});`;
}

type Migrated = { readonly db: Pool; readonly close: () => Promise<void> };

async function migrated(): Promise<Migrated> {
  const old = await emptyDatabase();
  await applyUpTo(old.connection, LAST_OLD);
  await admin(old.connection, OLD_ROWS);
  await migrate(old.connection);
  const db = openPool(old.connection);
  const close = async () => {
    await db.end();
    await old.drop();
  };
  return { db, close };
}

/** For a test that writes, a database of its own: the others read one that nobody changes. */
async function onItsOwn(work: (db: Pool) => Promise<void>): Promise<void> {
  const { db, close } = await migrated();
  try {
    await work(db);
  } finally {
    await close();
  }
}

let shared: Migrated;
beforeAll(async () => {
  shared = await migrated();
});
afterAll(() => shared.close());

const page = (after?: readonly string[]) => ({
  ...{ limit: 10, offset: 0, count: false },
  ...(after === undefined ? {} : { after }),
});
/** As the version before wrote the position of a row into its cursors. */
const cursorAt = (place: number) => {
  const [xid, n] = ORDER[place] ?? [0, 0];
  return [String(xid), id(n)];
};
const ids = ({ rows }: { rows: readonly { id: string }[] }) => rows.map((row) => row.id);
const expected = (from: number, to: number = ORDER.length) =>
  ORDER.slice(from, to).map(([, n]) => id(n));

describe("the log", () => {
  const list = (after: readonly string[] | undefined, ascending: boolean, db = shared.db) =>
    billingEvents.list(db, ours, {}, page(after), ascending);

  test("is in the order it had", async () => {
    expect(ids(await list(undefined, true))).toEqual(expected(0));
    expect(ids(await list(undefined, false))).toEqual(expected(0).reverse());
  });

  test.each([0, 1, 2, 3, 4])(
    "goes on behind the former cursor %i, in both directions",
    async (i) => {
      expect(ids(await list(cursorAt(i), true))).toEqual(expected(i + 1));
      expect(ids(await list(cursorAt(i), false))).toEqual(expected(0, i).reverse());
    },
  );

  test("a follower with a former cursor gets what is new, behind what was there", async () => {
    const entry = {
      ...{ resource_type: "customer", resource_id: id(50), event_type: "customer.created" },
      ...{ actor_token_id: null, payload: {} },
    };
    const now = new Date(MADE.slice(1, -1));
    await onItsOwn(async (db) => {
      await db.tx(async (tx) => billingEvents.insert(tx, ours, [entry], now));
      const { rows, last } = await list(cursorAt(3), true, db);
      expect(rows.map((row) => row.resource_id)).toEqual([id(2), id(50)]);
      expect(ids(await list(last, true, db))).toEqual([]);
    });
  });
});

describe("the messages", () => {
  test.each([0, 2, 4])("go on behind the former cursor %i", async (i) => {
    expect(ids(await listMessages(shared.db, ours, page(cursorAt(i))))).toEqual(expected(i + 1));
  });

  test("go on behind a former cursor whose message has been removed since", async () => {
    await onItsOwn(async (db) => {
      await db.run(sql`
        delete from webhook_messages where project_id = ${ours} and id = ${id(1)}`);
      expect(ids(await listMessages(db, ours, page(cursorAt(2))))).toEqual(expected(3));
      expect(ids(await listMessages(db, ours, page(["1", id(1)])))).toEqual(
        expected(0).filter((one) => one !== id(1)),
      );
    });
  });
});

test("the portal finds a customer whose id does not begin with the prefix of its project", async () => {
  expect(await portal.find(shared.db, customer)).toMatchObject({ project_id: ours });
  expect(await portal.find(shared.db, id(78))).toBeUndefined();
});
