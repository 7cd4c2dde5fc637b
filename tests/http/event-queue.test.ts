// Events that wait for a database that hangs: each is answered in time, and a node that hangs does
// not take the places of the others. On a cluster they wait for each other.

import { setTimeout as delay, setImmediate as turn } from "node:timers/promises";
import { beforeAll, beforeEach, describe, expect, test } from "vitest";
import { Bounds } from "../../src/http/admission/bound.ts";
import { EventQueue } from "../../src/http/event-queue.ts";
import { UsageMemory } from "../../src/operations/usage/memory.ts";
import { ONE_NODE, type Placement } from "../../src/store/cluster/placement.ts";
import type { Db } from "../../src/store/db/db.ts";
import type { Sql } from "../../src/store/db/sql.ts";
import { getSettings, type ProjectSettings } from "../../src/store/tenants/tenants.ts";
import { type App, sharedApp } from "../support/app.ts";
import { fakePlacement } from "../support/fake-placement.ts";
import { makeMetric, makePlan, makeSubscription } from "../support/records.ts";

const ANSWERED_MS = 5_000;
const AWAY = { code: "unavailable", status: 503 };

let app: App;
let settings: ProjectSettings;
beforeAll(async () => {
  app = await sharedApp({ at: "2026-03-01T00:00:00.000Z" });
  const { organization_id, project_id } = app.profile;
  settings = (await getSettings(app.context.db, organization_id, project_id)) as ProjectSettings;
});

/** Projects whose id begins with "hangs" wait for ever, all others are the test's own project. */
function halfHanging(): Db {
  const never = () => new Promise<never>(() => {});
  const hangs: Db = {
    many: never,
    maybeOne: never,
    one: never,
    run: never,
    tx: never,
    alone: never,
    snapshot: never,
    forProject: () => hangs,
    forEveryNode: () => hangs,
  };
  const { db } = app.context;
  return Object.assign(Object.create(db), {
    forProject: (project: string) => (project.startsWith("hangs") ? hangs : db),
  });
}

function queueOn(db: Db, placement: Placement, memory = new UsageMemory()): EventQueue {
  return new EventQueue({ ...app.context, db, placement }, memory, new Bounds());
}

const NOW = new Date("2026-03-01T00:00:00.000Z");

function event(transaction_id: string) {
  return { transaction_id, subscription_id: "ext:nobody", code: "calls", properties: {} };
}

function of(id: string): ProjectSettings {
  return { ...settings, id: id as ProjectSettings["id"] };
}

async function timed(work: Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work;
  return performance.now() - started;
}

test("events of a write that hangs, and those behind it, are answered within 5 s", async () => {
  const queue = queueOn(halfHanging(), ONE_NODE);
  const projects = Array.from({ length: 8 }, (_, n) => `hangs-${n}`);
  const asked = projects.flatMap((project) =>
    ["1", "2"].map((n) =>
      expect(queue.push(of(project), event(n), NOW)).rejects.toMatchObject(AWAY),
    ),
  );
  expect(await timed(Promise.all(asked))).toBeLessThan(ANSWERED_MS);
});

test("a node that hangs leaves writers to the others", async () => {
  const queue = queueOn(halfHanging(), fakePlacement(2));
  const hanging = Array.from({ length: 6 }, (_, n) =>
    expect(queue.push(of(`hangs-${n}`), event("1"), NOW)).rejects.toMatchObject(AWAY),
  );
  // Those that hang are given up after 4 s.
  for (let n = 0; n < 5; n++) {
    const told = expect(queue.push(settings, event(`fine-${n}`), NOW)).rejects.toMatchObject({
      code: "not_found",
    });
    expect(await timed(told)).toBeLessThan(2_000);
  }
  await Promise.all(hanging);
});

describe("when a write takes long", () => {
  const TOOK_MS = 20;
  /** Filled by the first event, so that those after it are written without being looked up. */
  const memory = new UsageMemory();
  /** How many events each write had. */
  let writes: number[];
  let queue: EventQueue;
  let send: () => Promise<unknown>;

  beforeAll(async () => {
    const metric = await makeMetric(app, { aggregation_type: "count", field_name: null });
    const plan = await makePlan(app);
    const subscription = await makeSubscription(app, { plan_id: plan.id });
    let sent = 0;
    send = () => {
      const transaction_id = `slow-${sent++}`;
      const named = { subscription_id: subscription.id, code: metric.code, properties: {} };
      return queue.push(settings, { transaction_id, ...named }, app.context.clock.now());
    };
    queue = queueOn(app.context.db, ONE_NODE, memory);
    await send();
  });
  beforeEach(() => {
    writes = [];
    queue = queueOn(slow(), fakePlacement(2), memory);
  });

  function slow(): Db {
    const { db } = app.context;
    const slowed: Db = {
      many: (query) => db.many(query),
      maybeOne: (query) => db.maybeOne(query),
      one: (query) => db.one(query),
      run: (query) => db.run(query),
      tx: (work) => db.tx(work),
      snapshot: (work) => db.snapshot(work),
      async alone<T>(query: Sql) {
        // How many events there are is the only number among the values.
        writes.push(query.values.find((value) => typeof value === "number") ?? 0);
        await delay(TOOK_MS);
        return db.alone<T>(query);
      },
      forProject: () => slowed,
      forEveryNode: () => slowed,
    };
    return slowed;
  }

  /** With a moment between an answer and the next event, as over a network. */
  async function times(count: number): Promise<void> {
    for (let n = 0; n < count; n++) {
      await send();
      await delay(1);
    }
  }

  /** Four callers while four others are written. */
  async function inTwoHalves(): Promise<void> {
    const four = () => Array.from({ length: 4 }, () => times(10));
    const first = four();
    await expect.poll(() => writes, { interval: 1 }).toEqual([4]);
    await Promise.all([...first, ...four()]);
    expect(writes.reduce((sum, count) => sum + count)).toBe(80);
  }

  test("on a cluster who was answered is in the next batch with those who waited", async () => {
    await inTwoHalves();
    expect(writes.filter((count) => count === 8).length).toBeGreaterThan(2);
  });

  test("on one PostgreSQL those who waited are written while the others send", async () => {
    queue = queueOn(slow(), ONE_NODE, memory);
    await inTwoHalves();
    expect(Math.max(...writes)).toBeLessThan(8);
  });

  test("who sends alone waits for nobody", async () => {
    await times(3);
    const next = send();
    for (let n = 0; n < 3; n++) await turn();
    expect(writes).toEqual([1, 1, 1, 1]);
    await next;
  });

  test("callers who do not come back are not waited for", async () => {
    await Promise.all([send(), send(), send()]);
    expect(await timed(send())).toBeLessThan(ANSWERED_MS / 2);
    expect(writes).toEqual([3, 1]);
  });
});
