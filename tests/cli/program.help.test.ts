// Every command explains itself, and the tool behaves in pipes.

import type { Command } from "commander";
import { afterAll, beforeAll, expect, test } from "vitest";
import { serviceCommands } from "../../src/cli/commands/service.ts";
import { buildProgram } from "../../src/cli/program.ts";
import { EXIT, type Io } from "../../src/cli/terminal/io.ts";
import { type Shell, startShell } from "./support.ts";

let shell: Shell;

beforeAll(async () => {
  shell = await startShell();
});
afterAll(() => shell.close());

const io = {} as Io;
const program = buildProgram(io, serviceCommands(io));
const commands = pathsOf(program);

/** Every command by the words that lead to it. */
function pathsOf(at: Command, path: readonly string[] = []): (readonly string[])[] {
  const inner = at.commands.flatMap((each) => pathsOf(each, [...path, each.name()]));
  return [path, ...inner];
}

test("every command has help with a description and an example", async () => {
  expect(commands.length).toBeGreaterThan(50);
  for (const path of commands) {
    const ran = await shell.run([...path, "--help"]);
    const name = path.join(" ");
    expect(ran.code, name).toBe(0);
    expect(ran.out, name).toContain(`Usage: dues ${name}`.trim());
    expect(ran.out, name).toMatch(/\n {2}\$ /);
    if (path.length > 0) expect(commandAt(path)?.description(), name).not.toBe("");
  }
});

function commandAt(path: readonly string[]): Command | undefined {
  return path.reduce<Command | undefined>(
    (at, name) => at?.commands.find((each) => each.name() === name),
    program,
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
  const flags = commands.flatMap((path) => commandAt(path)?.options.map(({ long }) => long) ?? []);
  expect(flags).toContain("--token-file");
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
});

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

test("help is found for a command inside a group too", async () => {
  const { out, code } = await shell.run(["help", "events", "import"]);
  expect(code).toBe(0);
  expect(out).toBe((await shell.run(["events", "import", "--help"])).out);
  expect((await shell.run(["help"])).out).toBe((await shell.run(["--help"])).out);
  const wrong = await shell.run(["help", "events", "eat"]);
  expect(wrong.code).toBe(64);
  expect(wrong.err).toContain("there is no command events eat");
});

test("where to connect can be said in front of the command", async () => {
  const id = await shell.project("before-it");
  const { project_id } = shell.app.profile;
  const asked = async (...args: string[]) => {
    return JSON.parse((await shell.run([...args, "--json"])).out).project_id;
  };
  expect(await asked("--project", "main/before-it", "whoami")).toBe(id);
  expect(await asked("whoami", "--project", "main/before-it")).toBe(id);
  expect(await asked("--project", "main/before-it", "whoami", "--project", project_id)).toBe(
    project_id,
  );
  expect((await shell.run(["--url", "http://127.0.0.1:9", "open", "--print"])).out).toContain(
    "http://127.0.0.1:9/docs",
  );
});
