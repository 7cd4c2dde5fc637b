// Endpoints that a file declares: once by URL, and only where the service takes them.

import { readFileSync, writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Shell, startShell } from "../support.ts";

let shell: Shell;
beforeAll(async () => {
  shell = await startShell({ env: { WEBHOOK_ALLOW_PRIVATE: "0" } });
});
afterAll(() => shell.close());

const HEAD = 'version: "1"\norg: acme\nworkspace: main\nproject: test\n';

function fileOf(name: string, urls: readonly string[], event = "invoice.created"): string {
  const entries = urls.map((url) => `  - {url: "${url}", events: [${event}]}\n`);
  const items = `catalog:\n  - {code: ${name}, name: A, amount_cents: 1}\n`;
  return shell.file(`${name}.yaml`, `${HEAD}${items}webhooks:\n${entries.join("")}`);
}

function withResolvers(): { readonly promise: Promise<void>; readonly resolve: () => void } {
  let resolve = () => {};
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve };
}

async function endpoints(): Promise<{ url: string; events: string[] }[]> {
  return (await shell.app.get("/v1/webhooks")).webhook_endpoints;
}

test("two runs at one time make each endpoint once, and both have its events", async () => {
  const urls = ["https://example.com/one", "https://example.com/two"];
  const runs = ["invoice.created", "payment.succeeded"].map((event, i) =>
    fileOf(`run-${i}`, urls, event),
  );
  let waiting = 0;
  const { promise: all, resolve: go } = withResolvers();
  // Both have looked before one of them makes anything.
  const onRequest = (request: string) => {
    if (request.startsWith("GET ")) return undefined;
    waiting += 1;
    if (waiting === runs.length) go();
    return all;
  };
  const ran = await Promise.all(runs.map((file) => shell.run(["sync", file], { onRequest })));
  expect(ran.map(({ code }) => code)).toEqual([0, 0]);
  const made = await endpoints();
  expect(made.map(({ url }) => url).toSorted()).toEqual(urls);
  const shown = ran.flatMap(({ out }) => out.match(/whsec_/g) ?? []);
  expect(shown).toHaveLength(2);
});

test.each([
  ["https://10.0.0.5/hook", "points to a private address"],
  ["http://192.168.0.5/hook", "points to a private address"],
  ["https://hooks.internal/x", "has a host name of a local network"],
])(
  "a URL that this service does not take is told before anything is applied: %s",
  async (url, why) => {
    shell.takeWrites();
    const file = fileOf("refused", [url]);
    for (const args of [
      ["sync", file],
      ["sync", file, "--dry-run"],
      ["diff", file],
    ]) {
      const ran = await shell.run(args);
      expect([ran.code, ran.err]).toEqual([65, expect.stringContaining(`webhooks[0].url`)]);
      expect(ran.err).toContain(why);
    }
    expect(shell.takeWrites()).toEqual([]);
  },
);

test("more endpoints than a project may have are told before anything is applied", async () => {
  const project = await shell.project("many");
  const headers = { "x-project-id": project };
  for (let i = 0; i < 49; i++) {
    const body = { url: `https://example.com/${i}`, events: ["invoice.created"] };
    await shell.app.ok("POST", "/v1/webhooks", body, headers);
  }
  shell.takeWrites();
  const urls = ["https://example.com/0", "https://example.com/a", "https://example.com/b"];
  const file = fileOf("many", urls);
  writeFileSync(file, readFileSync(file, "utf8").replace("project: test", "project: many"));
  const ran = await shell.run(["sync", file]);
  expect([ran.code, ran.err]).toEqual([65, expect.stringContaining("webhooks[2]: A project has")]);
  expect(shell.takeWrites()).toEqual([]);
});

test("a URL that no service takes is told without asking one", async () => {
  const ran = await shell.run(["validate", fileOf("port", ["https://example.com:99/hook"])]);
  expect([ran.code, ran.err]).toEqual([65, expect.stringContaining("has a port other than 443")]);
});

test("an export declares a URL once that two endpoints have, and syncs to no change", async () => {
  const url = "https://example.com/twice";
  for (const event of ["invoice.created", "payment.succeeded"]) {
    await shell.app.post("/v1/webhooks", { url, events: [event] });
  }
  const exported = async (file: string, flags: readonly string[]) => {
    const ran = await shell.run(["export", "--out", file, ...flags]);
    expect([ran.code, ran.err]).toEqual([0, ""]);
    expect((await shell.run(["diff", file])).code).toBe(0);
    return readFileSync(file, "utf8");
  };
  const yaml = await exported(`${shell.folder}/exported.yaml`, []);
  expect(yaml).toContain(`# Left out: ${url} is declared already\n`);
  for (const text of [yaml, await exported(`${shell.folder}/exported.json`, ["--json"])]) {
    expect(text.match(/url"?: "?https:\/\/example\.com\/twice/g)).toHaveLength(1);
  }
});

test("an export that a sync would refuse says so", async () => {
  const metadata = Object.fromEntries(
    Array.from({ length: 2 }, (_, i) => [`n${i}`, "x".repeat(8_000)]),
  );
  const items = Array.from({ length: 280 }, (_, i) => {
    return { code: `large-${i}`, name: "Large", amount_cents: 1, metadata };
  });
  while (items.length > 0) {
    const some = items.splice(0, 5).map((item) => shell.app.post("/v1/catalog", item));
    await Promise.all(some);
  }
  for (const flags of [[], ["--json"]]) {
    const { code, out, err } = await shell.run(["export", ...flags]);
    expect(code).toBe(0);
    expect(out.length).toBeGreaterThan(4 * 1024 * 1024);
    expect(err).toContain("dues sync does not take this file: line 1: The file is larger than");
  }
});
