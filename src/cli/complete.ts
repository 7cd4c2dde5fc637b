// What can follow on a command line, for completion: the program itself is asked, so that there is
// one answer for every shell. Commands, flags, and the values that a flag or an argument can have.

import type { Argument, Command, Option } from "commander";

export type Candidate = { readonly word: string; readonly says: string };

export type Completion = {
  readonly candidates: readonly Candidate[];
  /** Whether a path may stand here: shells complete those themselves. */
  readonly files: boolean;
};

const NOTHING: Completion = { candidates: [], files: false };

/** Where the words before the last one lead. */
type Place = {
  readonly at: Command;
  /** How many arguments of the command were given. */
  readonly given: number;
  /** The flag that waits for its value. */
  readonly waiting: Option | undefined;
  /** Whether `--` was given: all that follows are arguments. */
  readonly isRest: boolean;
};

/** `words` are those behind `dues`; the last one is being written, and may be empty. */
export function complete(root: Command, words: readonly string[]): Completion {
  const last = words.at(-1) ?? "";
  if (words[0] === "help" && words.length > 1) return helped(root, words.slice(1, -1), last);
  const place = placeOf(root, words.slice(0, -1));
  const { candidates, files } = following(root, place, last);
  return { candidates: candidates.filter(({ word }) => word.startsWith(last)), files };
}

/** `dues help` takes the names of commands alone. */
function helped(root: Command, words: readonly string[], last: string): Completion {
  const { at, given } = placeOf(root, words);
  const names = given === 0 ? namesOf(at) : [];
  return { candidates: names.filter(({ word }) => word.startsWith(last)), files: false };
}

function placeOf(root: Command, words: readonly string[]): Place {
  let place: Place = { at: root, given: 0, waiting: undefined, isRest: false };
  for (const word of words) place = after(root, place, word);
  return place;
}

function after(root: Command, place: Place, word: string): Place {
  const { at, given, isRest } = place;
  if (place.waiting !== undefined) return { ...place, waiting: undefined };
  if (isRest) return { ...place, given: given + 1 };
  if (word === "--") return { ...place, isRest: true };
  if (word.startsWith("-")) {
    const [name = ""] = word.split("=");
    const option = optionsOf(root, at).find(({ long, short }) => long === name || short === name);
    const takesValue = option?.required === true || option?.optional === true;
    const waiting = takesValue && !word.includes("=") ? option : undefined;
    return { ...place, waiting };
  }
  const inner = given === 0 ? innerOf(at).find((each) => each.name() === word) : undefined;
  if (inner !== undefined) return { ...place, at: inner };
  return { ...place, given: given + 1 };
}

function following(root: Command, place: Place, last: string): Completion {
  const { at, waiting, isRest } = place;
  if (waiting !== undefined) return valuesOf(waiting.argChoices, waiting.flags);
  if (!isRest && last.startsWith("-")) {
    const [name = "", value] = last.split("=");
    if (value === undefined) return { candidates: flagsOf(root, at), files: false };
    const option = optionsOf(root, at).find(({ long }) => long === name);
    const { candidates, files } = valuesOf(option?.argChoices, option?.flags ?? "");
    return {
      candidates: candidates.map((each) => ({ ...each, word: `${name}=${each.word}` })),
      files,
    };
  }
  const inner = namesOf(at);
  if (inner.length > 0) return place.given === 0 ? { candidates: inner, files: false } : NOTHING;
  const argument = argumentAt(at, place.given);
  if (argument !== undefined) return valuesOf(argument.argChoices, argument.name());
  return isRest ? NOTHING : { candidates: flagsOf(root, at), files: false };
}

/** A flag's own name for its value says whether it is a path. */
function valuesOf(choices: readonly string[] | undefined, name: string): Completion {
  const candidates = (choices ?? []).map((word) => ({ word, says: "" }));
  return { candidates, files: candidates.length === 0 && /\bfile\b/.test(name) };
}

function argumentAt(at: Command, given: number): Argument | undefined {
  const last = at.registeredArguments.at(-1);
  return at.registeredArguments[given] ?? (last?.variadic ? last : undefined);
}

function innerOf(at: Command): readonly Command[] {
  return at.createHelp().visibleCommands(at);
}

function namesOf(at: Command): Candidate[] {
  return innerOf(at).map((each) => ({ word: each.name(), says: each.description() }));
}

/** The options at a command: its own, and at the root those that stand before any name. */
function optionsOf(root: Command, at: Command): readonly Option[] {
  return at === root ? root.options : at.options;
}

function flagsOf(root: Command, at: Command): Candidate[] {
  const shown = optionsOf(root, at).filter(({ hidden }) => !hidden);
  const all = shown.flatMap(({ long, description }) => {
    return long === undefined || long === null ? [] : [{ word: long, says: description }];
  });
  return [...all, { word: "--help", says: "what it takes" }];
}
