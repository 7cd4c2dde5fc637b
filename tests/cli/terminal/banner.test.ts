// What a start tells: the token and where it is kept, an address that can be opened, the next step.

import { resolve } from "node:path";
import { expect, test } from "vitest";
import { banner, type Start } from "../../../src/cli/terminal/banner.ts";
import { readConfig } from "../../../src/config.ts";

const TOKEN = `dues_${"0123456789".repeat(4)}`;
const ID = "01981e7a-0000-7000-8000-000000000001";
const ORGANIZATION = "01981e7a-0000-7000-8000-000000000002";
const EMBEDDED = { DATABASE_URL: "", BASE_URL: "", HOST: "", PORT: "" };
const OWN = { ...EMBEDDED, DATABASE_URL: "postgres://db.example.com/dues" };

function shown(
  env: Record<string, string>,
  more: Partial<Start["running"]> = {},
  is_terminal = true,
) {
  const config = readConfig({ ...EMBEDDED, ...env });
  const { base_url } = config;
  const ids = { organization_id: ORGANIZATION, workspace_id: ID, project_id: ID };
  const profile = { base_url, ...ids, token: TOKEN };
  const running = { base_url, profile, first: true, ...more };
  return banner({ running, config, profile_file: resolve(".dues/dev.json"), is_terminal });
}

test("the embedded database's start shows its token, where it is kept, and what to do", () => {
  const text = shown(EMBEDDED);
  expect(text).toMatch(new RegExp(`Token +${TOKEN}\\n +kept in \\.dues/dev\\.json\\n`));
  expect(text).toContain("Next, in another terminal: npx dues whoami\n");
  expect(text).toContain("Ctrl-C stops it.\n");
  expect(shown(EMBEDDED, { first: false })).toMatch(/Token +kept in \.dues\/dev\.json\n/);
  expect(shown(EMBEDDED, { first: false })).not.toContain(TOKEN);
  expect(shown(EMBEDDED, {}, false)).toContain(TOKEN);
});

test("with one's own database the token is shown once, and only on a terminal", () => {
  expect(shown(OWN)).toMatch(new RegExp(`Token +${TOKEN}\\n +shown this once: keep it\\n`));
  expect(shown(OWN)).toContain("npx dues login --url http://127.0.0.1:8080\n");
  expect(shown(OWN)).toMatch(new RegExp(`Organization +${ORGANIZATION}\\n`));
  expect(shown(OWN, {}, false)).not.toContain(TOKEN);
  expect(shown(OWN, {}, false)).not.toContain(ORGANIZATION);
  expect(shown(OWN, {}, false)).toMatch(/Token +not shown, .* run dues init --org default/);
  expect(shown(OWN, { profile: undefined })).not.toContain("Token");
});

test("a log is given no advice for somebody who sits there", () => {
  expect(shown(OWN, {}, false)).not.toMatch(/Ctrl-C|another terminal/);
});

test.each([
  ["0.0.0.0", "http://127.0.0.1:8093"],
  ["::", "http://[::1]:8093"],
])("HOST=%s shows an address that can be opened, and names BASE_URL", (HOST, base_url) => {
  const text = shown({ HOST, PORT: "8093" });
  expect(text).toContain(`Base URL          ${base_url}\n`);
  expect(text).toContain("It listens on every address of this machine");
  expect(text).toContain("Set BASE_URL to the address that callers use");
  expect(shown({ HOST, BASE_URL: "https://billing.example.com" })).not.toContain("Set BASE_URL");
});

test("every line fits a terminal of 80 columns", () => {
  for (const text of [shown(EMBEDDED), shown(OWN), shown({ HOST: "0.0.0.0" })]) {
    expect(text.split("\n").filter((line) => line.length > 80)).toEqual([]);
  }
});
