// Who one is to the service: a kept profile, the one that npm start keeps, a token in a file.

import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { type Shell, startShell } from "../support.ts";

let shell: Shell;
beforeAll(async () => {
  shell = await startShell();
});
afterAll(() => shell.close());

const bare = { DUES_URL: "", DUES_TOKEN: "", DUES_PROJECT: "" };

test("login keeps a profile for its owner alone, and the token comes from the input", async () => {
  const none = await shell.run(["whoami"], { env: bare });
  expect(none.code).toBe(77);
  expect(none.err).toContain("dues login");
  const args = ["login", "--url", `${shell.url}/`, "--project", "main/test"];
  const login = await shell.run(args, { env: bare, input: `${shell.app.profile.token}\n` });
  expect(login.code, login.err).toBe(0);
  const file = join(shell.folder, "config", "dues", "profile.json");
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ base_url: shell.url });
  expect((await shell.run(["whoami"], { env: bare })).out).toContain(" main/test ");
  expect((await shell.run(["logout"], { env: bare })).code).toBe(0);
  expect((await shell.run(["whoami"], { env: bare })).code).toBe(77);
});

test("a kept token is not sent to another address", async () => {
  await shell.run(["login", "--url", shell.url], { env: bare, input: shell.app.profile.token });
  shell.requests.splice(0);
  const ran = await shell.run(["whoami", "--url", "http://127.0.0.1:9"], { env: bare });
  expect(ran.code).toBe(77);
  expect(shell.requests).toEqual([]);
  await shell.run(["logout"], { env: bare });
});

test("the profile that npm start keeps works with no flags at all", async () => {
  shell.file("dev.json", JSON.stringify({ ...shell.app.profile, base_url: shell.url }));
  const env = { ...bare, DUES_DATA: shell.folder };
  await shell.run(["customers", "create", "--external-id", "acme", "--name", "Acme"]);
  const ran = await shell.process(["customers", "list"], { env });
  expect(ran.code, ran.err).toBe(0);
  expect(ran.out).toContain("acme");
  expect((await shell.run(["open", "--print"], { env })).out).toBe(`${shell.url}/docs\n`);
});

test("a token may stand in a file", async () => {
  const file = shell.file("token.txt", `${shell.app.profile.token}\n`);
  const ran = await shell.run(["whoami", "--token-file", file, "--url", shell.url], {
    env: bare,
  });
  expect(ran.code, ran.err).toBe(0);
});
