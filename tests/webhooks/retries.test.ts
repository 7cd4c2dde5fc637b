// What happens after an attempt: the schedule of retries, the wishes of the receiver, pauses, and
// sending again on request. Time passes by moving due_at back.

import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { type Sql, sql } from "../../src/store/db/sql.ts";
import { listDueProjects } from "../../src/store/feeds/claims.ts";
import { type App, type Json, startApp } from "../support/app.ts";
import { Courier, emitPayments, register } from "../support/courier.ts";
import { Receiver } from "../support/receiver.ts";

const MINUTE_MS = 60_000;
/** Doubling from 5 minutes, 12 hours at most. */
const WAITS_MIN = [5, 10, 20, 40, 80, 160, 320, 640, 720, 720, 720, 720];

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
  endpoint = await register(app, receiver.url());
});
afterEach(async () => {
  await app.ok("DELETE", `/v1/webhooks/${endpoint.id}`);
  await courier.close();
  await receiver.close();
});

const rows = (query: Sql) => app.context.db.many<Json>(query);
const queue = () => rows(sql`select * from webhook_queue where endpoint_id = ${endpoint.id}`);
const timePasses = () =>
  rows(sql`
    update webhook_queue
       set due_at = statement_timestamp()
     where endpoint_id = ${endpoint.id}`);

/** The attempts for the endpoint, oldest first. */
async function attempts(query = ""): Promise<Json[]> {
  const url = `/v1/webhook-deliveries?endpoint_id=${endpoint.id}&limit=100${query}`;
  return (await app.get(url)).webhook_deliveries.reverse();
}

const waitOf = ({ created_at, duration_ms, next_retry_at }: Json) =>
  Date.parse(next_retry_at) - Date.parse(created_at) - duration_ms;

describe("a receiver that answers 500", () => {
  test("is tried 12 times more, at growing distances, and then given up", async () => {
    receiver.answer = { status: 500, body: "out of order" };
    await emitPayments(app, 1, 1);
    for (let i = 0; i <= WAITS_MIN.length; i++) {
      expect(await courier.deliver()).toBe(1);
      await timePasses();
    }
    expect(await courier.deliver()).toBe(0);
    expect(await queue()).toEqual([]);

    const log = await attempts();
    expect(log.map(({ attempt }) => attempt)).toEqual(Array.from({ length: 13 }, (_, i) => i + 1));
    for (const [i, minutes] of WAITS_MIN.entries()) {
      const wait = waitOf(log[i]);
      expect(wait).toBeGreaterThanOrEqual(minutes * MINUTE_MS * 0.9 - 50);
      expect(wait).toBeLessThanOrEqual(minutes * MINUTE_MS * 1.1 + 50);
    }
    expect(log.at(-1)).toMatchObject({
      status: "failed",
      http_status: 500,
      error: "http_500",
      reason: "The receiver answered with status 500.",
      response_excerpt: "out of order",
      next_retry_at: null,
      event: "payment.succeeded",
      payload: { event: "payment.succeeded", data: { no: 1 } },
    });
    expect(new Set(receiver.received.map(({ raw }) => raw.toString())).size).toBe(1);
    expect(new Set(receiver.ids()).size).toBe(1);
    const { billing_events } = await app.get("/v1/billing-events?event_type=webhook.exhausted");
    expect(billing_events[0]).toMatchObject({
      resource_id: log[0].message_id,
      payload: { endpoint_id: endpoint.id, attempts: 13, error: "http_500" },
    });
  });

  test("waits are spread, so that a crowd does not come back together", async () => {
    receiver.answer = { status: 503 };
    await emitPayments(app, 1, 20);
    await courier.deliver();
    const waits = (await attempts()).map(waitOf);
    expect(Math.max(...waits) - Math.min(...waits)).toBeGreaterThan(10_000);
  });

  test("is delivered to once it answers 200", async () => {
    receiver.answer = { status: 500 };
    await emitPayments(app, 1, 1);
    await courier.deliver();
    receiver.answer = { status: 204 };
    await timePasses();
    await courier.deliver();
    const [first, second] = await attempts();
    expect(first).toMatchObject({ attempt: 1, status: "failed" });
    expect(second).toMatchObject({
      attempt: 2,
      status: "delivered",
      http_status: 204,
      error: null,
      reason: null,
      next_retry_at: null,
    });
    expect(await queue()).toEqual([]);
  });
});

describe("Retry-After", () => {
  test.each([
    { header: "7200", waits_min: 120 },
    { header: new Date(Date.now() + 3 * 3_600_000).toUTCString(), waits_min: 180 },
    { header: "9999999", waits_min: 24 * 60 },
    { header: "1", waits_min: 5 },
    { header: "soon", waits_min: 5 },
  ])(
    "of $header is honoured when it is longer than the schedule, for a day at most",
    async ({ header, waits_min }) => {
      receiver.answer = { status: 429, headers: { "retry-after": header } };
      await emitPayments(app, 1, 1);
      await courier.deliver();
      const [attempt] = await attempts();
      const minutes = waitOf(attempt) / MINUTE_MS;
      expect(minutes).toBeGreaterThanOrEqual(waits_min * 0.9 - 0.2);
      expect(minutes).toBeLessThanOrEqual(waits_min * 1.1 + 0.2);
    },
  );
});

describe("410 Gone", () => {
  test("disables the endpoint, with a reason, and nothing more is sent", async () => {
    receiver.answer = { status: 410 };
    await emitPayments(app, 1, 3);
    await courier.deliver();
    const { webhook_endpoint } = await app.get(`/v1/webhooks/${endpoint.id}`);
    expect(webhook_endpoint).toMatchObject({
      enabled: 0,
      disabled_reason: "The receiver answered 410 Gone.",
    });
    for (const attempt of await attempts()) {
      expect(attempt).toMatchObject({ error: "http_410", next_retry_at: null });
    }
    await emitPayments(app, 4, 1);
    await timePasses();
    expect(await courier.deliver()).toBe(0);
    const log = await app.get("/v1/billing-events?event_type=webhook_endpoint.disabled");
    expect(log.billing_events[0]).toMatchObject({
      resource_id: endpoint.id,
      actor_token_id: null,
    });
  });
});

describe("an endpoint that is switched off", () => {
  const patch = (change: object) => app.patch(`/v1/webhooks/${endpoint.id}`, change);

  test("keeps what waits for it, and gets it when it is on again", async () => {
    receiver.answer = { status: 500 };
    await emitPayments(app, 1, 2);
    await courier.deliver();
    const off = await patch({ enabled: false });
    expect(off.webhook_endpoint).toMatchObject({ enabled: 0 });
    expect(off.webhook_endpoint.disabled_reason).toBe("Disabled by a request.");
    for (const attempt of await attempts()) expect(attempt.next_retry_at).toBeNull();
    await emitPayments(app, 3, 1);
    await timePasses();
    expect(await courier.deliver()).toBe(0);

    receiver.answer = { status: 200 };
    await patch({ enabled: 1 });
    for (const attempt of await attempts()) expect(attempt.next_retry_at).not.toBeNull();
    expect(await courier.deliver()).toBe(2);
    const delivered = await attempts("&status=delivered");
    expect(delivered.map(({ payload }) => payload.data.no).toSorted()).toEqual([1, 2]);
    expect(delivered.map(({ attempt }) => attempt)).toEqual([2, 2]);
  });

  test("while a request is under way still gets its result recorded, and no second one", async () => {
    receiver.holding = true;
    await emitPayments(app, 1, 1);
    const sending = courier.deliver();
    await receiver.until(1);
    await patch({ enabled: false });
    receiver.answer = { status: 500 };
    receiver.release();
    await sending;
    const [attempt] = await attempts();
    expect(attempt).toMatchObject({ status: "failed", next_retry_at: null });
    expect((await queue())[0]).toMatchObject({ claim: null, attempt: 1 });
    expect(await courier.deliver()).toBe(0);
    receiver.answer = { status: 200 };
    await patch({ enabled: true });
    expect(await courier.deliver()).toBe(1);
  });

  test("takes no test message, no replay and no second delivery", async () => {
    await emitPayments(app, 1, 1);
    await courier.deliver();
    const [attempt] = await attempts();
    await patch({ enabled: false });
    const since = { since: "2020-01-01T00:00:00Z" };
    for (const [url, body] of [
      [`/v1/webhooks/${endpoint.id}/test`, undefined],
      [`/v1/webhooks/${endpoint.id}/replay`, since],
      [`/v1/webhook-deliveries/${attempt.id}/redeliver`, undefined],
    ] as const) {
      const refused = await app.call("POST", url, body);
      expect([refused.status, refused.body.error.details[0].field]).toEqual([422, "enabled"]);
    }
  });

  test("is not asked about over and over because of a row that slipped in", async () => {
    await patch({ enabled: false });
    await emitPayments(app, 1, 1);
    const [message] = await rows(sql`
      select id, project_id from webhook_messages order by id desc limit 1`);
    await rows(sql`
      insert into webhook_queue (project_id, endpoint_id, message_id, due_at)
      values (${message.project_id}, ${endpoint.id}, ${message.id}, statement_timestamp())`);
    expect(await courier.deliver()).toBe(0);
    expect(await queue()).toHaveLength(1);
    expect(await listDueProjects(app.context.db)).toEqual([]);
  });
});

describe("sending again", () => {
  test("a delivered message goes out under its id, and counts on", async () => {
    await emitPayments(app, 1, 1);
    await courier.deliver();
    const [first] = await attempts();
    expect(await app.post(`/v1/webhook-deliveries/${first.id}/redeliver`)).toEqual({ queued: 1 });
    expect(await courier.deliver()).toBe(1);
    const log = await attempts();
    expect(log.map(({ attempt, status }) => [attempt, status])).toEqual([
      [1, "delivered"],
      [2, "delivered"],
    ]);
    const [one, two] = receiver.received;
    expect(two?.raw.equals(one?.raw ?? Buffer.of())).toBe(true);
    expect(new Set(receiver.ids()).size).toBe(1);
  });

  test("a waiting message goes out at once, and its retries begin anew", async () => {
    receiver.answer = { status: 500 };
    await emitPayments(app, 1, 1);
    await courier.deliver();
    await timePasses();
    await courier.deliver();
    const [, second] = await attempts();
    await app.post(`/v1/webhook-deliveries/${second.id}/redeliver`);
    const [, retimed] = await attempts();
    expect(Date.parse(retimed.next_retry_at)).toBeLessThan(Date.parse(second.next_retry_at));
    await courier.deliver();
    const [, , third] = await attempts();
    expect(third.attempt).toBe(3);
    expect(waitOf(third) / MINUTE_MS).toBeLessThan(5.6);
  });

  test("of a message under way does not send it twice", async () => {
    receiver.answer = { status: 500 };
    await emitPayments(app, 1, 1);
    await courier.deliver();
    const [first] = await attempts();
    await timePasses();
    receiver.holding = true;
    const sending = courier.deliver();
    await receiver.until(2);
    await app.post(`/v1/webhook-deliveries/${first.id}/redeliver`);
    const other = new Courier(app);
    expect(await other.deliver()).toBe(0);
    await other.close();
    receiver.answer = { status: 200 };
    receiver.release();
    await sending;
    expect(await courier.deliver()).toBe(0);
    expect(receiver.received).toHaveLength(2);
  });

  test("replays everything since an instant that the endpoint is subscribed to", async () => {
    await emitPayments(app, 1, 2);
    await courier.deliver();
    const before = receiver.received.length;
    const [boundary] = await rows(sql`
      update webhook_messages
         set created_at = (created_at at time zone 'UTC' + interval '1 hour') at time zone 'UTC'
       where id = (select max(message_id::text)::uuid from webhook_attempts
                    where endpoint_id = ${endpoint.id})
      returning created_at`);
    const since = boundary.created_at.toISOString();
    const url = `/v1/webhooks/${endpoint.id}/replay`;
    expect(await app.post(url, { since })).toEqual({ queued: 1 });
    expect(await courier.deliver()).toBe(1);
    expect(receiver.received).toHaveLength(before + 1);
    await app.patch(`/v1/webhooks/${endpoint.id}`, { events: ["invoice.created"] });
    expect(await app.post(url, { since: "2020-01-01T00:00:00Z" })).toEqual({ queued: 0 });
  });

  test("an unknown delivery, or one of a removed endpoint, is not found", async () => {
    const removed = await register(app, receiver.url("/removed"));
    await emitPayments(app, 1, 1);
    await courier.deliver();
    const { webhook_deliveries } = await app.get(
      `/v1/webhook-deliveries?endpoint_id=${removed.id}`,
    );
    await app.ok("DELETE", `/v1/webhooks/${removed.id}`);
    for (const id of [webhook_deliveries[0].id, crypto.randomUUID(), "x"]) {
      const refused = await app.call("POST", `/v1/webhook-deliveries/${id}/redeliver`);
      expect([refused.status, refused.body.error.code]).toEqual([404, "not_found"]);
    }
  });
});

describe("the log of deliveries", () => {
  test("can be filtered by status and event, and paged without a gap", async () => {
    await app.patch(`/v1/webhooks/${endpoint.id}`, {
      events: ["payment.succeeded", "invoice.created"],
    });
    await emitPayments(app, 1, 7);
    await courier.deliver();
    receiver.answer = { status: 302, headers: { location: receiver.url("/elsewhere") } };
    await app.post(`/v1/webhooks/${endpoint.id}/test`);
    await courier.deliver();
    const failed = await attempts("&status=failed");
    expect(failed).toHaveLength(1);
    expect(failed[0]).toMatchObject({ event: "webhook.test", error: "http_302" });
    expect(receiver.received.map(({ path }) => path)).not.toContain("/elsewhere");
    expect(await attempts("&event=payment.succeeded")).toHaveLength(7);
    expect(await attempts("&event=invoice.created")).toHaveLength(0);

    const seen: string[] = [];
    let cursor: string | null = "";
    while (cursor !== null) {
      const after = cursor === "" ? "" : `&cursor=${cursor}`;
      const url = `/v1/webhook-deliveries?endpoint_id=${endpoint.id}&limit=3${after}`;
      const page = await app.get(url);
      seen.push(...page.webhook_deliveries.map(({ id }: Json) => id));
      cursor = page.cursor;
    }
    expect(seen).toHaveLength(8);
    expect(seen).toEqual((await attempts()).map(({ id }) => id).reverse());
  });

  test("says null for the next retry once the endpoint is removed", async () => {
    const other = await register(app, receiver.url("/other"));
    receiver.answer = { status: 500 };
    await emitPayments(app, 1, 1);
    await courier.deliver();
    await app.ok("DELETE", `/v1/webhooks/${other.id}`);
    const { webhook_deliveries } = await app.get(`/v1/webhook-deliveries?endpoint_id=${other.id}`);
    expect(webhook_deliveries[0]).toMatchObject({ status: "failed", next_retry_at: null });
    expect((await attempts())[0].next_retry_at).not.toBeNull();
  });
});
