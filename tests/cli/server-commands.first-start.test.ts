// What the first start on a database tells, and whom; and what `dues init` makes of what is there.

import { afterAll, beforeAll, expect, test } from "vitest";
import { banner } from "../../src/cli/server-commands.ts";
import type { Running } from "../../src/main.ts";
import { databaseUrl, testDatabase } from "../support/database.ts";
import { startService } from "../support/processes.ts";
import { type Shell, startShell } from "./support.ts";

let shell: Shell;
beforeAll(async () => {
  shell = await startShell();
});
afterAll(() => shell.close());

const TOKEN = /dues_\w{20,}/;

test("where its output is kept, the first start on one's own database shows no token", async () => {
  const { connection, drop } = await testDatabase();
  const service = await startService({ connection, role: "api" });
  try {
    expect(service.output).toMatch(/Organization +[0-9a-f-]{36}\n/);
    expect(service.output).not.toMatch(TOKEN);
    expect(service.output).toMatch(/Token +not shown, .*: run dues init --org default --work/);
    const slugs = ["--org", "default", "--workspace", "default", "--project", "default"];
    const env = {
      DATABASE_URL: databaseUrl(connection),
      SECRET_KEY: "one key for all processes of a test",
    };
    const ran = await shell.process(["init", ...slugs, "--json"], { env });
    const { token, project_id } = JSON.parse(ran.out);
    expect(token).toMatch(TOKEN);
    const answer = await fetch(`${service.base_url}/v1/customers`, {
      headers: { authorization: `Bearer ${token}`, "x-project-id": project_id },
    });
    expect(answer.status).toBe(200);
  } finally {
    await service.signal("SIGTERM");
    await drop();
  }
});

test("on a terminal, and in the trial, the token is shown once", () => {
  const token = "dues_0123456789012345678901234567890";
  const ids = { organization_id: "o", workspace_id: "w", project_id: "p" };
  const profile = { base_url: "http://x", ...ids, token };
  const running: Running = { base_url: "http://x", profile, first: true, stop: async () => {} };
  expect(banner("dev.json", running, true)).toMatch(/Token \(shown once\) +dues_0123/);
  expect(banner("dev.json", { ...running, first: false }, true)).toContain("kept in dev.json");
  expect(banner("dev.json", { ...running, profile: undefined }, true)).not.toContain("Token");
});

test("a live project is not taken for the sandbox that was asked for", async () => {
  const env = {
    DATABASE_URL: databaseUrl(shell.app.connection),
    SECRET_KEY: "the key of this test of dues init",
  };
  const init = (...flags: string[]) => {
    const slugs = ["--org", "o", "--workspace", "w", "--project", "p"];
    return shell.process(["init", ...slugs, ...flags], { env });
  };
  const made = await init();
  expect([made.code, made.err]).toEqual([0, ""]);
  expect(made.out).toMatch(/^project_id +[0-9a-f-]{36}$/m);
  const refused = await init("--sandbox");
  expect([refused.code, refused.out]).toEqual([1, ""]);
  expect(refused.err).toBe(
    "dues: The project w/p is live and stays so. Name another one for a sandbox; nothing was made.\n",
  );
  expect((await init("--project", "trial", "--sandbox")).code).toBe(0);
  expect((await init("--project", "trial")).code).toBe(0);
});
