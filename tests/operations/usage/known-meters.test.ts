// Recording remembers subscriptions and metrics between batches. Whatever changes in between must
// count for the very next event, whichever process changed it.

import { afterAll, expect, test, vi } from "vitest";
import type { ProjectId } from "../../../src/ids.ts";
import { sql } from "../../../src/store/db/sql.ts";
import * as usageLocks from "../../../src/store/usage/locks.ts";
import type { Json } from "../../support/app.ts";
import { startApp } from "../../support/app.ts";
import { countOnNodes } from "../../support/database.ts";
import { perUnit, type Sandbox, sandbox } from "../../support/given.ts";

const app = await startApp();
afterAll(() => app.close());

const WAITING = sql`
  select count(*)
    from pg_locks
   where locktype = 'advisory' and not granted
     and database = (select oid from pg_database where datname = current_database())`;

let sent = 0;

/** An event of "calls" for "acme", named as callers name them. */
function send(story: Sandbox, value: string) {
  sent += 1;
  const event = { transaction_id: `t${sent}`, subscription_id: "ext:acme", code: "calls", value };
  return story.call("POST", "/v1/events", event);
}

/** Two events were recorded, so that all they named is remembered. */
async function remembered(charged: boolean) {
  const story = await sandbox(app, "2026-03-10");
  const metric = await story.metric("sum", { code: "calls" });
  const plan = await story.plan({ charges: charged ? [perUnit(metric, "1")] : [] });
  const subscription = await story.subscribe({ plan, external_id: "acme" });
  for (const value of ["1", "2"]) expect((await send(story, value)).status).toBe(200);
  return { story, metric, plan, subscription };
}

async function units(story: Sandbox, subscription: Json): Promise<string> {
  return (await story.runningUsage(subscription)).charges[0].units;
}

test("the first event of a subscription is three reads and one write, and no transaction", async () => {
  const story = await sandbox(app, "2026-03-10");
  await story.metric("sum", { code: "calls" });
  await story.subscribe({ plan: await story.plan(), external_id: "acme" });
  const begun = vi.spyOn(app.context.db, "tx");
  expect((await send(story, "1")).body).toEqual({ accepted: true, duplicate: false });
  expect(begun).not.toHaveBeenCalled();
  begun.mockRestore();
});

test("an ended subscription takes no more usage; its successor of the same name does", async () => {
  const { story, plan, subscription } = await remembered(true);
  await story.terminate(subscription);
  expect((await send(story, "5")).body.warning).toBe("after_termination");
  const next = await story.subscribe({ plan, external_id: "acme" });
  expect((await send(story, "7")).body).toEqual({ accepted: true, duplicate: false });
  expect(await units(story, next)).toBe("7");
});

test("an event after the end of a period counts in the new one", async () => {
  const { story, subscription } = await remembered(true);
  expect(await units(story, subscription)).toBe("3");
  await story.travelTo("2026-04-12");
  await send(story, "5");
  expect(await units(story, subscription)).toBe("5");
});

test("an archived metric is refused", async () => {
  const { story, metric } = await remembered(false);
  await story.call("DELETE", `/v1/metrics/${metric.id}`);
  expect((await send(story, "4")).status).toBe(404);
});

test("a change of the metric that others made is seen, and a renamed one goes on", async () => {
  const { story, metric, subscription } = await remembered(true);
  await story.patch(`/v1/metrics/${metric.id}`, { name: "Renamed" });
  expect((await send(story, "4")).body).toEqual({ accepted: true, duplicate: false });
  expect(await units(story, subscription)).toBe("7");
});

test("what changes while the write waits for a lock is seen", async () => {
  const { story, metric } = await remembered(false);
  const { db } = app.context;
  const sending = await db.tx(async (tx) => {
    const project = story.project_id as ProjectId;
    await usageLocks.lockUsage(tx, project, [usageLocks.CUTOFF_LOCK], "alone");
    const sent = send(story, "4");
    const waiting = () => countOnNodes(app.connection, WAITING);
    await expect.poll(waiting, { timeout: 10_000 }).toBe(1);
    await story.call("DELETE", `/v1/metrics/${metric.id}`);
    return { sent };
  });
  expect((await sending.sent).status).toBe(404);
});
