// A real pseudo-terminal for the tool: `script` makes one, and what it shows is read back.

import { spawn, spawnSync } from "node:child_process";
import { MAIN } from "../support/built.ts";
import type { Shell } from "./support.ts";

/** Tests that need a terminal are skipped, and say so, where there is no `script`. */
export const HAS_SCRIPT = spawnSync("script", ["--version"]).status === 0;

export function quoted(words: readonly string[]): string {
  return words.map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(" ");
}

/** The tool's command line, as a shell takes it. */
export function toolLine(args: readonly string[]): string {
  return quoted([process.execPath, MAIN, ...args]);
}

/** Starts a shell's line in a terminal of so many columns. */
export function inTerminal(
  shell: Pick<Shell, "folder" | "env">,
  line: string,
  columns = 80,
  env: Record<string, string> = {},
) {
  return spawn("script", ["-qec", `stty cols ${columns} rows 24; ${line}`, "/dev/null"], {
    cwd: shell.folder,
    env: { PATH: process.env.PATH ?? "", TERM: "xterm", ...shell.env, ...env },
  });
}

/** Runs the tool in a terminal; resolves to the bytes that it wrote there. */
export function typed(
  shell: Shell,
  args: readonly string[],
  given: { readonly columns?: number; readonly env?: Record<string, string> } = {},
): Promise<string> {
  const child = inTerminal(shell, toolLine(args), given.columns, given.env);
  let seen = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    seen += text;
  });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", () => resolve(seen.replaceAll("\r\n", "\n")));
  });
}
