// The commands about an organization: on its database, as a process of their own.

import { afterAll, beforeAll, expect, test } from "vitest";
import { databaseUrl } from "../../support/database.ts";
import { type Shell, startShell } from "../support.ts";

let shell: Shell;
beforeAll(async () => {
  shell = await startShell();
});
afterAll(() => shell.close());

const renew = (...flags: string[]) =>
  shell.process(["org", "renew-id", ...flags], {
    env: { DATABASE_URL: databaseUrl(shell.app.connection) },
  });

test("renew-id prints the id that makes tokens from now on, to a service that runs", async () => {
  const ran = await renew("--org", "acme", "--json");
  expect(ran.code, ran.err).toBe(0);
  const { organization_id } = JSON.parse(ran.out);
  const ask = (id: string) =>
    shell.app.call("POST", "/v1/keys", { name: "k", organization_id: id });
  expect((await ask(organization_id)).status).toBe(201);
  expect((await ask(shell.app.profile.organization_id)).status).toBe(404);
  const again = await renew("--org", "acme");
  expect(again.out).toMatch(/^organization_id +[0-9a-f-]{36}\n$/);
  expect(again.out).not.toContain(organization_id);
});

test("a slug that no organization has is told", async () => {
  const ran = await renew("--org", "nobody");
  expect(ran.code).toBe(1);
  expect(ran.err).toBe('dues: No organization has the slug "nobody".\n');
});
