// Refusals of the API with the names of the command line: its fields are called what the flags are
// called of the command that was given.

import type { Command } from "commander";

/** How fields end whose flags do not: subscription_id is --subscription, amount_cents --amount. */
const ENDINGS = ["", "_id", "_cents", "_at"];
/** A name, and a value behind it: `state=unbillable`, `allow_overpayment: true`. */
const NAMED = /\b([a-z]\w*)(?:=(\w+)|: true\b)?/g;

/** Alone, only names are replaced that no sentence has by itself: "name" and "to" are words too. */
export function inFlags(message: string, command: Command | undefined): string {
  const flags = flagsByField(command);
  return message.replace(NAMED, (text, field: string, value: string | undefined) => {
    const flag = flags.get(field);
    if (flag === undefined) return text;
    if (value !== undefined) return `${flag} ${value}`;
    return field.includes("_") ? flag : text;
  });
}

/** What to do about a property that cannot be billed by; undefined where it is about none. */
export function propertyHint(message: string, command: Command | undefined): string | undefined {
  const [, name] = /^The property "([\w.-]+)" must be/.exec(message) ?? [];
  if (name === undefined) return undefined;
  const flag = `--property ${name}=5`;
  const takesOne = command?.options.some(({ long }) => long === "--property") === true;
  return `For example: ${takesOne ? "" : "dues subscriptions update <subscription> "}${flag}`;
}

/** The flags of a command by the fields of the API that they set. */
function flagsByField(command: Command | undefined): ReadonlyMap<string, string> {
  const flags = command?.options.flatMap(({ long }) => long ?? []) ?? [];
  const fields = flags.flatMap((flag) => {
    const name = flag.slice("--".length).replaceAll("-", "_");
    return ENDINGS.map((ending) => [name + ending, flag] as const);
  });
  return new Map(fields);
}
