// What each command does to others, as it declares. Closing the output of one that reads ends it,
// as `dues … | head` means; one that writes goes on to the end of its work.

import type { Command } from "commander";

export type Effect = "reads" | "writes";

/** A function where it hangs on what is given, such as --dry-run. */
export type Declared =
  | Effect
  | ((flags: Readonly<Record<string, unknown>>, args: readonly string[]) => Effect);

const effects = new WeakMap<Command, Declared>();

export function declare(command: Command, effect: Declared): Command {
  effects.set(command, effect);
  return command;
}

/** The effect of a command whose line was parsed; undefined where it has none, as a group. */
export function effectOf(command: Command): Effect | undefined {
  const effect = effects.get(command);
  return typeof effect === "function" ? effect(command.opts(), command.args) : effect;
}

/** For a command that writes nothing but a file, which this flag names. */
export function writesFile(flag: string): Declared {
  return (flags) => (flags[flag] === undefined || flags[flag] === "-" ? "reads" : "writes");
}
