// How a running service is asked what its jobs did: by whatever answers at its address, or nobody.

import { createServer, type RequestListener, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, expect, test } from "vitest";
import { askService } from "../../src/doctor/ask-service.ts";

let server: Server | undefined;
afterEach(() => {
  server?.closeAllConnections();
  server?.close();
  server = undefined;
});

async function answering(listener: RequestListener): Promise<string> {
  const made = createServer(listener);
  server = made;
  await new Promise<void>((resolve) => made.listen(0, "127.0.0.1", resolve));
  return `http://127.0.0.1:${(made.address() as AddressInfo).port}`;
}

const saying = (status: number, body: string) =>
  answering(({ url }, response) => {
    response.statusCode = url === "/readyz" ? status : 404;
    response.end(body);
  });

const run = { name: "billing", description: "Periods closed.", pause_ms: 1_000, failures: 0 };

test("its jobs are told with the instants at which they ran", async () => {
  const ran = { ...run, last_run_at: "2026-03-01T00:00:00.000Z", took_ms: 3, done: 1 };
  const never = { ...run, last_run_at: null, took_ms: null, done: null };
  const address = await saying(200, JSON.stringify({ status: "ok", jobs: [ran, never] }));
  expect(await askService(address)).toEqual({
    address,
    jobs: [{ ...ran, last_run_at: new Date(ran.last_run_at) }, never],
  });
});

test.each([
  [503, '{"error":{"message":"The process is starting."}}', "The process is starting."],
  [200, '{"status":"ok"}', "what answers there tells of no jobs"],
  [200, "<html>", "what answers there is no service of dues"],
])("an answer %d %s has no jobs, and says why", async (status, body, why) => {
  const address = await saying(status, body);
  expect(await askService(address)).toEqual({ address, why });
});

test("nobody answers: the reason is told", async () => {
  const address = await saying(200, "{}");
  server?.close();
  expect(await askService(address)).toEqual({
    address,
    why: expect.stringContaining("ECONNREFUSED"),
  });
});

test("whoever says nothing is not waited for", { timeout: 30_000 }, async () => {
  const address = await answering(() => {});
  expect(await askService(address)).toEqual({ address, why: expect.stringContaining("timeout") });
});

test("without a known port nobody is asked", async () => {
  expect(await askService(undefined)).toMatchObject({ address: undefined });
});
