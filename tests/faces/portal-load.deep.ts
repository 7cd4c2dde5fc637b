// Strangers refreshing one customer's view as fast as they can must not slow down everybody else.

import type { AddressInfo } from "node:net";
import { Agent, request } from "undici";
import { afterAll, beforeAll, expect, test } from "vitest";
import { monotonicMs } from "../../src/clock.ts";
import { openDoor } from "../../src/main.ts";
import { type App, startApp } from "../support/app.ts";
import { type Sandbox, sandbox } from "../support/given.ts";
import { Watched } from "./watched.ts";

const READS = 1_000;
const STRANGERS = 200;
/** What the scheduler of a small machine adds to any single reading. */
const NOISE_MS = 15;

let app: App;
let door: ReturnType<typeof openDoor>;
let watched: Watched;
let base: string;
let project: Sandbox;
const dispatcher = new Agent({ connections: 64 });

beforeAll(async () => {
  app = await startApp();
  project = await sandbox(app, "2025-01-10");
  watched = new Watched(app.context.db);
  const readiness = { draining: false, schema_version: 0, warnings: [] };
  door = openDoor({ ...app.context, db: watched.db }, readiness, "all");
  await door.app.listen({ port: 0, host: "127.0.0.1" });
  base = `http://127.0.0.1:${(door.app.server.address() as AddressInfo).port}`;
});
afterAll(async () => {
  await dispatcher.close();
  await door.app.close();
  await app.close();
});

/** The 99th percentile of reading a customer, one read after the other. */
async function readingP99(id: string): Promise<number> {
  const headers = {
    authorization: `Bearer ${app.profile.token}`,
    "x-project-id": project.project_id,
  };
  const took: number[] = [];
  for (let i = 0; i < READS; i++) {
    const start = monotonicMs();
    const { body } = await request(`${base}/v1/customers/${id}`, { headers, dispatcher });
    await body.dump();
    took.push(monotonicMs() - start);
  }
  return took.sort((a, b) => a - b)[Math.floor(READS * 0.99)] ?? 0;
}

test("two hundred concurrent refreshes compute twice a second, and readers keep their pace", async () => {
  const { id } = await project.customer();
  await readingP99(id);
  const calm = await readingP99(id);
  const before = watched.computed;
  const start = monotonicMs();
  const storm = Promise.all(
    Array.from({ length: STRANGERS }, async () => {
      const { statusCode, body } = await request(`${base}/v1/portal/${id}?refresh=1`, {
        dispatcher,
      });
      await body.dump();
      return statusCode;
    }),
  );
  const stormy = await readingP99(id);
  const statuses = await storm;
  const seconds = (monotonicMs() - start) / 1_000;
  expect(statuses.every((status) => status === 200 || status === 429)).toBe(true);
  expect(watched.computed - before).toBeLessThanOrEqual(2 + 2 * seconds);
  expect(stormy).toBeLessThan(calm * 1.5 + NOISE_MS);
});
