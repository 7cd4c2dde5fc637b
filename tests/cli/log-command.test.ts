// `dues log`: newest first, or oldest first from an instant or a cursor on, or as it happens.

import { PassThrough, Readable } from "node:stream";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Io } from "../../src/cli/io.ts";
import { follow } from "../../src/cli/log-command.ts";
import { Dues } from "../../src/client/dues.ts";
import { readClientSettings } from "../../src/config.ts";
import { until } from "../support/processes.ts";
import { type Shell, startShell } from "./support.ts";

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

test("--follow shows what comes from now on and nothing that was there", async () => {
  const said = { out: "", err: "" };
  const io: Io = {
    settings: readClientSettings({}),
    out: (text) => {
      said.out += text;
    },
    err: (text) => {
      said.err += text;
    },
    stdin: Readable.from([]),
    stdout: new PassThrough(),
    interactive: false,
    progress: false,
    terminal: false,
    color: false,
    ask: () => Promise.reject(new Error("Nobody is there.")),
  };
  const { token, project_id } = shell.app.profile;
  const dues = new Dues({ base_url: shell.url, token, project_id });
  const abort = new AbortController();
  const flags = { type: "customer.created", limit: 20 };
  const running = follow(io, dues, flags, abort.signal);
  await until(() => said.err.includes("Following"));
  const { customer } = await shell.app.post("/v1/customers", { external_id: "e", name: "e" });
  await until(() => said.out !== "");
  abort.abort();
  await running;
  expect(said.out.trim().split("\n")).toEqual([expect.stringContaining(customer.id)]);
});
