// Two workers side by side and nobody dies: each message arrives once.

import { expect } from "vitest";
import { sql } from "../../src/store/db/sql.ts";
import { startWorkers } from "../../src/workers/start.ts";
import { startApp } from "../support/app.ts";
import { emitPayments, register } from "../support/courier.ts";
import { until } from "../support/processes.ts";
import { Receiver } from "../support/receiver.ts";

const BATCH = 20;
const WORKERS = 2;
const DONE_MS = 120_000;

export async function steadyRun(messages: number): Promise<void> {
  const app = await startApp();
  const receiver = await Receiver.start();
  const paths = ["/a", "/b"];
  for (const path of paths) await register(app, receiver.url(path));
  const workers = Array.from({ length: WORKERS }, () => startWorkers(app.context, app.connection));
  for (let emitted = 0; emitted < messages; emitted += BATCH)
    await emitPayments(app, emitted, BATCH);
  await receiver.until(messages * paths.length, DONE_MS);
  await until(async () => {
    const left = await app.context.db.one<{ count: number }>(sql`
      select count(*) from webhook_queue`);
    return left.count === 0;
  });
  for (const { stop } of workers) await stop();
  expect(receiver.received).toHaveLength(messages * paths.length);
  for (const path of paths) {
    const got = receiver.received.filter((one) => one.path === path);
    expect(new Set(got.map(({ headers }) => headers["webhook-id"])).size).toBe(messages);
  }
  await receiver.close();
  await app.close();
}
