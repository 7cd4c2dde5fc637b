// Refusals of the API with the names of the command line: its fields are called what the flags are
// called of the command that was given.

import type { Command } from "commander";

/** `subscription_id` is --subscription here, `amount_cents` --amount, `expires_at` --expires. */
const ENDINGS = ["", "_id", "_cents", "_at"];

/** Only names that no sentence has by itself: "name" and "to" are words too. */
export function inFlags(message: string, command: Command | undefined): string {
  let text = message;
  for (const { long, name } of flagsOf(command)) {
    text = text.replace(new RegExp(`\\b${name}=(\\w+)`, "g"), `${long} $1`);
    for (const field of ENDINGS.map((ending) => name + ending)) {
      if (!field.includes("_")) continue;
      text = text.replace(new RegExp(`\\b${field}\\b(: true\\b)?`, "g"), long);
    }
  }
  return text;
}

/** What to do about a property that cannot be billed by; undefined where it is about none. */
export function propertyHint(message: string, command: Command | undefined): string | undefined {
  const [, name] = /^The property "([\w.-]+)" must be/.exec(message) ?? [];
  if (name === undefined) return undefined;
  const flag = `--property ${name}=5`;
  if (flagsOf(command).some(({ long }) => long === "--property")) return `For example: ${flag}`;
  return `For example: dues subscriptions update <subscription> ${flag}`;
}

function flagsOf(command: Command | undefined): { readonly long: string; readonly name: string }[] {
  const longs = command?.options.flatMap(({ long }) => long ?? []) ?? [];
  return longs.map((long) => ({ long, name: long.slice(2).replaceAll("-", "_") }));
}
