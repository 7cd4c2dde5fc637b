#!/usr/bin/env node
// The `dues` command: parses the command line and hands over. Exit codes: 0 done, 1 failed.

import { Command } from "commander";
import { initCommand, migrateCommand, serveCommand } from "./server-commands.ts";

const program = new Command("dues")
  .description("Subscription and usage billing: one process, one command.")
  .version("0.1.0")
  .showHelpAfterError("(add --help for what this command takes)")
  .addHelpText(
    "after",
    `
First steps:
  $ npm start                     start the service on an embedded PostgreSQL
  $ npx dues init --org acme --workspace main --project prod
                                  make a tenant and print its ids and a token
  $ npx dues serve --port 9000    the same service on another port

Settings come from the environment: see docs/OPERATING.md.`,
  );

program.addCommand(serveCommand());
program.addCommand(initCommand());
program.addCommand(migrateCommand());

try {
  await program.parseAsync(process.argv);
} catch (error) {
  process.stderr.write(`dues: ${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
