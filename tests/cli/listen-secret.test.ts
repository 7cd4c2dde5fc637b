// The secret of `dues webhooks listen`: the same one for a service and project, and nobody else's.

import { mkdtempSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import type { Io } from "../../src/cli/io.ts";
import { keptSecret } from "../../src/cli/listen-secret.ts";

const config_folder = mkdtempSync(join(tmpdir(), "dues-listen-"));
afterAll(() => rmSync(config_folder, { recursive: true, force: true }));

const io = { settings: { config_folder } } as unknown as Io;
const profile = (project_id: string) => ({ base_url: "http://a.test", token: "t", project_id });

test("it stays from run to run, and differs by project", () => {
  const secret = keptSecret(io, profile("one"));
  expect(secret).toMatch(/^whsec_[\w+/]{43}=$/);
  expect(keptSecret(io, profile("one"))).toBe(secret);
  expect(keptSecret(io, profile("two"))).not.toBe(secret);
  expect(keptSecret(io, { ...profile("one"), base_url: "http://b.test" })).not.toBe(secret);
  expect(keptSecret(io, profile("one"))).toBe(secret);
});

test("only its owner can read it, and a broken file is made anew", () => {
  const file = join(config_folder, "listen-secrets.json");
  const secret = keptSecret(io, profile("one"));
  expect(statSync(file).mode & 0o777).toBe(0o600);
  writeFileSync(file, "not json");
  const again = keptSecret(io, profile("one"));
  expect(again).not.toBe(secret);
  expect(keptSecret(io, profile("one"))).toBe(again);
});
