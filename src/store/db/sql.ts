// SQL as tagged text: values become parameters, nested fragments are spliced in.

import { createHash } from "node:crypto";

export type Sql = {
  readonly text: string;
  readonly values: readonly unknown[];
  /** Planned for its values each time, and not once for any: see `plannedAnew`. */
  readonly anew?: true;
};

/** Texts of statements without fragments, which are always the same. */
const texts = new WeakMap<TemplateStringsArray, string>();

/** ``sql`select … where id = ${id} and ${condition}` `` */
export function sql(strings: TemplateStringsArray, ...parts: readonly unknown[]): Sql {
  if (!parts.some(isSql)) return { text: textOf(strings), values: parts };
  const values: unknown[] = [];
  let text = strings[0] ?? "";
  parts.forEach((part, i) => {
    text += place(part, values) + (strings[i + 1] ?? "");
  });
  return { text, values };
}

function textOf(strings: TemplateStringsArray): string {
  const known = texts.get(strings);
  if (known !== undefined) return known;
  const text = strings.reduce((before, part, i) => `${before}$${i}${part}`);
  texts.set(strings, text);
  return text;
}

type Separator = " and " | ", " | " or " | " union all ";

/** Fragments joined by a separator that is part of the code, never of the data. */
export function join(fragments: readonly Sql[], separator: Separator): Sql {
  const values: unknown[] = [];
  const text = fragments.map((fragment) => place(fragment, values)).join(separator);
  return { text, values };
}

/**
 * For values that may be rare or everywhere, such as the beginning of a word: a plan for any value,
 * which a prepared statement has from its sixth call on, is bad for most of them.
 */
export function plannedAnew(query: Sql): Sql {
  return { ...query, anew: true };
}

/** A jsonb parameter: the driver would turn a bare array into a PostgreSQL array. */
export function json(value: unknown): string {
  return JSON.stringify(value);
}

function place(part: unknown, values: unknown[]): string {
  if (!isSql(part)) {
    values.push(part);
    return `$${values.length}`;
  }
  const shift = values.length;
  values.push(...part.values);
  return shift === 0 || part.values.length === 0
    ? part.text
    : part.text.replace(/\$(\d+)/g, (_, index: string) => `$${Number(index) + shift}`);
}

function isSql(part: unknown): part is Sql {
  return typeof part === "object" && part !== null && "text" in part && "values" in part;
}

const names = new Map<string, string>();
const NAMES_MAX = 2_000;

/** The name under which a connection keeps this statement prepared. */
export function statementName(text: string): string {
  const known = names.get(text);
  if (known !== undefined) return known;
  const name = `s${createHash("sha256").update(text).digest("base64url").slice(0, 20)}`;
  if (names.size < NAMES_MAX) names.set(text, name);
  return name;
}
