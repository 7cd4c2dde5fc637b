// Secrets of webhook endpoints are shown once: none is lost because it cannot be written, or
// because a later step fails.

import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { stringify } from "yaml";
import { type Shell, startShell } from "../support.ts";

const calls = { code: "calls", name: "Calls", aggregation_type: "sum", field_name: "n" };
const webhooks = [{ url: "https://hooks.example.com/s", events: ["invoice.created"] }];

let shell: Shell;
let made = 0;

beforeAll(async () => {
  shell = await startShell({ at: "2026-01-10T00:00:00.000Z" });
});
afterAll(() => shell.close());

/** A project of its own, as the head of its file. */
async function project() {
  const slug = `s${++made}`;
  const id = await shell.project(slug);
  const head = { version: "1", org: "acme", workspace: "main", project: slug };
  const file = (sections: object) =>
    shell.file(`${slug}.yaml`, stringify({ ...head, ...sections }));
  return { id, file };
}

test("a file that cannot be written is found before anything is changed", async () => {
  const { id, file } = await project();
  shell.takeWrites();
  const missing = join(shell.folder, "no", "such", "folder", "secrets.ndjson");
  const flags = ["--secrets-out", missing];
  const ran = await shell.run(["sync", file({ metrics: [calls], webhooks }), ...flags]);
  expect(ran.code).toBe(1);
  expect(ran.err).toMatch(/secrets\.ndjson was not written: ENOENT/);
  expect(ran.err).toContain("Nothing was changed.");
  expect(shell.takeWrites()).toEqual([]);
  const found = await shell.app.ok("GET", "/v1/metrics", undefined, { "x-project-id": id });
  expect(found.metrics).toEqual([]);
  // Where no secret is made, the file is not asked for.
  const other = await shell.run(["sync", file({ metrics: [calls] }), ...flags]);
  expect(other.code, other.err).toBe(0);
});

test("with --json one is shown though a later step fails, and the run says so", async () => {
  const { file: write } = await project();
  const two = [...webhooks, { url: "https://hooks.example.com/t", events: ["addon.applied"] }];
  const file = write({ metrics: [calls], webhooks: two });
  let endpoints = 0;
  const ran = await shell.run(["sync", file, "--json"], {
    onRequest(request) {
      if (request === "POST /v1/webhooks" && ++endpoints > 1) throw new Error("cable cut");
    },
  });
  expect(ran.code).toBe(69);
  expect(ran.err).toContain("2 of 3 changes were applied");
  const told = JSON.parse(ran.out);
  expect(told).toMatchObject({ applied: 2, failed: expect.stringContaining("webhooks") });
  expect(told.secrets).toEqual([
    { url: webhooks[0]?.url, id: expect.any(String), secret: expect.stringMatching(/^whsec_/) },
  ]);
  const again = JSON.parse((await shell.run(["sync", file, "--json"])).out);
  expect(again).toMatchObject({ applied: 1, secrets: [{ url: two[1]?.url }] });
  expect(again).not.toHaveProperty("failed");
});
