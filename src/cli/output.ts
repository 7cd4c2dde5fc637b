// How results look: aligned tables, money, colours where a terminal shows them.

import { CURRENCIES } from "../schema/currencies.ts";
import type { Io } from "./io.ts";
import { colored, visible } from "./visible.ts";

export type Column<Row> = {
  readonly title: string;
  readonly right?: true;
  /** Left out when no row has a value here. */
  readonly where_set?: true;
  readonly of: (row: Row) => string | number | null | undefined;
};

export function table<Row>(all: readonly Column<Row>[], rows: readonly Row[]): string {
  const columns = all.filter(({ where_set, of }) => {
    return where_set === undefined || rows.some((row) => clean(of(row)) !== clean(null));
  });
  const cells = [
    columns.map(({ title }) => title),
    ...rows.map((row) => columns.map(({ of }) => clean(of(row)))),
  ];
  const widths = columns.map((_, i) => Math.max(...cells.map((line) => width(line[i] ?? ""))));
  return cells
    .map((line) => {
      const padded = line.map((cell, i) => {
        const gap = " ".repeat((widths[i] ?? 0) - width(cell));
        return columns[i]?.right ? gap + cell : cell + gap;
      });
      return `${padded.join("  ").trimEnd()}\n`;
    })
    .join("");
}

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

function width(text: string): number {
  return [...text].length;
}

/** 4900 USD is "49.00 USD", 4900 JPY "4900 JPY". */
export function money(cents: number, currency: string): string {
  const exponent = CURRENCIES[currency] ?? 2;
  const digits = String(Math.abs(cents)).padStart(exponent + 1, "0");
  const whole = digits.slice(0, digits.length - exponent);
  const rest = exponent === 0 ? "" : `.${digits.slice(-exponent)}`;
  return `${cents < 0 ? "-" : ""}${whole}${rest} ${currency}`;
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
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    const longer = `${last} ${word}`;
    if (last === undefined || width(longer) > TERMINAL_WIDTH) lines.push(word);
    else lines[lines.length - 1] = longer;
  }
  return `${lines.join("\n")}\n`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${count} ${count === 1 ? one : many}`;
}

const STYLES = { bold: 1, dim: 2, red: 31, green: 32, yellow: 33 } as const;

export function styled(io: Io, style: keyof typeof STYLES, text: string): string {
  return io.color ? colored(STYLES[style], text) : text;
}
