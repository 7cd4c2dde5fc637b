// The secret of `dues webhooks listen`: the same one for a service and project, and nobody else's.

import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { keptSecret } from "../../../src/cli/commands/listen-secret.ts";
import type { Io } from "../../../src/cli/terminal/io.ts";

const config_folder = mkdtempSync(join(tmpdir(), "dues-listen-"));
afterAll(() => rmSync(config_folder, { recursive: true, force: true }));

const io = { settings: { config_folder } } as unknown as Io;
const profile = (project_id: string) => ({ base_url: "http://a.test", token: "t", project_id });

test("it stays from run to run, and differs by project", async () => {
  const secret = await keptSecret(io, profile("one"));
  expect(secret).toMatch(/^whsec_[\w+/]{43}=$/);
  expect(await keptSecret(io, profile("one"))).toBe(secret);
  expect(await keptSecret(io, profile("two"))).not.toBe(secret);
  expect(await keptSecret(io, { ...profile("one"), base_url: "http://b.test" })).not.toBe(secret);
  expect(await keptSecret(io, profile("one"))).toBe(secret);
});

test("only its owner can read it, and a broken file is made anew", async () => {
  const file = join(config_folder, "listen-secrets.json");
  const secret = await keptSecret(io, profile("one"));
  expect(statSync(file).mode & 0o777).toBe(0o600);
  writeFileSync(file, "not json");
  const again = await keptSecret(io, profile("one"));
  expect(again).not.toBe(secret);
  expect(await keptSecret(io, profile("one"))).toBe(again);
});
