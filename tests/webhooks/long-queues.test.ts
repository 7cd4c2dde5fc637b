// Endpoints with long queues are switched, replayed to and removed at once; what follows is done in
// pieces by a job, which shows how far it is.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { idFloor } from "../../src/ids.ts";
import type { Tx } from "../../src/store/db/db.ts";
import { type Sql, sql } from "../../src/store/db/sql.ts";
import { listDueProjects } from "../../src/store/feeds/claims.ts";
import { PIECE_MAX } from "../../src/store/feeds/job-pieces.ts";
import { COUNTED_MAX } from "../../src/store/feeds/jobs.ts";
import { webhookSweepJob } from "../../src/workers/sweep.ts";
import { webhookJobsJob } from "../../src/workers/webhook-jobs.ts";
import { type App, type Json, startApp } from "../support/app.ts";
import { Courier, emitPayments, register } from "../support/courier.ts";
import { onClient } from "../support/database.ts";
import { Receiver } from "../support/receiver.ts";

/** A few pieces and some. */
const MANY = 3 * PIECE_MAX + 7;
const LONG_AGO = "2020-01-01T00:00:00Z";

let app: App;
let receiver: Receiver;
let courier: Courier;
let endpoint: Json;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());
beforeEach(async () => {
  receiver = await Receiver.start();
  courier = new Courier(app);
  endpoint = await register(app, receiver.url("/long"));
});
afterEach(async () => {
  await courier.close();
  await receiver.close();
  await app.call("DELETE", `/v1/webhooks/${endpoint.id}`);
  await runJobs();
});

const rows = (query: Sql) => app.context.db.many<Json>(query);
const path = () => `/v1/webhooks/${endpoint.id}`;
const patch = (change: object) => app.patch(path(), change);
const jobs = async () => (await app.get(path())).webhook_endpoint.jobs;
const queued = async (condition = sql`true`): Promise<number> =>
  (
    await rows(sql`
      select count(*) as count
        from webhook_queue
       where endpoint_id = ${endpoint.id} and ${condition}`)
  )[0].count;
const DUE = sql`due_at <= statement_timestamp()`;

/** How many pieces there were. */
async function runJobs(): Promise<number> {
  const job = webhookJobsJob(app.context);
  let pieces = 0;
  while ((await job.tick()).more) pieces += 1;
  return pieces;
}

/** Messages that all failed once and wait for their retry. */
async function manyThatWait(): Promise<void> {
  await emitPayments(app, 1, MANY);
  await rows(sql`
    insert into webhook_attempts (project_id, id, endpoint_id, message_id, event, attempt,
                                  status, duration_ms, created_at, next_retry_at)
    select project_id, gen_random_uuid(), endpoint_id, message_id, 'payment.succeeded', 1,
           'failed', 1, statement_timestamp(), statement_timestamp()
      from webhook_queue
     where endpoint_id = ${endpoint.id}`);
  await rows(sql`
    update webhook_queue
       set attempt = 1, tries = 1, due_at = statement_timestamp() + interval '12 hours'
     where endpoint_id = ${endpoint.id}`);
}

const inAnHour = () => new Date(app.context.clock.now().getTime() + 3_600_000);

/** Adds messages about payments, for no endpoint; one may have an id of its own. */
async function addMessages(count: number, at: string, id: string | null = null): Promise<Json[]> {
  const [head] = await rows(sql`
    update log_heads
       set last = last + ${count}
     where project_id = ${app.profile.project_id}
    returning last`);
  return rows(sql`
    insert into webhook_messages (project_id, position, id, event, body, created_at)
    select a.project_id, ${Number(head?.last) - count}::bigint + n,
           coalesce(${id}::uuid, gen_random_uuid()), 'payment.succeeded', '{}', ${new Date(at)}
      from project_anchors a
     cross join generate_series(1, ${count}::integer) as n
     where a.project_id = ${app.profile.project_id}
    returning id`);
}

describe("a long queue", () => {
  test("is off with the flag alone, and due in pieces once it is on again", async () => {
    await manyThatWait();
    const before = await rows(sql`
      select xmin::text as version from webhook_queue where endpoint_id = ${endpoint.id} limit 1`);
    await patch({ enabled: false });
    const after = await rows(sql`
      select xmin::text as version from webhook_queue where endpoint_id = ${endpoint.id} limit 1`);
    expect(after).toEqual(before);
    const { webhook_deliveries } = await app.get(
      `/v1/webhook-deliveries?endpoint_id=${endpoint.id}`,
    );
    expect(webhook_deliveries[0].next_retry_at).toBeNull();

    const on = await patch({ enabled: true });
    expect(on.webhook_endpoint.jobs).toMatchObject([{ kind: "resume", done: 0, since: null }]);
    expect(await queued(DUE)).toBe(0);
    await webhookJobsJob(app.context).tick();
    expect(await queued(DUE)).toBe(PIECE_MAX);
    expect(await jobs()).toMatchObject([{ kind: "resume", done: PIECE_MAX, total: null }]);
    await runJobs();
    expect(await queued(DUE)).toBe(MANY);
    expect(await jobs()).toEqual([]);
  });

  test("that is switched off while it is taken up again stays where it is", async () => {
    await manyThatWait();
    await patch({ enabled: false });
    await patch({ enabled: true });
    await webhookJobsJob(app.context).tick();
    await patch({ enabled: false });
    expect(await runJobs()).toBe(0);
    expect(await queued(DUE)).toBe(PIECE_MAX);
    expect(await listDueProjects(app.context.db)).toEqual([]);
  });

  test("is replayed in pieces, of what there was when it was asked for", async () => {
    await emitPayments(app, 1, MANY);
    await rows(sql`delete from webhook_queue where endpoint_id = ${endpoint.id}`);
    const since = { since: LONG_AGO };
    const { queued: count } = await app.post(`${path()}/replay`, since);
    expect(count).toBeGreaterThanOrEqual(MANY);
    expect(await queued()).toBe(PIECE_MAX);
    expect(await jobs()).toMatchObject([
      { kind: "replay", since: "2020-01-01T00:00:00.000Z", done: PIECE_MAX, total: count },
    ]);
    // Asked again it goes on; and what comes meanwhile is queued once, by itself.
    expect(await app.post(`${path()}/replay`, since)).toEqual({ queued: count });
    await emitPayments(app, MANY + 1, 2);
    await rows(sql`
      delete from webhook_queue
       where message_id in (select id from webhook_messages order by position desc limit 2)`);
    await runJobs();
    expect(await queued()).toBe(count);
    expect(await jobs()).toEqual([]);
  });

  test("is replayed up to the moment when that was last asked for", async () => {
    await emitPayments(app, 1, MANY);
    await app.post(`${path()}/replay`, { since: LONG_AGO });
    await emitPayments(app, MANY + 1, 2);
    await rows(sql`delete from webhook_queue where endpoint_id = ${endpoint.id}`);
    const { queued: count } = await app.post(`${path()}/replay`, { since: LONG_AGO });
    expect(await jobs()).toMatchObject([{ done: PIECE_MAX, total: null }]);
    await runJobs();
    expect(await queued()).toBe(count - PIECE_MAX);
  });

  test("is replayed with all that the endpoint is subscribed to by then", async () => {
    await emitPayments(app, 1, MANY);
    await rows(sql`delete from webhook_queue where endpoint_id = ${endpoint.id}`);
    await patch({ events: ["addon.applied"] });
    await app.post(`${path()}/replay`, { since: LONG_AGO });
    await patch({ events: ["addon.applied", "payment.succeeded"] });
    const { queued: count } = await app.post(`${path()}/replay`, { since: LONG_AGO });
    expect(count).toBeGreaterThanOrEqual(MANY);
    await runJobs();
    expect(await queued()).toBe(count);
  });

  test("is not counted where too many messages lie between those that are wanted", async () => {
    await addMessages(COUNTED_MAX + 1, "2019-01-01T00:00:00Z");
    await patch({ events: ["addon.applied"] });
    const since = { since: "2018-01-01T00:00:00Z" };
    expect(await app.post(`${path()}/replay`, since)).toEqual({ queued: 0 });
    expect(await jobs()).toMatchObject([{ kind: "replay", total: null }]);
  }, 60_000);

  test("is due to its end when a message's id is of a clock that is ahead", async () => {
    await manyThatWait();
    const [{ id }] = await addMessages(1, "2026-01-01T00:00:00Z", idFloor(inAnHour()));
    await rows(sql`
      insert into webhook_queue (project_id, endpoint_id, message_id, due_at)
      select project_id, ${endpoint.id}, id, statement_timestamp() + interval '12 hours'
        from webhook_messages
       where id = ${id}`);
    await patch({ enabled: false });
    await patch({ enabled: true });
    await runJobs();
    expect(await queued(DUE)).toBe(MANY + 1);
  });

  test("is dropped in pieces when its endpoint is removed", async () => {
    await emitPayments(app, 1, MANY);
    await app.ok("DELETE", path());
    expect(await queued()).toBe(MANY);
    expect(await runJobs()).toBe(5);
    expect(await queued()).toBe(0);
  });

  test("no piece waits for a lock that somebody holds", async () => {
    await manyThatWait();
    await patch({ enabled: false });
    await patch({ enabled: true });
    await app.context.db.tx(async (tx: Tx) => {
      await tx.many(sql`select 1 from webhook_jobs for update`);
      expect(await webhookJobsJob(app.context).tick()).toMatchObject({ done: 0 });
    });
  });
});

describe("410 Gone", () => {
  test("leaves what it answered to wait with the others until the endpoint is on again", async () => {
    receiver.answer = { status: 410 };
    await emitPayments(app, 1, 2);
    await courier.deliver();
    expect((await app.get(path())).webhook_endpoint.enabled).toBe(0);
    receiver.answer = { status: 200 };
    await patch({ enabled: true });
    expect(await courier.deliver()).toBe(2);
    const url = `/v1/webhook-deliveries?endpoint_id=${endpoint.id}&status=delivered`;
    expect((await app.get(url)).webhook_deliveries).toHaveLength(2);
  });

  test("is written to the log of attempts also when the endpoint cannot be switched off", async () => {
    receiver.answer = { status: 410 };
    await emitPayments(app, 1, 1);
    await onClient(app.connection, async (client) => {
      await client.query("begin");
      await client.query("select 1 from webhook_endpoints where id = $1 for update", [endpoint.id]);
      await courier.deliver();
      await client.query("rollback");
    });
    const { webhook_deliveries } = await app.get(
      `/v1/webhook-deliveries?endpoint_id=${endpoint.id}`,
    );
    expect(webhook_deliveries).toMatchObject([{ error: "http_410", attempt: 1 }]);
    expect(await queued(sql`claim is null`)).toBe(1);
  });
});

describe("an endpoint that is removed", () => {
  test("while a request is under way has its attempt on record", async () => {
    receiver.holding = true;
    await emitPayments(app, 1, 1);
    const sending = courier.deliver();
    await receiver.until(1);
    await app.ok("DELETE", path());
    await runJobs();
    receiver.release();
    await sending;
    const { webhook_deliveries } = await app.get(
      `/v1/webhook-deliveries?endpoint_id=${endpoint.id}`,
    );
    expect(webhook_deliveries).toMatchObject([{ status: "delivered", next_retry_at: null }]);
    await runJobs();
    expect(await queued()).toBe(0);
  });

  test("holds up no other while a request to it is under way", async () => {
    receiver.holding = true;
    await emitPayments(app, 1, 1);
    const sending = courier.deliver();
    await receiver.until(1);
    const other = await register(app, receiver.url("/other"));
    const since = app.context.clock.now();
    await emitPayments(app, 2, MANY);
    await rows(sql`delete from webhook_queue where endpoint_id = ${other.id}`);
    await app.ok("DELETE", path());
    const again = `/v1/webhooks/${other.id}/replay`;
    const { queued: count } = await app.post(again, { since });
    await runJobs();
    const [waiting] = await rows(sql`
      select count(*) as count from webhook_queue where endpoint_id = ${other.id}`);
    expect(waiting?.count).toBe(count);
    await app.ok("DELETE", `/v1/webhooks/${other.id}`);
    receiver.release();
    await sending;
  });

  test("keeps nothing that was committed after its queue was dropped", async () => {
    await emitPayments(app, 1, 1);
    const [row] = await rows(sql`select * from webhook_queue where endpoint_id = ${endpoint.id}`);
    await app.ok("DELETE", path());
    await runJobs();
    await rows(sql`
      insert into webhook_queue (project_id, endpoint_id, message_id)
      values (${row.project_id}, ${row.endpoint_id}, ${row.message_id})`);
    await webhookSweepJob(app.context).tick();
    expect(await queued()).toBe(0);
  });
});
