// `dues log`: newest first, or oldest first from an instant or a cursor on, or as it happens.

import { afterEach, beforeEach, expect, test } from "vitest";
import { follow } from "../../../src/cli/commands/log.ts";
import { Dues } from "../../../src/client/dues.ts";
import { until } from "../../support/processes.ts";
import { heard, type Shell, startShell } from "../support.ts";

let shell: Shell;
beforeEach(async () => {
  // A clock that stands gives every entry the same instant.
  shell = await startShell({ at: "2026-01-10T00:00:00.000Z" });
  for (const name of ["a", "b", "c"]) {
    await shell.app.post("/v1/customers", { external_id: name, name });
  }
});
afterEach(() => shell.close());

const typed = ["--type", "customer.created"];

async function log(...args: string[]) {
  const ran = await shell.run(["log", ...args]);
  expect(ran.code, ran.err).toBe(0);
  return { ...ran, lines: ran.out.trim().split("\n") };
}

const names = (lines: readonly string[]) =>
  lines.map((line) => JSON.parse(line).payload.external_id ?? JSON.parse(line).payload.name);

test("it shows the newest first, as lines and as JSON", async () => {
  const { lines } = await log(...typed);
  expect(lines).toHaveLength(3);
  expect(lines[0]).toMatch(/^2026-01-10T00:00:00\.000Z {2}customer\.created +[0-9a-f-]{36}$/);
  const { lines: json } = await log(...typed, "--json", "--limit", "2");
  expect(names(json)).toEqual(["c", "b"]);
  expect((await log("--type", "customer.vanished")).out).toBe("None.\n");
  expect((await log(...typed, "--payload")).lines[1]).toContain('"');
});

test("from an instant on it goes on with the cursor that it named", async () => {
  const first = await log(...typed, "--since", "2026-01-01", "--json", "--limit", "2");
  expect(names(first.lines)).toEqual(["a", "b"]);
  const cursor = /There are more: dues log .* --cursor (\S+)/.exec(first.err)?.[1] ?? "";
  const args = [...typed, "--since", "2026-01-01", "--json", "--cursor"];
  const rest = await log(...args, cursor);
  expect(names(rest.lines)).toEqual(["c"]);
  const end = /Later go on: dues log .* --cursor (\S+)/.exec(rest.err)?.[1] ?? "";
  await shell.app.post("/v1/customers", { external_id: "d", name: "d" });
  expect(names((await log(...args, end)).lines)).toEqual(["d"]);
});

/** Follows until `work` is done and so many lines are shown. */
async function followed(lines: number, work: () => Promise<unknown>): Promise<string[]> {
  const { io, said } = heard();
  const { token, project_id } = shell.app.profile;
  const dues = new Dues({ base_url: shell.url, token, project_id });
  const abort = new AbortController();
  const flags = { type: "customer.created", limit: 20 };
  const running = follow(io, dues, flags, abort.signal);
  await until(() => said.err.includes("Following"));
  await work();
  await until(() => said.out.split("\n").length > lines);
  abort.abort();
  await running;
  return said.out.trim().split("\n");
}

const created = (external_id: string) =>
  shell.app.post("/v1/customers", { external_id, name: external_id });

test("--follow shows what comes from now on and nothing that was there", async () => {
  let id = "";
  const lines = await followed(1, async () => {
    id = (await created("e")).customer.id;
  });
  expect(lines).toEqual([expect.stringContaining(id)]);
});

test("--follow goes on when the clock is set back", async () => {
  const lines = await followed(3, async () => {
    await created("f");
    await shell.app.ok("POST", "/v1/clock", { frozen_at: "2025-06-01T00:00:00.000Z" });
    await created("g");
    await created("h");
  });
  expect(lines.map((line) => line.slice(0, 7))).toEqual(["2026-01", "2025-06", "2025-06"]);
});

test("the end of the log is asked for in its order, and without a cursor", async () => {
  const path = "/v1/billing-events?start=end";
  const { billing_events, cursor } = await shell.app.get(`${path}&order=asc`);
  expect([billing_events, typeof cursor]).toEqual([[], "string"]);
  for (const query of ["", `&order=asc&cursor=${cursor}`]) {
    const { status, body } = await shell.app.call("GET", path + query);
    expect([status, body.error.details[0].field]).toEqual([422, "start"]);
  }
  const { total_count } = await shell.app.get(`${path}&order=asc&count=1`);
  expect(total_count).toBeGreaterThan(0);
  const { status } = await shell.app.call("GET", `${path}&order=asc&limit=0`);
  expect(status).toBe(422);
});
