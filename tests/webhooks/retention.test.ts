// Old webhooks are forgotten: what is finished goes after 90 days, what is not stays. Time passes
// by having the sweep keep what it finds for as many days less.

import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from "vitest";
import { DAY_MS } from "../../src/domain/dates.ts";
import type { ProjectId } from "../../src/ids.ts";
import { type Sql, sql } from "../../src/store/db/sql.ts";
import { removeFinished } from "../../src/store/feeds/retention.ts";
import { WEBHOOKS_KEPT_DAYS, webhookSweepJob } from "../../src/workers/sweep.ts";
import { type App, type Json, startApp } from "../support/app.ts";
import { Courier, emitPayments, register } from "../support/courier.ts";
import { Receiver } from "../support/receiver.ts";

let app: App;
let receiver: Receiver;
let courier: Courier;
let endpoint: Json;

beforeAll(async () => {
  app = await startApp({ mode: "sandbox" });
});
afterAll(() => app.close());
beforeEach(async () => {
  receiver = await Receiver.start();
  courier = new Courier(app);
  endpoint = await register(app, receiver.url());
});
afterEach(async () => {
  await app.ok("DELETE", `/v1/webhooks/${endpoint.id}`);
  await sweepAfter(100);
  await courier.close();
  await receiver.close();
});

const rows = (query: Sql) => app.context.db.many<Json>(query);
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS);

/** What one piece of the sweep removes when so many days have passed. */
async function sweepAfter(days: number): Promise<number> {
  return (await webhookSweepJob(app.context, WEBHOOKS_KEPT_DAYS - days).tick()).done;
}

/** How many messages and attempts there are. */
async function kept(): Promise<[messages: number, attempts: number]> {
  const [counts] = await rows(sql`
    select (select count(*) from webhook_messages) as messages,
           (select count(*) from webhook_attempts) as attempts`);
  return [counts.messages, counts.attempts];
}

test("what was delivered is there for 90 days and then gone, with its attempts", async () => {
  await emitPayments(app, 1, 3);
  await courier.deliver();
  expect(await sweepAfter(89)).toBe(0);
  expect(await kept()).toEqual([3, 3]);
  expect((await app.get("/v1/webhook-deliveries")).webhook_deliveries).toHaveLength(3);
  expect(await sweepAfter(91)).toBe(3);
  expect(await kept()).toEqual([0, 0]);
  expect((await app.get("/v1/webhook-deliveries")).webhook_deliveries).toEqual([]);
  expect(await sweepAfter(91)).toBe(0);
});

test("what was tried to the end goes as well", async () => {
  receiver.answer = { status: 500 };
  await emitPayments(app, 1, 1);
  await rows(sql`update webhook_queue set tries = 12`);
  await courier.deliver();
  expect(await sweepAfter(91)).toBe(1);
  expect(await kept()).toEqual([0, 0]);
});

test("what waits for its next attempt stays with its attempts, and still arrives", async () => {
  receiver.answer = { status: 500 };
  await emitPayments(app, 1, 1);
  await courier.deliver();
  expect(await sweepAfter(1_000)).toBe(0);
  expect(await kept()).toEqual([1, 1]);
  receiver.answer = { status: 200 };
  await rows(sql`update webhook_queue set due_at = statement_timestamp()`);
  expect(await courier.deliver()).toBe(1);
  expect(receiver.received.map(({ body }) => body.data.no)).toEqual([1, 1]);
});

test("what waits for an endpoint that is switched off stays, whatever else goes", async () => {
  const other = await register(app, receiver.url("/other"));
  receiver.answer = { status: 500 };
  await emitPayments(app, 1, 1);
  await courier.deliver();
  await app.patch(`/v1/webhooks/${endpoint.id}`, { enabled: false });
  receiver.answer = { status: 200 };
  await emitPayments(app, 2, 1);
  await rows(
    sql`update webhook_queue set due_at = statement_timestamp() where due_at < 'infinity'`,
  );
  await courier.deliver();
  // The first is delivered to the other endpoint, and goes on waiting for this one.
  expect(await sweepAfter(1_000)).toBe(1);
  const left = await rows(
    sql`select distinct body::json #>> '{data,no}' as no from webhook_messages`,
  );
  expect(left).toEqual([{ no: "1" }]);
  expect((await kept())[1]).toBe(3);
  await app.ok("DELETE", `/v1/webhooks/${other.id}`);
});

test("what was sent again lately stays", async () => {
  await emitPayments(app, 1, 2);
  await courier.deliver();
  const [{ message_id }] = await rows(sql`select message_id from webhook_attempts limit 1`);
  await rows(sql`
    update webhook_attempts set created_at = ${inDays(50)} where message_id = ${message_id}`);
  expect(await sweepAfter(91)).toBe(1);
  expect(await rows(sql`select id from webhook_messages`)).toEqual([{ id: message_id }]);
  expect(await sweepAfter(141)).toBe(1);
});

test("a sandbox whose clock stands in the past keeps what it was told today", async () => {
  // Told to nobody: no attempt says how old it is.
  await app.patch(`/v1/webhooks/${endpoint.id}`, { events: ["invoice.created"] });
  await emitPayments(app, 1, 1);
  await rows(sql`update webhook_messages set created_at = '2020-01-01T00:00:00Z'`);
  expect(await sweepAfter(89)).toBe(0);
  expect(await kept()).toEqual([1, 0]);
  expect(await sweepAfter(91)).toBe(1);
});

test("goes a piece at a time", async () => {
  await emitPayments(app, 1, 5);
  await courier.deliver();
  const piece = () =>
    app.context.db.tx((tx) =>
      removeFinished(tx, app.profile.project_id as ProjectId, inDays(1), 2),
    );
  const pieces = [await piece(), await piece(), await piece()];
  expect(pieces.map(({ removed, more }) => [removed, more])).toEqual([
    [2, true],
    [2, true],
    [1, false],
  ]);
  expect(await kept()).toEqual([0, 0]);
});

test("passes what has to stay once, and looks at it again when it is time", async () => {
  receiver.answer = { status: 500 };
  await emitPayments(app, 1, 3);
  await courier.deliver();
  const keeping = WEBHOOKS_KEPT_DAYS - 1_000;
  const [never, always] = [DAY_MS, 0].map((ms) => webhookSweepJob(app.context, keeping, ms));
  const swept = async () => [(await never?.tick())?.done, (await always?.tick())?.done];
  expect(await swept()).toEqual([0, 0]);
  await rows(sql`delete from webhook_queue`);
  expect((await never?.tick())?.done).toBe(0);
  expect((await always?.tick())?.done).toBe(3);
});

test("leaves alone, without waiting, what someone is about to send again", async () => {
  await emitPayments(app, 1, 2);
  await courier.deliver();
  const { webhook_deliveries } = await app.get("/v1/webhook-deliveries");
  const [{ id, message_id }] = webhook_deliveries;
  await app.context.db.tx(async (tx) => {
    const locked = await tx.many(sql`
      select 1
        from webhook_messages
       where project_id = ${app.profile.project_id} and id = ${message_id}
         for key share`);
    expect(locked).toHaveLength(1);
    expect(await sweepAfter(91)).toBe(1);
  });
  expect(await rows(sql`select id from webhook_messages`)).toEqual([{ id: message_id }]);
  await app.post(`/v1/webhook-deliveries/${id}/redeliver`);
  expect(await sweepAfter(91)).toBe(0);
  expect(await courier.deliver()).toBe(1);
});
