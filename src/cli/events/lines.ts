// Reads usage events from NDJSON or CSV one by one, so that the size of the file does not matter.

import type { Readable } from "node:stream";
import { CsvError, parse } from "csv-parse/sync";
import { inexactNumberIn } from "../../domain/json-values.ts";
import { LINE_MAX, linesOf } from "../terminal/lines.ts";

/** A record, and the line it began on. `fault` is set when it could not be read. */
export type Line = {
  readonly line: number;
  readonly event?: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly fault?: string;
};

/** How many lines a quoted cell may go on for: a quote that is open longer was not meant as one. */
const CELL_LINES_MAX = 100;
const EVENT_COLUMNS = ["transaction_id", "subscription_id", "code", "value", "timestamp"];
const PROPERTY_PREFIX = "properties.";
const NUMBER_SHOWN_MAX = 40;

export async function* readNdjson(input: Readable): AsyncGenerator<Line> {
  let line = 0;
  for await (const text of linesOf(input)) {
    line++;
    if (text.trim() === "") continue;
    yield { line, text, ...eventOf(text.replace(/^\ufeff/, "")) };
  }
}

function eventOf(text: string): Pick<Line, "event" | "fault"> {
  if (text.length > LINE_MAX) return { fault: `The line is longer than ${LINE_MAX} characters.` };
  try {
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value)) {
      return { fault: "The line is not a JSON object." };
    }
    const inexact = inexactNumberIn(text);
    if (inexact !== undefined) return { fault: notKept(inexact) };
    return { event: value as Record<string, unknown> };
  } catch (error) {
    return { fault: `The line is not JSON: ${(error as Error).message}` };
  }
}

/** Why a number is refused: sent as it is read here, it would be billed as another one. */
function notKept(number: string): string {
  const shown = number.length > NUMBER_SHOWN_MAX ? `${number.slice(0, NUMBER_SHOWN_MAX)}…` : number;
  return `The number ${shown} cannot be kept exactly: write it with quotes.`;
}

/** The first record names the columns: those of an event, and `properties.<name>`. */
export async function* readCsv(input: Readable): AsyncGenerator<Line> {
  let columns: readonly string[] | undefined;
  for await (const { line, text, cells, fault = "" } of recordsOf(input, () => columns?.length)) {
    if (columns !== undefined) {
      yield { line, text, ...(cells ? { event: fromCells(columns, cells) } : { fault }) };
    } else if (cells === undefined) throw new Error(`The columns cannot be read. ${fault}`);
    else columns = columnsOf(cells);
  }
}

function columnsOf(cells: readonly string[]): readonly string[] {
  const columns = cells.map((cell) => cell.trim().replace(/^\ufeff/, ""));
  const unknown = columns.filter(
    (name) => !EVENT_COLUMNS.includes(name) && !name.startsWith(PROPERTY_PREFIX),
  );
  if (unknown.length === 0) return columns;
  throw new Error(
    `Columns that no event has: ${unknown.join(", ")}. There are ${EVENT_COLUMNS.join(", ")} and properties.<name>.`,
  );
}

function fromCells(columns: readonly string[], cells: readonly string[]): Record<string, unknown> {
  const event: Record<string, unknown> = {};
  const properties: Record<string, string> = {};
  for (const [i, name] of columns.entries()) {
    const cell = cells[i] ?? "";
    if (cell === "") continue;
    if (name.startsWith(PROPERTY_PREFIX)) properties[name.slice(PROPERTY_PREFIX.length)] = cell;
    else event[name] = cell;
  }
  return Object.keys(properties).length > 0 ? { ...event, properties } : event;
}

type Numbered = { readonly line: number; readonly text: string };
type CsvRecord = Numbered & { readonly cells?: readonly string[]; readonly fault?: string };

const QUOTES =
  'A quote stands inside a cell, or is not closed: write the whole cell in quotes, and quotes of its own twice, as "say ""hi""".';

/** Lines with their numbers; what was read ahead can be given back. */
class Lines {
  readonly #lines: AsyncGenerator<string>;
  #line = 0;
  #back: Numbered[] = [];

  constructor(input: Readable) {
    this.#lines = linesOf(input);
  }

  async next(): Promise<Numbered | undefined> {
    const kept = this.#back.shift();
    if (kept !== undefined) return kept;
    const { value, done } = await this.#lines.next();
    if (done) return undefined;
    this.#line += 1;
    return { line: this.#line, text: value };
  }

  unread(lines: readonly Numbered[]): void {
    this.#back = [...lines, ...this.#back];
  }
}

async function* recordsOf(
  input: Readable,
  width: () => number | undefined,
): AsyncGenerator<CsvRecord> {
  const lines = new Lines(input);
  for (let first = await lines.next(); first !== undefined; first = await lines.next()) {
    if (first.text.trim() !== "") yield await recordFrom(first, lines, width());
  }
}

/**
 * One record by RFC 4180, where a quoted cell may hold line ends. If the lines that a quote holds
 * together make no record, the first of them alone is refused, and the others are read again.
 */
async function recordFrom(
  first: Numbered,
  lines: Lines,
  width: number | undefined,
): Promise<CsvRecord> {
  const more: Numbered[] = [];
  let { text } = first;
  let isOpen = quotesIn(text) % 2 === 1;
  while (isOpen && more.length < CELL_LINES_MAX && text.length < LINE_MAX) {
    const next = await lines.next();
    if (next === undefined) break;
    more.push(next);
    text += `\n${next.text}`;
    isOpen = quotesIn(next.text) % 2 === 0;
  }
  const cells = isOpen ? undefined : cellsOf(text);
  const fits = cells !== undefined && (width === undefined || cells.length === width);
  if (fits) return { ...first, text, cells };
  lines.unread(more);
  if (cells === undefined || more.length > 0) return { ...first, fault: QUOTES };
  return { ...first, fault: `There are ${cells.length} cells for ${width} columns.` };
}

function quotesIn(text: string): number {
  return text.split('"').length - 1;
}

/** The cells of a record; undefined where a quote stands where none can. */
function cellsOf(text: string): readonly string[] | undefined {
  if (!text.includes('"')) return text.split(",");
  try {
    const records = parse(text, { relax_column_count: true, record_delimiter: "\n" });
    return records.length === 1 ? records[0] : undefined;
  } catch (error) {
    if (error instanceof CsvError) return undefined;
    throw error;
  }
}
