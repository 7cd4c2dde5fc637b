// Tokens from the command line: for all projects, or for some.

import { afterAll, beforeAll, expect, test } from "vitest";
import { type Shell, startShell } from "../support.ts";

let shell: Shell;
let other: string;
beforeAll(async () => {
  shell = await startShell();
  other = await shell.project("other");
});
afterAll(() => shell.close());

test("keys create --for takes ids and slugs, and the list says what a token is for", async () => {
  const { project_id } = shell.app.profile;
  const make = async (...flags: string[]) => {
    const ran = await shell.run(["keys", "create", "--name", "k", "--json", ...flags]);
    expect(ran.code, ran.err).toBe(0);
    return JSON.parse(ran.out).project_ids;
  };
  expect(await make()).toBeNull();
  expect(await make("--for", "other")).toEqual([other]);
  expect(await make("--for", `main/other,${project_id}`)).toEqual([other, project_id]);
  const { out } = await shell.run(["keys", "list"]);
  for (const words of ["all projects", "1 project ", "2 projects"]) expect(out).toContain(words);
});

test("keys create --for a project that is not there names those that are", async () => {
  const ran = await shell.run(["keys", "create", "--name", "k", "--for", "nowhere"]);
  expect(ran.code).not.toBe(0);
  expect(ran.err).toBe("dues: There is no project nowhere.\nmain/other, main/test\n");
});

test("a token is made, listed and revoked by its prefix", async () => {
  const create = ["keys", "create", "--name", "reports", "--scopes", "read", "--json"];
  const made = await shell.run(create);
  expect(made.code, made.err).toBe(0);
  const { key_prefix, scopes, token } = JSON.parse(made.out);
  expect([scopes, token]).toEqual([["read"], expect.stringMatching(/^dues_/)]);
  const listed = async () => (await shell.run(["keys", "list"])).out;
  expect(await listed()).toContain(key_prefix);
  expect((await shell.run(["keys", "revoke", key_prefix])).code).toBe(0);
  expect(await listed()).not.toContain(key_prefix);
});
