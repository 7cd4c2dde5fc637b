// Completion as people use it: typed into real shells, with Tab. Where a shell is not installed its
// test is skipped, and its name says so.

import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { HAS_SCRIPT, inTerminal, toolLine } from "./terminal.ts";

let folder: string;

/** `dues` on the path: asks the real tool for completions, and notes what it would run. */
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), "dues-complete-"));
  const tool = join(folder, "dues");
  writeFileSync(
    tool,
    `#!/bin/sh
case "$1" in
  __complete|completion) exec ${toolLine([])} "$@" ;;
esac
echo "ran $*" >> '${folder}/ran'
`,
  );
  chmodSync(tool, 0o755);
  writeFileSync(join(folder, "usage-of-may.ndjson"), "");
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const SHELLS = {
  bash: { start: "bash --norc -i", load: "source <(dues completion bash)" },
  zsh: { start: "zsh -f -i", load: "source <(dues completion zsh)" },
  fish: { start: "fish --no-config -i", load: "dues completion fish | source" },
} as const;

/** Types each line into the shell, `\t` is the key Tab, and returns what was run in the end. */
async function ranIn(shell: keyof typeof SHELLS, lines: readonly string[]): Promise<string[]> {
  writeFileSync(join(folder, "ran"), "");
  const { start, load } = SHELLS[shell];
  const env = { HOME: folder, XDG_CONFIG_HOME: join(folder, "config") };
  const path = { PATH: `${folder}:${process.env.PATH}` };
  const child = inTerminal({ folder, env: { ...env, ...path } }, start, 120);
  let seen = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    seen += text;
  });
  const closed = new Promise((resolve) => child.once("close", resolve));
  child.stdin.write(`${[load, ...lines, "exit"].join("\n")}\n`);
  await closed;
  const ran = readFileSync(join(folder, "ran"), "utf8").trim().split("\n");
  expect(seen).not.toMatch(/unrecognized modifier|command not found|bad substitution/);
  return ran;
}

describe.each(["bash", "zsh", "fish"] as const)("%s", (shell) => {
  const isThere = HAS_SCRIPT && spawnSync(shell, ["--version"]).status === 0;

  test.skipIf(!isThere)(
    `commands, flags, values and files are completed (needs script and ${shell})`,
    async () => {
      const ran = await ranIn(shell, [
        "dues custo\tli\t--al\t",
        "dues invoices list --status over\t",
        "dues completion fi\t",
        "dues events import usage-of\t",
      ]);
      expect(ran).toEqual([
        "ran customers list --all",
        "ran invoices list --status overdue",
        "ran events import usage-of-may.ndjson",
      ]);
    },
  );
});
