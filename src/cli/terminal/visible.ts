// What may reach a terminal. Text of records, files and answers can hold characters that move the
// cursor, set colours or turn the direction of what follows; those are shown escaped, whoever
// prints. Only the sequences that this tool makes itself pass, and no text can hold them: they are
// written with a word that is drawn anew in each process.

import { randomBytes } from "node:crypto";

const WORD = randomBytes(16).toString("hex");
/** These stand for ESC and for a carriage return, until they are printed. */
const OWN_ESCAPE = `\u0000${WORD}e`;
const OWN_RETURN = `\u0000${WORD}r`;

/** Begins the line anew. */
export const CLEAR_LINE = `${OWN_RETURN}${OWN_ESCAPE}[K`;

export function colored(code: number, text: string): string {
  return `${OWN_ESCAPE}[${code}m${text}${OWN_ESCAPE}[0m`;
}

/** Control characters, and those that override the direction of text. */
const HIDDEN = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;
const HIDDEN_BUT_NEW_LINES = /(?!\n)[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu;
/** Hidden characters that JSON.stringify leaves as they are. */
const HIDDEN_IN_JSON = /[\u007f-\u009f\u202a-\u202e\u2066-\u2069]/g;

function escaped(char: string): string {
  const code = char.charCodeAt(0);
  return code < 0x100
    ? `\\x${code.toString(16).padStart(2, "0")}`
    : `\\u${code.toString(16).padStart(4, "0")}`;
}

/** One line, whatever the text holds. */
export function visible(text: string): string {
  return text.replace(HIDDEN, escaped);
}

/** What a stream is given: lines, and of control sequences only our own. */
export function printable(text: string): string {
  return text
    .split(OWN_ESCAPE)
    .map((part) => part.split(OWN_RETURN).map(visibleLines).join("\r"))
    .join("\u001b");
}

function visibleLines(text: string): string {
  return text.replace(HIDDEN_BUT_NEW_LINES, escaped);
}

/** Escapes hidden characters: in JSON, and in a quoted scalar of YAML, the value is the same. */
export function visibleJson(text: string): string {
  return text.replace(HIDDEN_IN_JSON, (char) => {
    return `\\u${char.charCodeAt(0).toString(16).padStart(4, "0")}`;
  });
}
