// The whole command line: all commands, and how failures become messages and exit codes.

import { Command, CommanderError } from "commander";
import { DuesError } from "../client/error.ts";
import { CLIENT_SETTINGS } from "../config.ts";
import { VERSION } from "../version.ts";
import {
  addOnActions,
  invoiceActions,
  paymentActions,
  subscriptionActions,
  usageCommand,
} from "./commands/actions.ts";
import { analyticsCommand } from "./commands/analytics.ts";
import { apiCommand } from "./commands/api.ts";
import { clockCommand } from "./commands/clock.ts";
import { creditsCommand, customerActions } from "./commands/customers.ts";
import { creditNotePdfCommand, invoicePdfCommand } from "./commands/documents.ts";
import { eventCommands } from "./commands/events.ts";
import { customerReads, invoiceReads, paymentReads, subscriptionReads } from "./commands/lists.ts";
import { logCommand } from "./commands/log.ts";
import { keyCommands, loginCommands } from "./commands/login.ts";
import { mcpCommand } from "./commands/mcp.ts";
import {
  couponReads,
  creditCommand,
  creditNoteReads,
  grantActions,
  grantReads,
  taxReads,
} from "./commands/money.ts";
import { portalCommand } from "./commands/portal.ts";
import { addOnReads, catalogReads, metricReads, planReads } from "./commands/prices.ts";
import { projectCommands } from "./commands/projects.ts";
import { fileCommands } from "./commands/service-file.ts";
import { settingsCommand } from "./commands/settings.ts";
import { webhookCommands } from "./commands/webhooks.ts";
import { COMPLETE, completionCommand, completionText } from "./completion.ts";
import { CONNECTION_OPTIONS, command, group } from "./connection/command.ts";
import { tellRefusal } from "./connection/refusals.ts";
import { demoCommand } from "./demo/demo-command.ts";
import { effectOf } from "./terminal/effects.ts";
import { AlreadyReported, CliError, EXIT, EXIT_MEANINGS, type Io } from "./terminal/io.ts";
import { visible } from "./terminal/visible.ts";

/** `server` are the commands that run the service or work on its database. */
export function buildProgram(io: Io, server: readonly Command[]): Command {
  const program = new Command("dues")
    .description("Subscription and usage billing: one process, one command.")
    .version(VERSION)
    .showHelpAfterError("(add --help for what this command takes)")
    .showSuggestionAfterError(true)
    .enablePositionalOptions()
    .helpCommand(false)
    .addHelpText("after", helpText());
  for (const [flags, says] of CONNECTION_OPTIONS) program.option(flags, says);
  const all = [
    ...server,
    ...fileCommands(io),
    group("customers", "Who is billed.", [...customerReads(io), ...customerActions(io)]),
    group("subscriptions", "A customer on a plan.", [
      ...subscriptionReads(io),
      ...subscriptionActions(io),
    ]),
    group("invoices", "What was billed, and would be.", [
      ...invoiceReads(io),
      ...invoiceActions(io),
      creditCommand(io),
      invoicePdfCommand(io),
    ]),
    group("payments", "Money that arrived.", [...paymentReads(io), ...paymentActions(io)]),
    group("credit-notes", "What was taken back of invoices.", [
      ...creditNoteReads(io),
      creditNotePdfCommand(io),
    ]),
    group("grants", "Money that customers have: credit and prepaid.", [
      ...grantReads(io),
      ...grantActions(io),
    ]),
    creditsCommand(io),
    group("plans", "What customers subscribe to.", planReads(io)),
    group("metrics", "What is measured.", metricReads(io)),
    group("catalog", "Priced products.", catalogReads(io)),
    group("addons", "One-off items.", [...addOnReads(io), ...addOnActions(io)]),
    group("taxes", "What is added to prices.", taxReads(io)),
    group("coupons", "What is taken off prices.", couponReads(io)),
    group("events", "Usage events.", eventCommands(io)),
    usageCommand(io),
    group("webhooks", "Endpoints that are told of events.", webhookCommands(io)),
    logCommand(io),
    analyticsCommand(io),
    portalCommand(io),
    settingsCommand(io),
    clockCommand(io),
    ...loginCommands(io),
    group("projects", "The organization's projects.", projectCommands(io)),
    group("keys", "The organization's tokens.", keyCommands(io)),
    demoCommand(io),
    apiCommand(io),
    mcpCommand(io),
    completionCommand(io),
    helpCommand(() => program),
  ];
  for (const each of all) program.addCommand(each);
  captureOutput(program, io);
  return program;
}

/** The help of a command or of one inside a group: `dues help events import`. */
function helpCommand(root: () => Command): Command {
  return command("help", "reads", "Show what a command takes.", [["dues help events import", ""]])
    .argument("[command...]", "its name")
    .action((words: readonly string[], _flags: object, self: Command) => {
      let at = root();
      for (const word of words) {
        const inner = at.commands.find((each) => each.name() === word);
        if (inner === undefined) {
          self.error(
            `error: there is no command ${words.join(" ")}; dues help shows what there is`,
          );
        }
        at = inner;
      }
      at.outputHelp();
    });
}

/** Makes commander write through `io`, and throw instead of ending the process. */
function captureOutput(command: Command, io: Io): void {
  command.exitOverride();
  command.configureOutput({ writeOut: (text) => io.out(text), writeErr: (text) => io.err(text) });
  for (const inner of command.commands) captureOutput(inner, io);
}

function helpText(): string {
  const codes = Object.entries(EXIT).map(
    ([name, code]) => `  ${String(code).padEnd(4)}${EXIT_MEANINGS[name as keyof typeof EXIT]}`,
  );
  const settings = CLIENT_SETTINGS.map(({ name, says }) => `  ${name.padEnd(14)}${says}`);
  return `
First steps:
  $ npm start                          start the service on an embedded PostgreSQL
  $ npx dues sync service.example.yaml --dry-run
  $ npx dues customers create --external-id acme --name "Acme Ltd"

Where to connect: the flags --url, --token-file and --project, then the environment, then what
dues login kept, then what npm start kept in .dues/dev.json:
${settings.join("\n")}

Exit codes:
${codes.join("\n")}`;
}

/** Runs one command line and returns the exit code. */
export async function runProgram(
  io: Io,
  server: readonly Command[],
  args: readonly string[],
): Promise<number> {
  let ran: Command | undefined;
  try {
    const program = buildProgram(io, server);
    program.hook("preAction", (_program, command) => {
      ran = command;
      io.run.effect = effectOf(command) ?? "writes";
    });
    if (args[0] === COMPLETE) io.out(completionText(program, args.slice(1)));
    else await program.parseAsync([...args], { from: "user" });
    return EXIT.done;
  } catch (error) {
    return failure(io, error, ran);
  }
}

function failure(io: Io, error: unknown, ran: Command | undefined): number {
  if (error instanceof AlreadyReported) return error.exit;
  if (error instanceof CommanderError) {
    const isHelp = /^commander\.(help|helpDisplayed|version)$/.test(error.code);
    return isHelp && error.exitCode === 0 ? EXIT.done : EXIT.usage;
  }
  if (error instanceof CliError) {
    const hint = error.hint === undefined ? "" : `${visible(error.hint)}\n`;
    io.err(`dues: ${visible(error.message)}\n${hint}`);
    return error.exit;
  }
  if (error instanceof DuesError) return tellRefusal(io, error, ran);
  // A lost output is told at the end, in words.
  const isLost = error === io.run.lost.out;
  if (!isLost) io.err(`dues: ${error instanceof Error ? error.message : String(error)}\n`);
  return EXIT.failed;
}
