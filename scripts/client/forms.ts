// The shortest way to write an object: in full, or as another one of its subject, less some fields,
// with others beside them, or with fields that may be left out.

/** An object that can be written by its name. */
export type Named = {
  readonly name: string;
  /** What it is about, in words: `WebhookCreditNote` is about a `CreditNote`. */
  readonly subject: string;
  readonly fields: readonly Field[];
};

export type Field = {
  readonly name: string;
  readonly optional: boolean;
  readonly comment: string;
  /** The type as it is written. */
  readonly type: string;
  /** The type with every object inside of it in full, which can be compared. */
  readonly full_type: string;
};

/** A form that saves less is not worth the look at another type, or at a part of one. */
const LINES_SAVED_MIN = 5;
const LINES_SAVED_MIN_BY_PART = 9;
const FIELDS_TAKEN_MIN = 2;
/** What the formatter leaves of a line of 100 for the names within an `Omit`. */
const WIDTH = 90;

/** The objects that one about `subject` may be written by. */
export function kinOf(subject: string, known: readonly Named[]): Named[] {
  const words = wordsOf(subject);
  return known.filter((each) => {
    const others = wordsOf(each.subject);
    return words.includes(others) || others.includes(words);
  });
}

/** " Credit Note ", so that a part of it is looked for by whole words. */
function wordsOf(subject: string): string {
  return `${subject.replace(/[A-Z]/g, " $&")} `;
}

export function formOf(fields: readonly Field[], bases: readonly Named[]): string {
  const full = objectText(fields);
  let best = { text: full, saved: 0 };
  for (const base of bases) {
    const saved_min = base.name.includes("[") ? LINES_SAVED_MIN_BY_PART : LINES_SAVED_MIN;
    for (const isLoosened of [false, true]) {
      const text = formBy(base, fields, isLoosened);
      const saved = text === undefined ? 0 : linesOf(full) - linesOf(text);
      if (text !== undefined && saved >= saved_min && saved > best.saved) best = { text, saved };
    }
  }
  return best.text;
}

/** What `base` has of the fields, and the others beside it. Loosened, it may all be left out. */
function formBy(base: Named, fields: readonly Field[], isLoosened: boolean): string | undefined {
  const taken = fields.filter((field) => {
    const other = base.fields.find(({ name }) => name === field.name);
    if (other?.full_type !== field.full_type || other.comment !== field.comment) return false;
    return isLoosened ? field.optional : field.optional === other.optional;
  });
  if (taken.length < FIELDS_TAKEN_MIN) return undefined;
  const part = partOf(base, taken);
  const whole = isLoosened ? `Partial<${part}>` : part;
  const rest = fields.filter((field) => !taken.includes(field));
  if (rest.length === 0) return whole;
  // What must be there and what may be left out can both be the same object's.
  const others = isLoosened ? objectText(rest) : formOf(rest, [base]);
  return `${whole} & ${others}`;
}

function partOf({ name, fields }: Named, taken: readonly Field[]): string {
  const names = new Set(taken.map((field) => field.name));
  const left = fields.filter((field) => !names.has(field.name));
  if (left.length === 0) return name;
  const omit = `Omit<${name}, ${unionOf(left)}>`;
  const pick = `Pick<${name}, ${unionOf(taken)}>`;
  return omit.length <= pick.length ? omit : pick;
}

function unionOf(fields: readonly Field[]): string {
  return fields.map(({ name }) => JSON.stringify(name)).join(" | ");
}

function objectText(fields: readonly Field[]): string {
  const lines = fields.map(({ name, optional, comment, type }) => {
    return `${comment}readonly ${name}${optional ? "?" : ""}: ${type};`;
  });
  // The formatter keeps an object on the lines that it comes on.
  const [only, ...others] = lines;
  if (only !== undefined && others.length === 0 && !only.includes("\n")) return `{ ${only} }`;
  return `{\n${lines.join("\n")}\n}`;
}

/** About as many lines as the formatter makes of it. */
function linesOf(text: string): number {
  return text.split("\n").reduce((sum, line) => {
    return sum + (line.length <= WIDTH ? 1 : 2 + line.split(" | ").length);
  }, 0);
}
