// The log as a feed: whoever follows order=asc by cursor gets every committed entry exactly once,
// however long the transactions that write them stay open.

import { randomUUID } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import { afterAll, expect, test } from "vitest";
import type { ProjectId } from "../../../src/ids.ts";
import { type Db, Pool, type Tx } from "../../../src/store/db/db.ts";
import * as billingEvents from "../../../src/store/feeds/billing-events.ts";
import { type Json, startApp } from "../../support/app.ts";
import { type Client, newProject } from "../../support/client.ts";

const WRITERS = 20;
const WRITES_EACH = 8;
const HELD_MS_MAX = 300;

const app = await startApp();
const pool = new Pool(app.connection, {
  max: WRITERS + 2,
  statement_timeout_ms: 20_000,
  lock_timeout_ms: 20_000,
  application_name: "feed writers",
});
afterAll(async () => {
  await pool.end();
  await app.close();
});

function write(tx: Tx, api: Client, resource_id: string): void {
  const entry = {
    resource_type: "customer",
    resource_id,
    event_type: "customer.created",
    actor_token_id: null,
    payload: {},
  };
  const now = app.context.clock.now();
  billingEvents.insert(tx, api.project as ProjectId, [entry], now);
}

/** Follows the feed from a cursor; `next` reads one page more. */
function follower(api: Client, limit: number) {
  let cursor: string | null = null;
  const seen: string[] = [];
  const next = async (): Promise<number> => {
    const from: string = cursor === null ? "" : `&cursor=${encodeURIComponent(cursor)}`;
    const query = `order=asc&event_type=customer.created&limit=${limit}${from}`;
    const page: Json = await api.get(`/v1/billing-events?${query}`);
    seen.push(...page.billing_events.map((entry: Json) => entry.resource_id));
    cursor = page.cursor;
    return page.billing_events.length;
  };
  return { seen, next };
}

class Undo extends Error {}

async function writeSlowly(db: Db, api: Client, committed: string[]): Promise<void> {
  for (let i = 0; i < WRITES_EACH; i++) {
    const [before, after] = [randomUUID(), randomUUID()];
    const undone = i % 4 === 3;
    try {
      await db.tx(async (tx) => {
        write(tx, api, before);
        // How long the transaction stays open is the very thing that is tested.
        await pause(Math.random() * HELD_MS_MAX);
        write(tx, api, after);
        if (undone) throw new Undo();
      });
      committed.push(before, after);
    } catch (error) {
      if (!(error instanceof Undo)) throw error;
    }
  }
}

test("twenty writers that commit in any order: a follower gets every entry exactly once", async () => {
  const api = await newProject(app);
  const committed: string[] = [];
  const writers = Array.from({ length: WRITERS }, () => writeSlowly(pool, api, committed));
  let writing = true;
  const done = Promise.all(writers).finally(() => {
    writing = false;
  });
  const { seen, next } = follower(api, 7);
  while (writing) await next();
  await done;
  while ((await next()) > 0);
  expect([...seen].sort()).toEqual([...committed].sort());
});

test("an open transaction holds nobody back; its entry comes behind what was committed before it", async () => {
  const api = await newProject(app);
  const [early, late] = [randomUUID(), randomUUID()];
  const { seen, next } = follower(api, 10);
  await pool.tx(async (slow) => {
    write(slow, api, early);
    await pool.tx(async (quick) => write(quick, api, late));
    expect(await next()).toBe(1);
    const newest = await api.get("/v1/billing-events?event_type=customer.created");
    expect(newest.billing_events.map((entry: Json) => entry.resource_id)).toEqual([late]);
  });
  expect(await next()).toBe(1);
  expect(seen).toEqual([late, early]);
});

test("the cursor of the last page goes on from there once there is more", async () => {
  const api = await newProject(app);
  const { seen, next } = follower(api, 2);
  const all: string[] = [];
  for (let round = 0; round < 3; round++) {
    const ids = [randomUUID(), randomUUID(), randomUUID()];
    all.push(...ids);
    for (const id of ids) await pool.tx(async (tx) => write(tx, api, id));
    while ((await next()) > 0);
  }
  expect(seen).toEqual(all);
});

test("since finds what began before its time and was committed behind it", async () => {
  const api = await newProject(app);
  const at = (second: number) => new Date(Date.UTC(2026, 0, 1, 0, 0, second));
  // As transactions commit whose clocks were read in another order, some of many entries.
  const seconds = [5, 3, 9, 1, 9, 2, 7, 12, 4, 12, 11, 15];
  for (const [i, second] of seconds.entries()) {
    const entries = Array.from({ length: 1 + (i % 3) * 3 }, () => ({
      resource_type: "customer",
      resource_id: randomUUID(),
      event_type: "customer.created",
      actor_token_id: null,
      payload: { second },
    }));
    await pool.tx(async (tx) => {
      billingEvents.insert(tx, api.project as ProjectId, entries, at(second));
    });
  }
  const read = async (query: string) => {
    const { billing_events } = await api.get(`/v1/billing-events?all=1&${query}`);
    return billing_events.map(({ id }: Json) => id) as string[];
  };
  const all = await api.get("/v1/billing-events?all=1&event_type=customer.created");
  for (let second = 0; second <= 16; second++) {
    const since = at(second).toISOString();
    const wanted = all.billing_events.filter(({ created_at }: Json) => created_at >= since);
    const ids = wanted.map(({ id }: Json) => id);
    const query = `event_type=customer.created&since=${since}`;
    expect([since, await read(query)]).toEqual([since, ids]);
    expect([since, await read(`${query}&order=asc`)]).toEqual([since, ids.toReversed()]);
  }
});

test("the entries about a kind of record are those of all its types, in one order", async () => {
  const api = await newProject(app);
  for (const name of ["a", "b"]) {
    const { customer } = await api.post("/v1/customers", { external_id: name, name });
    await api.ok("PATCH", `/v1/customers/${customer.id}`, { name: "changed" });
  }
  const types = async (query: string) => {
    const { billing_events } = await api.get(`/v1/billing-events?${query}`);
    return billing_events.map(({ event_type }: Json) => event_type);
  };
  const [made, changed] = ["customer.created", "customer.updated"];
  expect(await types("resource_type=customer")).toEqual([changed, made, changed, made]);
  expect(await types("resource_type=customer&limit=2&offset=1")).toEqual([made, changed]);
  expect(await types("resource_type=customer&order=asc&limit=3")).toEqual([made, changed, made]);
  expect(await types("resource_type=custom")).toEqual([]);
});
