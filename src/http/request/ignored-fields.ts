// Names the keys of a body that its schema does not know. They are ignored, and the answer says so
// in X-Ignored-Fields: a misspelled field would be lost without a word otherwise.

import type { TSchema } from "typebox";
import { Refusal } from "../../errors.ts";

export const IGNORED_FIELDS = "x-ignored-fields";
const NAMES_MAX = 10;
const NAME_CHARS_MAX = 100;
/** Steps of a path: `charges[0].nmae` has three. */
const DEPTH_MAX = 6;
/** How many entries of a list are looked at: the others are most likely like them. */
const ENTRIES_MAX = 20;

type Known = {
  /** What may be in an object; undefined where it is free, or no object. */
  readonly fields: ReadonlyMap<string, Known> | undefined;
  readonly entries: Known | undefined;
};

/** The names as the header has them; undefined where all are known. */
export type FindIgnored = (body: unknown) => string | undefined;

export function ignoredFinder(schema: TSchema): FindIgnored {
  const known = knownOf(schema);
  return (body) => {
    const names: string[] = [];
    collect(known, body, "", 1, names);
    return names.length === 0 ? undefined : names.join(",");
  };
}

type Shape = {
  readonly properties?: Readonly<Record<string, Shape>>;
  readonly additionalProperties?: unknown;
  readonly items?: Shape;
};

function knownOf({ properties, additionalProperties, items }: Shape): Known {
  const isClosed = properties !== undefined && additionalProperties === undefined;
  const named = Object.entries(properties ?? {}).map(([name, each]) => [name, knownOf(each)]);
  return {
    fields: isClosed ? new Map(named as [string, Known][]) : undefined,
    entries: items && knownOf(items),
  };
}

function collect(
  { fields, entries }: Known,
  value: unknown,
  path: string,
  depth: number,
  names: string[],
): void {
  if (typeof value !== "object" || value === null || value instanceof Refusal) return;
  if (depth > DEPTH_MAX || names.length >= NAMES_MAX) return;
  if (Array.isArray(value)) {
    if (entries === undefined) return;
    const looked = Math.min(value.length, ENTRIES_MAX);
    for (let i = 0; i < looked; i++) collect(entries, value[i], `${path}[${i}]`, depth + 1, names);
    return;
  }
  if (fields === undefined) return;
  for (const key in value) {
    const known = fields.get(key);
    const member = (value as Record<string, unknown>)[key];
    if (known === undefined) {
      names.push(`${path && `${path}.`}${headerText(key)}`);
      if (names.length >= NAMES_MAX) return;
    } else if (typeof member === "object") {
      collect(known, member, path === "" ? key : `${path}.${key}`, depth + 1, names);
    }
  }
}

/** A key written as in a URL, so that it cannot break the header or the list in it. */
function headerText(key: string): string {
  return encodeURIComponent(key).slice(0, NAME_CHARS_MAX);
}
