// Makes commands: their help with examples, the flags that say where to connect, and the parsers of
// option values.

import { Command, InvalidArgumentError } from "commander";
import { inexactNumberIn } from "../../domain/json-values.ts";
import { type Declared, declare } from "../terminal/effects.ts";
import { CliError, type Io } from "../terminal/io.ts";
import { type Connection, type ConnectionFlags, connect } from "./profile.ts";

export type Example = readonly [line: string, says: string];

export function command(
  name: string,
  effect: Declared,
  says: string,
  examples: readonly Example[],
): Command {
  const wide = Math.max(0, ...examples.map(([line]) => line.length));
  const lines = examples.map(([line, says]) => `  $ ${line.padEnd(wide)}  ${says}`.trimEnd());
  const title = examples.length === 1 ? "Example" : "Examples";
  return declare(new Command(name), effect)
    .description(says)
    .addHelpText("after", `\n${title}:\n${lines.join("\n")}`);
}

/** A command with subcommands; without one it shows its help. */
export function group(name: string, says: string, inner: readonly Command[]): Command {
  const all = new Command(name).description(says);
  for (const each of inner) all.addCommand(each);
  const [first] = inner;
  return all.addHelpText("after", `\nExample:\n  $ dues ${name} ${first?.name() ?? ""} --help`);
}

/** They can stand in front of a command's name too. */
export const CONNECTION_OPTIONS = [
  ["--url <url>", "address of the service (DUES_URL)"],
  ["--token-file <file>", "file that holds the token (DUES_TOKEN)"],
  ["--project <project>", "id or slug of the project (DUES_PROJECT)"],
] as const;

/** A command that talks to the service. */
export function remote(
  name: string,
  effect: Declared,
  says: string,
  examples: readonly Example[],
): Command {
  const made = command(name, effect, says, examples);
  for (const [flags, says] of CONNECTION_OPTIONS) made.option(flags, says);
  return made;
}

/** What was given with the command counts before what stood in front of its name. */
export function connectionFlags<Flags extends ConnectionFlags>(flags: Flags, self: Command): Flags {
  let root = self;
  while (root.parent !== null) root = root.parent;
  return { ...root.opts<ConnectionFlags>(), ...flags };
}

/** An action that connects first. Commander passes the arguments, the flags and the command. */
export function withConnection<Flags extends ConnectionFlags>(
  io: Io,
  work: (connection: Connection, flags: Flags, ...args: string[]) => Promise<void>,
): (...given: unknown[]) => Promise<void> {
  return async (...given) => {
    const flags = connectionFlags(given.at(-2) as Flags, given.at(-1) as Command);
    const args = given.slice(0, -2) as string[];
    await work(await connect(io, flags), flags, ...args);
  };
}

export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,15}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`Takes a whole number from ${min} to ${max}.`);
  };
}

/** `seats=5` is a number, `name=5x` text; `tags:=["a"]` is JSON. */
export function property(
  text: string,
  before: Readonly<Record<string, unknown>> = {},
): Record<string, unknown> {
  const [, name = "", json, value = ""] = /^([^=:]+)(:?)=(.*)$/s.exec(text) ?? [];
  if (name === "") throw new InvalidArgumentError("Takes name=value, or name:=<JSON>.");
  return { ...before, [name]: json === ":" ? jsonIn(value) : plain(value) };
}

function jsonIn(text: string): unknown {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new InvalidArgumentError(`${text} is not JSON.`);
  }
  const inexact = inexactNumberIn(text);
  if (inexact === undefined) return value;
  throw new InvalidArgumentError(`${inexact} cannot be kept exactly: write it with quotes.`);
}

/** A number when it is written as numbers are: "007" stays text. */
function plain(value: string): string | number {
  return /^\d{1,15}$/.test(value) && String(Number(value)) === value ? Number(value) : value;
}

/** A timestamp; a date alone means its first instant in UTC. */
export function instant(text: string): string {
  const full = /^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00.000Z` : text;
  const at = new Date(full);
  const known = /^\d{4}-\d{2}-\d{2}T[\d:.]+(Z|[+-]\d{2}:\d{2})$/.test(full);
  if (!known || Number.isNaN(at.getTime()) || isRolledOver(text, at)) {
    throw new InvalidArgumentError("Takes a date such as 2027-01-01, or 2027-01-01T12:00:00Z.");
  }
  return full;
}

/** A date alone, as it is written. */
export function calendarDate(text: string): string {
  if (/^\d{4}-\d{2}-\d{2}$/.test(text)) return instant(text).slice(0, 10);
  throw new InvalidArgumentError("Takes a date such as 2027-01-31.");
}

/** `new Date("2027-02-30")` is a day in March: such dates are refused. */
function isRolledOver(text: string, at: Date): boolean {
  return text.length === 10 && at.toISOString().slice(0, 10) !== text;
}

export function needProject(connection: Connection): string {
  const { project_id } = connection.profile;
  if (project_id !== undefined) return project_id;
  throw new CliError("usage", "Which project?", "Name it with --project, or set DUES_PROJECT.");
}
