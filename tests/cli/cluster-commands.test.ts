// `dues cluster` where there is no cluster: what it answers, and with which exit code.

import { afterAll, beforeAll, expect, test } from "vitest";
import { byteSize } from "../../src/cli/output.ts";
import { SHARDS } from "../../src/store/distribution.ts";
import { databaseUrl, emptyDatabase } from "../support/database.ts";
import { type Shell, startShell } from "./support.ts";

let shell: Shell;

beforeAll(async () => {
  shell = await startShell();
});
afterAll(() => shell.close());

test("the embedded database is no cluster: 1, with what to do instead", async () => {
  const ran = await shell.process(["cluster", "distribute"]);
  expect(ran.code).toBe(1);
  expect(ran.err).toMatch(/^dues: A cluster is named by DATABASE_URL, which is not set\./);
  expect(ran.out).toBe("");
});

test("a PostgreSQL without Citus is refused: 1, with what to do instead", async () => {
  const { connection, drop } = await emptyDatabase();
  const env = { DATABASE_URL: databaseUrl(connection) };
  const ran = await shell.process(["cluster", "distribute", "--json"], { env });
  expect(ran.code).toBe(1);
  expect(ran.err).toMatch(/^dues: DATABASE_URL names a PostgreSQL without Citus/);
  expect(ran.out).toBe("");
  await drop();
});

test.each(["0", "1025", "many"])("--shards %s is a usage error", async (shards) => {
  const ran = await shell.run(["cluster", "distribute", "--shards", shards]);
  expect(ran.code).toBe(64);
  expect(ran.err).toContain("Takes a whole number from 1 to 1024.");
});

test("the help names the number of shards that is taken without the flag", async () => {
  const { out } = await shell.run(["cluster", "distribute", "--help"]);
  expect(out.replace(/\s+/g, " ")).toContain(`(default: ${SHARDS})`);
});

test.each([
  [0, "0 B"],
  [1_023, "1023 B"],
  [1_024, "1 kB"],
  [1_536, "1.5 kB"],
  [1_024 ** 2, "1 MB"],
  [3.4 * 1_024 ** 3, "3.4 GB"],
  [1_024 ** 6, "1024 PB"],
])("%d bytes are shown as %s", (bytes, shown) => {
  expect(byteSize(bytes)).toBe(shown);
});
