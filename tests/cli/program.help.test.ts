// Every command explains itself, and the tool behaves in pipes.

import { execFileSync } from "node:child_process";
import type { Command } from "commander";
import { afterAll, beforeAll, expect, test } from "vitest";
import { commandWords } from "../../src/cli/completion.ts";
import { EXIT, type Io } from "../../src/cli/io.ts";
import { buildProgram } from "../../src/cli/program.ts";
import { serviceCommands } from "../../src/cli/service-commands.ts";
import { type Shell, startShell } from "./support.ts";

let shell: Shell;

beforeAll(async () => {
  shell = await startShell();
});
afterAll(() => shell.close());

const io = {} as Io;
const program = buildProgram(io, serviceCommands(io));
const commands = commandWords(program).map(({ path }) => path.split(" ").filter(Boolean));

test("every command has help with a description and an example", async () => {
  expect(commands.length).toBeGreaterThan(50);
  for (const path of commands) {
    const ran = await shell.run([...path, "--help"]);
    const name = path.join(" ");
    expect(ran.code, name).toBe(0);
    expect(ran.out, name).toContain(`Usage: dues ${name}`.trim());
    expect(ran.out, name).toMatch(/\n {2}\$ /);
    if (path.length > 0) expect(descriptionOf(path), name).not.toBe("");
  }
});

function descriptionOf(path: readonly string[]): string {
  return (
    path
      .reduce<Command | undefined>(
        (at, name) => at?.commands.find((each) => each.name() === name),
        program,
      )
      ?.description() ?? ""
  );
}

test("dues --help names every exit code and every variable", async () => {
  const { out } = await shell.run(["--help"]);
  for (const code of Object.values(EXIT)) expect(out).toMatch(new RegExp(`^ {2}${code} +\\w`, "m"));
  for (const name of ["DUES_URL", "DUES_TOKEN", "DUES_PROJECT", "NO_COLOR"])
    expect(out).toContain(name);
});

test.each([
  [["frobnicate"]],
  [["sync", "--nope"]],
  [["customers"]],
  [["customers", "create"]],
  [["customers", "list", "--limit", "0"]],
  [["subscriptions", "list", "--status", "sleeping"]],
  [["clock", "advance", "--to", "2026-02-30"]],
  [["clock", "advance", "--to", "tomorrow"]],
  [["completion", "tcsh"]],
])("%j is a usage error: 64, with help", async (args) => {
  const ran = await shell.run(args);
  expect(ran.code).toBe(64);
  expect(ran.err).not.toBe("");
  expect(ran.out).toBe("");
});

test("a token is never taken from the argument list", () => {
  const flags = commandWords(program).flatMap(({ words }) => words);
  expect(flags).not.toContain("--token");
});

test("no colours and no cursor tricks in a pipe", async () => {
  const ran = await shell.process([
    "sync",
    shell.file(
      "c.yaml",
      'version: "1"\norg: acme\nworkspace: main\nproject: test\ncatalog: [{code: a, name: A, amount_cents: 1}]\n',
    ),
  ]);
  expect(ran.code, ran.err).toBe(0);
  expect(ran.out + ran.err).not.toContain("\u001b");
});

test("a service that is not there is told as such, with its own exit code", async () => {
  const ran = await shell.process(["whoami"], { env: { DUES_URL: "http://127.0.0.1:9" } });
  expect(ran.code).toBe(69);
  expect(ran.err).toContain("No answer from http://127.0.0.1:9");
}, 60_000);

test("a wrong token and a weak one have their own exit code", async () => {
  const wrong = await shell.run(["whoami"], { env: { DUES_TOKEN: "dues_wrong" } });
  expect(wrong.code).toBe(77);
  const { token } = await shell.app.post("/v1/keys", {
    name: "reader",
    organization_id: shell.app.profile.organization_id,
    scopes: ["read"],
  });
  const weak = await shell.run(["customers", "create", "--external-id", "x", "--name", "X"], {
    env: { DUES_TOKEN: token },
  });
  expect(weak.code).toBe(77);
});

test("completion of bash offers what comes next", async () => {
  const { out } = await shell.run(["completion", "bash"]);
  const offered = (...words: string[]) =>
    execFileSync(
      "bash",
      [
        "-c",
        `${out}\nCOMP_WORDS=("$@"); COMP_CWORD=$(($#-1)); _dues; echo "\${COMPREPLY[@]}"`,
        "x",
        "dues",
        ...words,
      ],
      {
        encoding: "utf8",
      },
    )
      .trim()
      .split(" ");
  expect(offered("cust")).toEqual(["customers"]);
  expect(offered("customers", "")).toEqual(expect.arrayContaining(["list", "get", "create"]));
  expect(offered("sync", "--dry")).toEqual(["--dry-run"]);
  expect(offered("sync", "file.yaml", "--js")).toEqual(["--json"]);
});

test.each(["zsh", "fish"])("completion of %s names every command", async (name) => {
  const { out, code } = await shell.run(["completion", name]);
  expect(code).toBe(0);
  for (const path of commands) expect(out).toContain(path.at(-1) ?? "");
});
