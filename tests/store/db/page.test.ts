// What an offset and a count cost: rows are counted in one table, whatever is shown of others, and
// passed in an index alone.

import { afterAll, expect, test } from "vitest";
import * as coupons from "../../../src/store/catalog/coupons.ts";
import * as customers from "../../../src/store/customers/customers.ts";
import type { Queryable } from "../../../src/store/db/db.ts";
import type { PageRequest } from "../../../src/store/db/page.ts";
import type { Sql } from "../../../src/store/db/sql.ts";
import * as attempts from "../../../src/store/feeds/attempts.ts";
import * as billingEvents from "../../../src/store/feeds/billing-events.ts";
import * as webhooks from "../../../src/store/feeds/webhooks.ts";
import * as creditNotes from "../../../src/store/invoices/credit-notes.ts";
import * as invoices from "../../../src/store/invoices/invoices.ts";
import { migrate } from "../../../src/store/migration/migrate.ts";
import * as ledger from "../../../src/store/money/ledger.ts";
import * as payments from "../../../src/store/money/payments.ts";
import * as refunds from "../../../src/store/money/refunds.ts";
import { listPayments } from "../../../src/store/portal/figures.ts";
import * as subscriptions from "../../../src/store/subscriptions/subscriptions.ts";
import * as usage from "../../../src/store/usage/events.ts";
import { emptyDatabase } from "../../support/database.ts";
import { openPool } from "../../support/later-versions.ts";
import { PROJECT } from "../laws/collect.ts";
import { storeSources } from "../laws/pieces.ts";

// One server even when the run is on a cluster, whose plans name shards.
const database = await emptyDatabase();
await migrate(database.connection);
const db = openPool(database.connection);
afterAll(async () => {
  await db.end();
  await database.drop();
});

const PAGE: PageRequest = { limit: 10, offset: 5, count: true };
const SOMEBODY = "22222222-2222-4222-8222-222222222222";

type List = (db: Queryable) => Promise<unknown>;

/** By the table that alone is counted. */
const LISTS: readonly (readonly [string, List])[] = [
  ["applied_coupons", (asked) => coupons.listApplied(asked, PROJECT, {}, PAGE)],
  ["billing_events", (asked) => billingEvents.list(asked, PROJECT, {}, PAGE, false)],
  ["credit_notes", (asked) => creditNotes.list(asked, PROJECT, {}, PAGE)],
  ["customers", (asked) => customers.list(asked, PROJECT, {}, PAGE)],
  ["grants", (asked) => ledger.listGrants(asked, PROJECT, {}, PAGE)],
  ["invoices", (asked) => invoices.list(asked, PROJECT, {}, PAGE)],
  [
    "ledger_entries",
    (asked) => ledger.listEntries(asked, PROJECT, { customer_id: SOMEBODY, currency: "USD" }, PAGE),
  ],
  ["payments", (asked) => payments.list(asked, PROJECT, {}, PAGE)],
  ["payments of a customer", (asked) => listPayments(asked, PROJECT, SOMEBODY, PAGE)],
  ["refunds", (asked) => refunds.list(asked, PROJECT, {}, PAGE)],
  ["subscriptions", (asked) => subscriptions.list(asked, PROJECT, {}, PAGE)],
  ["usage_events", (asked) => usage.list(asked, PROJECT, { subscription_id: SOMEBODY }, PAGE)],
  ["webhook_attempts", (asked) => attempts.list(asked, PROJECT, {}, PAGE)],
  ["webhook_messages", (asked) => webhooks.listMessages(asked, PROJECT, PAGE)],
];

/** Whose rows are read too: for the order within one instant, and to leave test messages out. */
const READ: readonly (string | undefined)[] = ["usage_events", "webhook_messages"];

/** Few rows, read as a whole as a rule: what is declared, and what an organization has. */
const SHORT = [
  ...["add_ons", "catalog_items", "coupons", "metrics", "plans", "taxes", "webhook_endpoints"],
  ...["projects", "tokens", "workspaces"],
];

/** Lists that are paged in a second way too: events never billed come of two indexes. */
const TWICE = ["usage_events"];

test("each list of the store is looked at here", () => {
  const uses = storeSources().flatMap(({ text }) => text.match(/return page</g) ?? []);
  expect([...LISTS, ...SHORT, ...TWICE]).toHaveLength(uses.length);
});

test.each(LISTS)("%s are counted in one table", async (name, list) => {
  const asked: Sql[] = [];
  await list(noting(asked));
  const [table] = name.split(" ");
  // Events are looked for by metric: which there are is asked first.
  expect(asked).toHaveLength(table === "usage_events" ? 3 : 2);
  const [rows, count] = await Promise.all(asked.slice(-2).map(planOf));
  expect(tablesOf(offsetOf(rows))).toEqual([table]);
  const scan = READ.includes(table) ? "Index Scan" : "Index Only Scan";
  expect(nodesOf(offsetOf(rows)).at(-1)).toMatchObject({ "Node Type": scan });
  expect(tablesOf(count)).toEqual([table]);
});

function noting(asked: Sql[]): Queryable {
  return {
    many: (query) => {
      asked.push(query);
      return db.many(query);
    },
    one: (query) => {
      asked.push(query);
      return db.one(query);
    },
    maybeOne: (query) => db.maybeOne(query),
    run: (query) => db.run(query),
  };
}

type Plan = {
  readonly "Parent Relationship"?: string;
  readonly "Relation Name"?: string;
  readonly Plans?: readonly Plan[];
};

/** As if the tables were large. */
function planOf({ text, values }: Sql): Promise<Plan> {
  return db.tx(async (tx) => {
    for (const way of ["seqscan", "bitmapscan", "sort"]) {
      await tx.run({ text: `set local enable_${way} = off`, values: [] });
    }
    const explain = { text: `explain (format json) ${text}`, values };
    const { "QUERY PLAN": plans } = await tx.one<{ "QUERY PLAN": [{ Plan: Plan }] }>(explain);
    return plans[0].Plan;
  });
}

function nodesOf(plan: Plan | undefined): Plan[] {
  return plan === undefined ? [] : [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** Where the page begins is asked first, by itself. */
function offsetOf(plan: Plan | undefined): Plan | undefined {
  return nodesOf(plan).find((node) => node["Parent Relationship"] === "InitPlan");
}

function tablesOf(plan: Plan | undefined): string[] {
  return nodesOf(plan).flatMap((node) => node["Relation Name"] ?? []);
}
