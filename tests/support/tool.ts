// The built tool as people run it: a process of its own.

import { type ChildProcess, spawn } from "node:child_process";
import { MAIN } from "./built.ts";

export type Ran = { readonly code: number | null; readonly out: string; readonly err: string };

export type Started = { readonly child: ChildProcess; readonly done: Promise<Ran> };

export type ToolOptions = {
  /** All that it has in its environment, but for the path of programs. */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd?: string;
  readonly input?: string;
};

/** Starts and does not wait. */
export function startTool(args: readonly string[], { env, cwd, input = "" }: ToolOptions): Started {
  const child = spawn(process.execPath, [MAIN, ...args], {
    cwd,
    env: { PATH: process.env.PATH ?? "", ...env },
    stdio: ["pipe", "pipe", "pipe"],
  });
  child.stdin.end(input);
  let [out, err] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    out += text;
  });
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    err += text;
  });
  const done = new Promise<Ran>((end, fail) => {
    child.once("error", fail);
    child.once("close", (code) => end({ code, out, err }));
  });
  return { child, done };
}

export function runTool(args: readonly string[], options: ToolOptions): Promise<Ran> {
  return startTool(args, options).done;
}
