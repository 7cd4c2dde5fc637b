// What the program answers when a shell asks what can follow.

import { expect, test } from "vitest";
import { serviceCommands } from "../../src/cli/commands/service.ts";
import { complete } from "../../src/cli/complete.ts";
import { buildProgram } from "../../src/cli/program.ts";
import type { Io } from "../../src/cli/terminal/io.ts";

const io = {} as Io;
const program = buildProgram(io, serviceCommands(io));

function offered(line: string): string[] {
  return complete(program, line.split(" ").slice(1)).candidates.map(({ word }) => word);
}

test.each([
  ["dues cust", ["customers"]],
  ["dues sync --dry", ["--dry-run"]],
  ["dues sync file.yaml --js", ["--json"]],
  [
    "dues invoices list --status ",
    ["outstanding", "overdue", "succeeded", "uncollectible", "voided"],
  ],
  ["dues invoices list --status ov", ["overdue"]],
  ["dues invoices list --status=ov", ["--status=overdue"]],
  ["dues --project main/live invoices list --status ov", ["overdue"]],
  ["dues invoices list --customer --status", []],
  ["dues completion ", ["bash", "zsh", "fish"]],
  ["dues help even", ["events"]],
  ["dues help events im", ["import"]],
  ["dues events import -- --", []],
  ["dues frobnicate ", []],
])("%s", (line, words) => {
  expect(offered(line)).toEqual(words);
});

test("commands, then what the command takes", () => {
  expect(offered("dues customers ")).toEqual(expect.arrayContaining(["list", "get", "create"]));
  expect(offered("dues ")).toEqual(expect.arrayContaining(["sync", "invoices", "help"]));
  expect(offered("dues customers list ")).toEqual(expect.arrayContaining(["--all", "--wide"]));
  expect(offered("dues --")).toEqual(expect.arrayContaining(["--project", "--url", "--version"]));
});

test("shells are told where a path stands", () => {
  const files = (line: string) => complete(program, line.split(" ").slice(1)).files;
  expect(files("dues sync ")).toBe(true);
  expect(files("dues events import us")).toBe(true);
  expect(files("dues customers list --token-file ")).toBe(true);
  expect(files("dues customers list ")).toBe(false);
  expect(files("dues customers get ")).toBe(false);
});
