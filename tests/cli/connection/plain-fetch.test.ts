// The client's calls over node:http: what comes back, and what fails.

import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, expect, test } from "vitest";
import { plainFetch } from "../../../src/cli/connection/plain-fetch.ts";

let server: Server;
let base: string;

beforeAll(async () => {
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (request.url === "/hang") return;
      if (request.url === "/away") return response.writeHead(302, { location: "/" }).end();
      const { method, headers } = request;
      const status = request.url === "/busy" ? 429 : 200;
      response.writeHead(status, { "content-type": "application/json", "retry-after": "7" });
      response.end(JSON.stringify({ method, headers, body: Buffer.concat(chunks).toString() }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => {
  server.closeAllConnections();
  server.close();
});

test("method, headers and body are sent; status, headers and body come back", async () => {
  const answer = await plainFetch(`${base}/x`, {
    method: "POST",
    headers: { authorization: "Bearer t", "content-type": "application/json" },
    body: '{"name":"日本"}',
  });
  expect([answer.ok, answer.status]).toEqual([true, 200]);
  expect(answer.headers.get("Content-Type")).toBe("application/json");
  expect(answer.headers.get("x-none")).toBeNull();
  const seen = JSON.parse(new TextDecoder().decode(await answer.arrayBuffer()));
  expect(seen).toMatchObject({
    method: "POST",
    body: '{"name":"日本"}',
    headers: { authorization: "Bearer t", "content-length": "17" },
  });
});

test("an error has its status and headers, and so has a redirect", async () => {
  const busy = await plainFetch(`${base}/busy`, { method: "GET" });
  expect([busy.ok, busy.status, busy.headers.get("retry-after")]).toEqual([false, 429, "7"]);
  const away = await plainFetch(`${base}/away`);
  expect([away.ok, away.status, away.headers.get("location")]).toEqual([false, 302, "/"]);
});

test("a deadline ends it, and nobody there is told", async () => {
  const signal = AbortSignal.timeout(50);
  await expect(plainFetch(`${base}/hang`, { signal })).rejects.toThrow(/abort/i);
  await expect(plainFetch("http://127.0.0.1:9/")).rejects.toThrow("ECONNREFUSED");
});
