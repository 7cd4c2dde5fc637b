// The whole command line: every command, one way to fail, one place for exit codes.

import { Command, CommanderError } from "commander";
import { DuesError } from "../client/error.ts";
import { CLIENT_SETTINGS } from "../config.ts";
import { accountCommands, keyCommands } from "./account-commands.ts";
import {
  addOnActs,
  customerActs,
  invoiceActs,
  paymentActs,
  subscriptionActs,
  usageCommand,
} from "./act-commands.ts";
import { clockCommand } from "./clock-commands.ts";
import { group } from "./command.ts";
import { completionCommand } from "./completion.ts";
import { eventCommands } from "./event-commands.ts";
import { fileCommands } from "./file-commands.ts";
import { CliError, EXIT, EXIT_WORDS, type Io, Told } from "./io.ts";
import { customerReads, invoiceReads, paymentReads, subscriptionReads } from "./list-commands.ts";
import { addOnReads, catalogReads, metricReads, planReads } from "./price-commands.ts";
import { webhookCommands } from "./webhook-commands.ts";

export const VERSION = "0.1.0";

/** `server` are the commands that are the service itself. */
export function buildProgram(io: Io, server: readonly Command[]): Command {
  const program = new Command("dues")
    .description("Subscription and usage billing: one process, one command.")
    .version(VERSION)
    .showHelpAfterError("(add --help for what this command takes)")
    .showSuggestionAfterError(true)
    .addHelpText("after", helpText());
  const all = [
    ...server,
    ...fileCommands(io),
    group("customers", "Who is billed.", [...customerReads(io), ...customerActs(io)]),
    group("subscriptions", "A customer on a plan.", [
      ...subscriptionReads(io),
      ...subscriptionActs(io),
    ]),
    group("invoices", "What was billed, and would be.", [...invoiceReads(io), ...invoiceActs(io)]),
    group("payments", "Money that arrived.", [...paymentReads(io), ...paymentActs(io)]),
    group("plans", "What customers subscribe to.", planReads(io)),
    group("metrics", "What is measured.", metricReads(io)),
    group("catalog", "Priced products.", catalogReads(io)),
    group("addons", "One-off items.", [...addOnReads(io), ...addOnActs(io)]),
    group("events", "Usage events.", eventCommands(io)),
    usageCommand(io),
    group("webhooks", "Endpoints that are told of events.", webhookCommands(io)),
    clockCommand(io),
    ...accountCommands(io),
    group("keys", "The organization's tokens.", keyCommands(io)),
    completionCommand(io, () => program),
  ];
  for (const each of all) program.addCommand(each);
  quiet(program, io);
  return program;
}

/** Commander writes through `io` and throws instead of ending the process. */
function quiet(command: Command, io: Io): void {
  command.exitOverride();
  command.configureOutput({ writeOut: (text) => io.out(text), writeErr: (text) => io.err(text) });
  for (const inner of command.commands) quiet(inner, io);
}

function helpText(): string {
  const codes = Object.entries(EXIT).map(
    ([name, code]) => `  ${String(code).padEnd(4)}${EXIT_WORDS[name as keyof typeof EXIT]}`,
  );
  const settings = CLIENT_SETTINGS.map(({ name, says }) => `  ${name.padEnd(14)}${says}`);
  return `
First steps:
  $ npm start                          start the service on an embedded PostgreSQL
  $ npx dues sync service.example.yaml --dry-run
  $ npx dues customers create --external-id acme --name "Acme Ltd"

Where to connect: the flags --url, --token-file and --project, then the environment, then what
dues login kept, then the trial's own .dues/dev.json:
${settings.join("\n")}

Exit codes:
${codes.join("\n")}`;
}

/** Runs one command line; the answer is the exit code. */
export async function runProgram(
  io: Io,
  server: readonly Command[],
  args: readonly string[],
): Promise<number> {
  try {
    await buildProgram(io, server).parseAsync([...args], { from: "user" });
    return EXIT.done;
  } catch (error) {
    return failure(io, error);
  }
}

function failure(io: Io, error: unknown): number {
  if (error instanceof Told) return error.exit;
  if (error instanceof CommanderError) {
    const isHelp = /^commander\.(help|helpDisplayed|version)$/.test(error.code);
    return isHelp && error.exitCode === 0 ? EXIT.done : EXIT.usage;
  }
  if (error instanceof CliError) {
    io.err(`dues: ${error.message}\n${error.hint === undefined ? "" : `${error.hint}\n`}`);
    return error.exit;
  }
  if (error instanceof DuesError) return refusal(io, error);
  io.err(`dues: ${error instanceof Error ? error.message : String(error)}\n`);
  return EXIT.failed;
}

function refusal(io: Io, error: DuesError): number {
  const { status, code, message, details, request_id } = error;
  const more = details
    .slice(1)
    .map((each) => `  ${each.message ?? `${each.field}: ${each.code}`}\n`);
  const trace = request_id !== undefined && status >= 500 ? ` (request ${request_id})` : "";
  io.err(`dues: ${message}${trace}\n${more.join("")}`);
  if (status === 0) {
    io.err("Is the service running there? npm start runs the trial.\n");
    return EXIT.unreachable;
  }
  if (status === 401) io.err("dues login keeps another token.\n");
  return code === "unauthorized" || code === "forbidden" ? EXIT.not_allowed : EXIT.failed;
}
