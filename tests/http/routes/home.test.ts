// What is at the base URL, for a browser and for a program, and the icon.

import { afterAll, beforeAll, expect, test } from "vitest";
import { apiServer } from "../../../src/service/api-server.ts";
import { type App, startApp } from "../../support/app.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

const BROWSER = { accept: "text/html,application/xhtml+xml,*/*;q=0.8", authorization: undefined };

test("a browser gets a page: ready, which version, where to go, how to get a token", async () => {
  const { status, headers, body } = await app.call("GET", "/", undefined, BROWSER);
  expect([status, headers["content-type"]]).toEqual([200, "text/html; charset=utf-8"]);
  for (const part of [">Ready<", "version 0.", 'href="/docs"', 'href="/openapi.json"']) {
    expect(body).toContain(part);
  }
  for (const part of [
    "npx dues whoami",
    "npx dues init",
    "/portal/&lt;customer id&gt;",
    "/v1/mcp",
  ]) {
    expect(body).toContain(part);
  }
  expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; style-src 'sha256-/);
});

test("others get the same as JSON", async () => {
  for (const accept of [undefined, "*/*", "application/json"]) {
    const { status, body } = await app.call("GET", "/", undefined, { accept });
    expect(status).toBe(200);
    expect(body).toEqual({
      name: "dues",
      version: expect.stringMatching(/^\d+\.\d+\.\d+/),
      status: "ok",
      links: {
        docs: "/docs",
        openapi: "/openapi.json",
        health: "/healthz",
        ready: "/readyz",
        mcp: "/v1/mcp",
      },
    });
  }
});

test("while the service is not ready the page says so, and why", async () => {
  const readiness = { draining: true, schema_version: 0, warnings: [] };
  const server = apiServer(app.context, readiness);
  const page = await server.fastify.inject({ url: "/", headers: { accept: "text/html" } });
  expect(page.body).toContain("Not ready");
  expect(page.body).toContain("The process is shutting down.");
  const data = await server.fastify.inject({ url: "/" });
  expect(data.json().status).toBe("unavailable");
  await server.fastify.close();
});

test("the icon is there as SVG and as ICO", async () => {
  const svg = await app.server.fastify.inject({ url: "/favicon.svg" });
  expect([svg.statusCode, svg.headers["content-type"]]).toEqual([200, "image/svg+xml"]);
  const ico = await app.server.fastify.inject({ url: "/favicon.ico" });
  expect([ico.statusCode, ico.headers["content-type"]]).toEqual([200, "image/x-icon"]);
  expect([...ico.rawPayload.subarray(0, 6)]).toEqual([0, 0, 1, 0, 1, 0]);
  expect(ico.rawPayload.subarray(22, 26).toString("latin1")).toBe("\x89PNG");
});
