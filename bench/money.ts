// What money costs in a close: with one tax and one coupon for all against none, and without any of
// it against the version before.

import { strict as assert } from "node:assert";
import { join } from "node:path";
import { sql } from "../src/store/sql.ts";
import { BEFORE_MONEY, buildBefore } from "./before.ts";
import * as books from "./books.ts";
import * as closes from "./close.ts";
import { atMost, type Bench, type Figure, type Round, ratio } from "./report.ts";
import * as stages from "./stage.ts";

const SUBSCRIPTIONS = 100_000;
const QUICK_SUBSCRIPTIONS = 2_000;
/** A bar of 3 % needs more rounds than others, on fewer subscriptions. */
const UNUSED_SUBSCRIPTIONS = 30_000;
const ROUNDS = 3;
const UNUSED_ROUNDS = 7;
const DAYS = 10;
const EVENTS_EACH = 1_000;
/** Base fee, two flat fees and two of usage. */
const SUBTOTAL = 3_600;
/** Less 10 %, and 20 % on the rest. */
const TOTAL = 3_888;

export const benchMoney: Bench = async ({ quick }) => [
  await taxedClose(quick ? QUICK_SUBSCRIPTIONS : SUBSCRIPTIONS),
  await unusedClose(quick ? QUICK_SUBSCRIPTIONS : UNUSED_SUBSCRIPTIONS),
];

/** The modules of one version: of this one, or of another that was built beside it. */
type Version = {
  readonly books: typeof books;
  readonly closes: typeof closes;
  readonly stages: typeof stages;
  readonly schema?: number;
};
const NOW: Version = { books, closes, stages };

type Side = { readonly version: Version; readonly stage: stages.Stage; readonly total: number };

async function taxedClose(count: number): Promise<Figure> {
  const name = `close of ${count} subscriptions, one tax and one coupon ÷ none`;
  const taxed = await openSide(NOW, count, ROUNDS, TOTAL);
  await taxAndCoupon(taxed);
  const plain = await openSide(NOW, count, ROUNDS, SUBTOTAL);
  return compare(name, count, ROUNDS, [taxed, plain], atMost(1.25));
}

async function unusedClose(count: number): Promise<Figure> {
  const name = `close of ${count} subscriptions without money: now ÷ before`;
  const before = buildBefore(BEFORE_MONEY.commit);
  try {
    const then = await versionIn(before.folder, BEFORE_MONEY.schema);
    const sides = [
      await openSide(NOW, count, UNUSED_ROUNDS, SUBTOTAL),
      await openSide(then, count, UNUSED_ROUNDS, SUBTOTAL),
    ] as const;
    return await compare(name, count, UNUSED_ROUNDS, sides, atMost(1.03));
  } finally {
    before.remove();
  }
}

async function versionIn(folder: string, schema: number): Promise<Version> {
  return {
    books: await import(join(folder, "books.js")),
    closes: await import(join(folder, "close.js")),
    stages: await import(join(folder, "stage.js")),
    schema,
  };
}

async function openSide(
  version: Version,
  count: number,
  rounds: number,
  total: number,
): Promise<Side> {
  const { monthsAgo, openBooks, addSubscriptions, addDays, settleTables } = version.books;
  const stage = await version.stages.openStage(version.schema);
  const { db } = stage;
  await openBooks(stage, monthsAgo(rounds));
  await addSubscriptions(db, { from: 2, to: count }, monthsAgo(rounds));
  for (let period_no = 1; period_no <= rounds; period_no++) {
    const start = monthsAgo(rounds + 1 - period_no);
    await addDays(db, { from: 1, to: count, period_no, start, days: DAYS, each: EVENTS_EACH });
  }
  await version.closes.listen(stage);
  await settleTables(db);
  return { version, stage, total };
}

/** 20 % on everything, and every customer has 10 % off for ever. */
async function taxAndCoupon({ stage }: Side): Promise<void> {
  const { db } = stage;
  await db.run(sql`
    insert into taxes (project_id, id, code, name, percent, created_at, updated_at)
    select id, gen_random_uuid(), 'vat', 'VAT', 20, created_at, created_at
      from projects`);
  await db.run(sql`update projects set tax_codes = '{vat}'`);
  await db.run(sql`
    insert into coupons (project_id, id, code, name, percent, created_at, updated_at)
    select id, gen_random_uuid(), 'ten', 'Ten', 10, created_at, created_at
      from projects`);
  await db.run(sql`
    insert into applied_coupons (project_id, id, coupon_id, customer_id, code, name, percent,
                                 applied_at)
    select c.project_id, gen_random_uuid(), p.id, c.id, p.code, p.name, p.percent, c.created_at
      from customers c
      join coupons p using (project_id)`);
  await db.run(sql`update customers set has_account = true`);
  await books.settleTables(db);
}

/** The same months of two projects, closed in turns. */
async function compare(
  name: string,
  count: number,
  rounds: number,
  sides: readonly [Side, Side],
  bar: Figure["bar"],
): Promise<Figure> {
  try {
    const found: Round[] = [];
    for (let period_no = 1; period_no <= rounds; period_no++) {
      const seconds = [0, 0];
      // Who is first changes: the other finds the server's caches full of its rows.
      for (const i of period_no % 2 === 1 ? [0, 1] : [1, 0]) {
        const side = sides[i];
        if (side === undefined) throw new Error("A side is missing.");
        const { version, stage } = side;
        const month = version.books.monthsAgo(rounds - period_no);
        seconds[i] = await version.closes.close(stage, stage.db, month);
        await assertBilled(side, count, period_no);
      }
      found.push([seconds[0] ?? 0, seconds[1] ?? 1]);
    }
    return ratio(name, "s", found, bar);
  } finally {
    for (const { stage } of sides) await stage.end();
  }
}

async function assertBilled({ stage, total }: Side, count: number, period_no: number) {
  const found = await stage.db.one<{ invoices: number; cents: number }>(sql`
    select count(*) as invoices, coalesce(sum(total_cents), 0)::bigint as cents
      from invoices
     where period_no = ${period_no}`);
  assert.deepEqual(found, { invoices: count, cents: count * total });
}
