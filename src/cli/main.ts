#!/usr/bin/env node
// Entry of the `dues` command: connects it to the streams of the process. The commands themselves
// are in the files beside this one.

import { createInterface } from "node:readline/promises";
import { Writable } from "node:stream";
import { readClientSettings } from "../config.ts";
import { guarded } from "./io.ts";
import { runProgram } from "./program.ts";
import { serviceCommands } from "./service-commands.ts";

/** The reader of a pipe may close it early (`dues … | head`): that is no failure. */
function leaveQuietly(error: NodeJS.ErrnoException): void {
  if (error.code === "EPIPE") process.exit(0);
  throw error;
}

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

process.stdout.on("error", leaveQuietly);
process.stderr.on("error", leaveQuietly);

const settings = readClientSettings();
const io = guarded({
  settings,
  out: (text) => process.stdout.write(text),
  err: (text) => process.stderr.write(text),
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
const code = await runProgram(io, server, process.argv.slice(2));
// No process.exit: `serve` keeps running after its command has returned.
if (code !== 0) process.exitCode = code;
