// How results look: fields, money, prose, colours where a terminal shows them.

import { decimalText } from "../../domain/money.ts";
import { CURRENCIES } from "../../schema/currencies.ts";
import type { Io } from "./io.ts";
import { colored, visible } from "./visible.ts";
import { wrap } from "./widths.ts";

/** Fields of one record, one per line. */
export function fields(record: object): string {
  const entries = Object.entries(record).filter(([, value]) => value !== undefined);
  const wide = Math.max(0, ...entries.map(([name]) => name.length));
  return entries
    .map(([name, value]) => {
      const text = typeof value === "object" && value !== null ? JSON.stringify(value) : value;
      return `${name.padEnd(wide)}  ${clean(text as string | number | null)}\n`;
    })
    .join("");
}

/** A value as one line. */
export function clean(value: string | number | boolean | null | undefined): string {
  if (value === null || value === undefined || value === "") return "-";
  return visible(String(value));
}

/** 4900 USD is "49.00 USD", 4900 JPY "4900 JPY". */
export function money(cents: number, currency: string): string {
  return `${amountText(cents, currency)} ${currency}`;
}

/** The amount without its currency. One that this version does not know has two places. */
export function amountText(cents: number, currency: string): string {
  return decimalText(cents, CURRENCIES[currency] ?? 2);
}

const BYTE_UNITS = ["kB", "MB", "GB", "TB", "PB"];

/** 1536 is "1.5 kB": PostgreSQL counts in steps of 1024, and so does this. */
export function byteSize(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const step = Math.min(Math.floor(Math.log2(bytes) / 10), BYTE_UNITS.length);
  return `${Math.round((bytes / 1024 ** step) * 10) / 10} ${BYTE_UNITS[step - 1]}`;
}

const TERMINAL_WIDTH = 80;

/** Prose in lines that a terminal shows whole. A longer word, such as a name, stays whole. */
export function wrapped(text: string): string {
  return `${wrap(text, TERMINAL_WIDTH, (line) => line.length).join("\n")}\n`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

/** What `count=1` adds to a page. */
type Counted = {
  readonly total_count?: number | null;
  readonly total_at_least?: number;
};

/** "12 subscriptions", or "more than 100000 subscriptions" where they were not all counted. */
export function countText({ total_count, total_at_least = 0 }: Counted, one: string): string {
  return total_count === null
    ? `more than ${plural(total_at_least, one)}`
    : plural(total_count ?? 0, one);
}

const STYLES = { plain: 0, bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;

export type Style = keyof typeof STYLES;

export function styled(io: Pick<Io, "color">, style: Style, text: string): string {
  return io.color && style !== "plain" ? colored(STYLES[style], text) : text;
}
