// What reading costs, and what it costs when the books have grown: the same questions put to a
// small database and to a large one, in turn.

import { strict as assert } from "node:assert";
import { setTimeout as pause } from "node:timers/promises";
import { sql } from "../src/store/db/sql.ts";
import { BARS } from "./bars.ts";
import {
  addDays,
  addEvents,
  addInvoices,
  addPayments,
  addSubscriptions,
  freezeClocks,
  INVOICE_CENTS,
  makeLive,
  openBooks,
  settleTables,
  UNITS,
} from "./books.ts";
import type { LoadResult } from "./load.ts";
import { atMost, type Bench, type Figure, type Options, type Round, ratio } from "./report.ts";
import {
  call,
  headersOf,
  load,
  openStage,
  type Side,
  type Stage,
  startService,
  startSide,
} from "./stage.ts";

const START = new Date("2026-01-01T00:00:00.000Z");
/**
 * The project stands still there, so that the open period is the same whenever this runs. Less than
 * thirty days after START, whose invoices are to be in the analytics.
 */
const NOW = new Date("2026-01-30T12:00:00.000Z");
const ROUNDS = 3;
const SECONDS = 2;
const QUICK_SECONDS = 0.5;
const PATIENCE_SECONDS = 600;
const CONNECTIONS = 64;
/** Longer than the service caches tokens and projects. */
const TOKEN_CACHE_MS = 1_500;
/** Few, so that it is the answer that takes time and not the queue for it. */
const CALM_CONNECTIONS = 4;
const PORTALS = 200;
const INVOICES_EACH = 50;
const DAYS = 10;
const DEEP = 100_000;

type Size = {
  /** Customers with one subscription each. */
  readonly customers: number;
  readonly events_each: number;
};
const SMALL: Size = { customers: 200, events_each: 60 };
/** 1 M invoices; then 5 M and 10 M events. */
const MIDDLE: Size = { customers: 20_000, events_each: 100 };
const LARGE: Size = { customers: 100_000, events_each: 100 };
const QUICK: Size = { customers: 2_000, events_each: 100 };
const QUICK_LARGE: Size = { customers: 4_000, events_each: 100 };

type Books = {
  readonly stage: Stage;
  readonly service: Side;
  readonly size: Size;
  /** How long one side of a round is asked. */
  readonly seconds: number;
};

export const benchReads: Bench = async (options) => {
  const stages = [await openStage(), await openStage()] as const;
  const bare = await startSide("bare", {});
  const closing = [() => bare.stop(), ...stages.map((stage) => () => stage.end())];
  try {
    const sizes = sizesOf(options);
    const seconds = options.quick ? QUICK_SECONDS : SECONDS;
    const small = await openAt(stages[0], SMALL, seconds, closing);
    const middle = await openAt(stages[1], sizes.middle, seconds, closing);
    const analytics = await compareAnalytics(middle, small);
    const large = { ...middle, size: sizes.large };
    await grow(large, sizes.middle);
    return [
      await byId(large, bare),
      await compareLists(large, small),
      await compareOffsets(large),
      await compareUsage(large, small),
      await comparePortals(large, small),
      analytics,
    ];
  } finally {
    for (const close of closing.reverse()) await close();
  }
};

function sizesOf({ quick }: Options) {
  return quick ? { middle: QUICK, large: QUICK_LARGE } : { middle: MIDDLE, large: LARGE };
}

async function openAt(
  stage: Stage,
  size: Size,
  seconds: number,
  closing: (() => Promise<void>)[],
): Promise<Books> {
  const { db } = stage;
  const all = { from: 1, to: size.customers };
  await openBooks(stage, START);
  await freezeClocks(db, NOW);
  await addSubscriptions(db, { ...all, from: 2 }, START);
  await addInvoices(db, { ...all, each: INVOICES_EACH, after: 0 }, START);
  await addPayments(db);
  await addUsage(stage, { ...size, first: 1 });
  await settleTables(db);
  const service = await startService(stage, "api", { TRUST_PROXY: "1" });
  closing.push(() => service.stop());
  return { stage, service, size, seconds };
}

/** More customers with the same books; no payments, which only those of before are asked for. */
async function grow({ stage: { db }, stage, size }: Books, before: Size): Promise<void> {
  const added = { from: before.customers + 1, to: size.customers };
  await addSubscriptions(db, added, START);
  const after = before.customers * INVOICES_EACH;
  await addInvoices(db, { ...added, each: INVOICES_EACH, after }, START);
  await addUsage(stage, { ...size, first: added.from });
  await settleTables(db);
}

async function addUsage(
  { db }: Stage,
  { first, customers, events_each }: Size & { first: number },
): Promise<void> {
  const range = { from: first, to: customers, period_no: 1, start: START };
  const usage = { ...range, days: DAYS, each: events_each };
  await addDays(db, usage);
  await addEvents(db, usage);
}

async function byId(books: Books, bare: Side): Promise<Figure> {
  const { stage, service } = books;
  const rows = await stage.db.many<{ id: string; name: string }>(sql`
    select id, name from customers order by random() limit 1000`);
  const [one] = rows;
  assert.ok(one);
  const { customer } = await call<{ customer: { name: string } }>(
    stage,
    service,
    `/v1/customers/${one.id}`,
  );
  assert.equal(customer.name, one.name, "the customer asked for");
  const paths = rows.map(({ id }) => `/v1/customers/${id}`);
  // With a clock of its own a project is asked for its time by every call; most have none.
  await makeLive(stage.db);
  await pause(TOKEN_CACHE_MS);
  const rounds = await interleave(
    () => ask(books, paths, { connections: CONNECTIONS }),
    () => ask(books, paths, { connections: CONNECTIONS, side: bare }),
  );
  await freezeClocks(stage.db, NOW);
  await pause(TOKEN_CACHE_MS);
  return ratio(
    `GET by id ÷ bare Fastify GET, ${CONNECTIONS} connections`,
    "requests/s",
    rounds.map(([ours, theirs]) => [ours.per_second, theirs.per_second]),
    BARS.get_by_id,
  );
}

async function compareLists(large: Books, small: Books): Promise<Figure> {
  const paths = [await cursorPaths(large), await cursorPaths(small)] as const;
  const rounds = await interleave(
    () => ask(large, paths[0]),
    () => ask(small, paths[1]),
  );
  return ratio(
    `cursor list p99 at ${invoicesOf(large)} invoices ÷ at ${invoicesOf(small)}`,
    "ms",
    rounds.map(p99s),
    atMost(1.5),
  );
}

type InvoicePage = { invoices: { id: string }[]; cursor: string; has_more: boolean };

/** Pages that begin anywhere in the list. */
async function cursorPaths({ stage, service, size }: Books): Promise<string[]> {
  const count = Math.min(size.customers * INVOICES_EACH, 1_000_000) - 20;
  const paths: string[] = [];
  for (let n = 0; n < 50; n++) {
    const offset = Math.floor((n * count) / 50);
    const page = await call<InvoicePage>(stage, service, `/v1/invoices?limit=1&offset=${offset}`);
    paths.push(`/v1/invoices?limit=10&cursor=${page.cursor}`);
    if (n % 25 > 0) continue;
    const shown = await call<InvoicePage>(stage, service, paths.at(-1) ?? "");
    const expected = await stage.db.many<{ id: string }>(sql`
      select id from invoices order by id desc limit 10 offset ${offset + 1}`);
    assert.deepEqual(
      shown.invoices.map(({ id }) => id),
      expected.map(({ id }) => id),
      "the page behind the cursor",
    );
  }
  return paths;
}

async function compareOffsets(large: Books): Promise<Figure> {
  const offset = Math.min(DEEP, large.size.customers * INVOICES_EACH - 10);
  const path = `/v1/invoices?limit=10&offset=`;
  const rounds = await interleave(
    () => ask(large, [`${path}${offset}`]),
    () => ask(large, [`${path}0`]),
  );
  return ratio(
    `list at offset ${offset} ÷ at offset 0, p50`,
    "ms",
    rounds.map(([deep, first]) => [deep.p50_ms, first.p50_ms]),
    atMost(10),
  );
}

async function compareUsage(large: Books, small: Books): Promise<Figure> {
  const paths = async ({ stage, service, size }: Books) => {
    const rows = await stage.db.many<{ id: string }>(sql`
      select id from subscriptions order by random() limit 1000`);
    const all = rows.map(({ id }) => `/v1/subscriptions/${id}/usage`);
    const { usage } = await call<{ usage: { charges: { units: string; events: number }[] } }>(
      stage,
      service,
      all[0] ?? "",
    );
    const each = size.events_each / 2;
    for (const { units, events } of usage.charges) {
      assert.deepEqual({ units, events }, { units: String(each * UNITS), events: each });
    }
    return all;
  };
  const [ours, theirs] = [await paths(large), await paths(small)];
  const rounds = await interleave(
    () => ask(large, ours),
    () => ask(small, theirs),
  );
  const name = `running usage p99 at ${eventsOf(large)} events ÷ at ${eventsOf(small)}`;
  return ratio(name, "ms", rounds.map(p99s), atMost(1.5));
}

/** Views are dropped before every round, so that each is computed. */
async function comparePortals(large: Books, small: Books): Promise<Figure> {
  const once = async (books: Books) => {
    const { stage } = books;
    await stage.db.run(sql`truncate portal_views`);
    const rows = await stage.db.many<{ id: string }>(sql`
      select id from customers
       where substr(external_id, 2)::integer <= 20000
       order by random() limit ${PORTALS}`);
    const paths = rows.map(({ id }) => `/v1/portal/${id}`);
    const result = await ask(books, paths, { requests: PORTALS });
    const { views } = await stage.db.one<{ views: number }>(sql`
      select count(*) as views from portal_views where jsonb_array_length(body::jsonb->'invoices') = 50`);
    assert.equal(views, PORTALS, "each was computed, and kept");
    return result;
  };
  const rounds = await interleave(
    () => once(large),
    () => once(small),
  );
  const name = `uncached portal p99 at ${eventsOf(large)} events ÷ at ${eventsOf(small)}`;
  return ratio(name, "ms", rounds.map(p99s), atMost(1.5));
}

async function compareAnalytics(large: Books, small: Books): Promise<Figure> {
  for (const { stage, service, size } of [large, small]) {
    const shown = await call<Record<string, number>>(stage, service, "/v1/analytics");
    assert.equal(shown.active_subscriptions, size.customers);
    assert.equal(shown.outstanding_invoice_count, size.customers);
    assert.equal(shown.outstanding_total_cents, size.customers * INVOICE_CENTS);
    assert.equal(shown.payments_30d_count, size.customers);
    assert.ok((shown.net_revenue_30d_cents ?? 0) > 0, "a month of invoices is within thirty days");
  }
  const rounds = await interleave(
    () => ask(large, ["/v1/analytics"]),
    () => ask(small, ["/v1/analytics"]),
  );
  const name = `analytics p99 at ${invoicesOf(large)} invoices ÷ at ${invoicesOf(small)}`;
  return ratio(name, "ms", rounds.map(p99s), atMost(2));
}

function invoicesOf({ size }: Books): string {
  return inWords(size.customers * INVOICES_EACH);
}

function eventsOf({ size }: Books): string {
  return inWords(size.customers * size.events_each);
}

function inWords(count: number): string {
  return count >= 1_000_000 ? `${count / 1_000_000} M` : `${count / 1_000} k`;
}

function p99s([above, below]: readonly [LoadResult, LoadResult]): Round {
  return [above.p99_ms, below.p99_ms];
}

type Asking = {
  readonly side?: Side;
  readonly connections?: number;
  /** So many instead of for so long. */
  readonly requests?: number;
};

async function ask(books: Books, paths: readonly string[], how: Asking = {}): Promise<LoadResult> {
  const { stage, service, seconds } = books;
  const { side = service, connections = CALM_CONNECTIONS, requests } = how;
  const result = await load({
    url: side.url,
    headers: headersOf(stage),
    connections,
    seconds: requests === undefined ? seconds : PATIENCE_SECONDS,
    mix: [{ ask: { kind: "paths", paths }, times: 1 }],
    ...(requests !== undefined && { requests }),
  });
  assert.equal(result.refused, 0, `every one of ${paths[0]} is answered`);
  return result;
}

/** Both sides in turn, so that they meet the same moods of the machine; the first turn warms up. */
export async function interleave<T>(
  above: () => Promise<T>,
  below: () => Promise<T>,
): Promise<(readonly [T, T])[]> {
  await above();
  await below();
  const rounds: (readonly [T, T])[] = [];
  for (let round = 0; round < ROUNDS; round++) rounds.push([await above(), await below()]);
  return rounds;
}
