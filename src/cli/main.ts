#!/usr/bin/env node
// Entry of the `dues` command: connects it to the streams of the process. The commands themselves
// are in the files beside this one.

import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { readClientSettings } from "../config.ts";
import { serviceCommands } from "./commands/service.ts";
import { runProgram } from "./program.ts";
import { guarded, newRun } from "./terminal/io.ts";
import { Outputs } from "./terminal/outputs.ts";

async function ask(question: string, hidden = false): Promise<string> {
  const silent = new Writable({ write: (_chunk, _encoding, done) => done() });
  if (hidden) process.stderr.write(question);
  const output = hidden ? silent : process.stderr;
  const lines = createInterface({ input: process.stdin, output, terminal: true });
  try {
    // A question that was written before would be erased: the line is drawn anew for the answer.
    return await lines.question(hidden ? "" : question);
  } finally {
    lines.close();
    if (hidden) process.stderr.write("\n");
  }
}

const run = newRun();
const outputs = new Outputs(run, process.stdout, process.stderr, process.exit);
const settings = readClientSettings();
const io = guarded({
  settings,
  run,
  out: outputs.out,
  err: outputs.err,
  stdin: process.stdin,
  stdout: process.stdout,
  interactive: process.stdin.isTTY === true && process.stderr.isTTY === true,
  progress: process.stderr.isTTY === true,
  terminal: process.stdout.isTTY === true,
  columns: process.stdout.columns,
  errColumns: () => process.stderr.columns,
  color: process.stdout.isTTY === true && !settings.no_color,
  ask,
});

const server = serviceCommands(io);
const code = await outputs.end(await runProgram(io, server, process.argv.slice(2)));
// No process.exit: `serve` keeps running after its command has returned.
if (code !== 0) process.exitCode = code;
