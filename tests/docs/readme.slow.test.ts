// The README's commands are typed as they stand there, by a shell, against a running service: they
// must work, and print what the text around them says.

import { spawn } from "node:child_process";
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { initTenant } from "../../src/service/first-tenant.ts";
import type { Profile } from "../../src/service/profile.ts";
import { type Shell, startShell } from "../cli/support.ts";
import type { Json } from "../support/app.ts";
import { MAIN } from "../support/built.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** Each command is a process of its own, on a machine that may have other work. */
const LIMIT_MS = 240_000;
const text = readFileSync(join(ROOT, "README.md"), "utf8");

/** What npx finds in a checkout, without the second that it takes. */
const NPX = `npx() { shift; node '${MAIN}' "$@"; }\n`;

let shell: Shell;
let profile: Profile;
let minute: string;

beforeAll(async () => {
  shell = await startShell();
  // What the first start on the embedded database makes, and the example file is for.
  const slugs = { org: "default", workspace: "default", project: "default" };
  const { db } = shell.app.context;
  profile = await initTenant(db, slugs, "sandbox", shell.url, systemClock.now());
  mkdirSync(join(shell.folder, ".dues"));
  shell.file(".dues/dev.json", JSON.stringify(profile));
  copyFileSync(join(ROOT, "service.example.yaml"), join(shell.folder, "service.example.yaml"));
  minute = await type(commandsOf("The first invoice, in a minute"));
}, LIMIT_MS);

afterAll(() => shell.close());

/** Every shell block of a section, as one script. */
function commandsOf(title: string): string {
  const [, section = ""] = text.split(`\n## ${title}\n`);
  const [body = ""] = section.split("\n## ");
  return [...body.matchAll(/```sh\n([\s\S]*?)```/g)].map(([, block = ""]) => block).join("\n");
}

async function read(path: string): Promise<Json> {
  const { token, project_id } = profile;
  const headers = { authorization: `Bearer ${token}`, "x-project-id": project_id };
  const { body } = await shell.app.call("GET", path, undefined, headers);
  return body;
}

/** What the shell prints, and fails with. */
function type(commands: string): Promise<string> {
  const env = { PATH: process.env.PATH ?? "", HOME: shell.folder };
  const child = spawn("bash", ["-c", NPX + commands], { cwd: shell.folder, env });
  let printed = "";
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding("utf8").on("data", (chunk: string) => {
      printed += chunk;
    });
  }
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => resolve(printed));
  });
}

describe("the first invoice", () => {
  test("is the one that the text names", async () => {
    const { invoices } = await read("/v1/invoices");
    expect(invoices).toMatchObject([{ number: "INV-2026-0001", total_cents: 4900 }]);
    expect(minute).not.toMatch(/"error"|command not found|undefined/);
  });

  test("its last listing explains every cent, in full", () => {
    expect(minute).not.toContain("[Object]");
    expect(minute).toMatch(/"properties": \{[^}]*"precise_amount": "2000"/);
    expect(minute).toMatch(/"properties": \{[^}]*"plan_code": "pro"/);
  });

  test("the links at its end open without a token", async () => {
    const links = minute.match(/^http:\S+\/portal\/\S+$/gm) ?? [];
    expect(links).toHaveLength(2);
    for (const link of links) {
      const answer = await fetch(link);
      expect([answer.status, answer.headers.get("content-type")]).toEqual([
        200,
        "text/html; charset=utf-8",
      ]);
    }
  });
});

test(
  "the commands of the tool work after it, and the example takes nothing from acme-pro",
  async () => {
    const printed = await type(commandsOf("The same from a file, and for people"));
    expect(printed).toMatch(/^\+ plans +team$/m);
    expect(printed).not.toMatch(/^~ (plans|metrics)/m);
    expect(printed).toContain("INV-2026-0001");
    expect(printed).not.toMatch(/^dues: /m);
    const later = await type(`
    npx dues sync service.example.yaml --yes
    npx dues clock advance --to 2026-03-01`);
    expect(later).not.toMatch(/^dues: /m);
    const { invoices } = await read("/v1/invoices");
    expect(invoices).toHaveLength(2);
    const { subscriptions } = await read("/v1/subscriptions?billing_error=1");
    expect(subscriptions).toEqual([]);
  },
  LIMIT_MS,
);
