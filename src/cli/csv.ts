// Reads events from NDJSON or CSV one by one, so that the size of the file does not matter.

import type { Readable } from "node:stream";

/** A record, and the line it began on. `fault` is set when it could not be read. */
export type Line = {
  readonly line: number;
  readonly event?: Readonly<Record<string, unknown>>;
  readonly text: string;
  readonly fault?: string;
};

const LINE_MAX = 128 * 1024;
const EVENT_COLUMNS = ["transaction_id", "subscription_id", "code", "value", "timestamp"];
const PROPERTY_PREFIX = "properties.";

/** Lines without line ends. One over LINE_MAX is cut, to bound memory: it is refused later. */
async function* linesOf(input: Readable): AsyncGenerator<string> {
  let rest = "";
  input.setEncoding("utf8");
  for await (const chunk of input as AsyncIterable<string>) {
    const parts = (rest + chunk).split("\n");
    rest = (parts.pop() ?? "").slice(0, LINE_MAX + 1);
    for (const part of parts) yield part.endsWith("\r") ? part.slice(0, -1) : part;
  }
  if (rest !== "") yield rest;
}

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
    if (typeof value === "object" && value !== null && !Array.isArray(value)) {
      return { event: value as Record<string, unknown> };
    }
    return { fault: "The line is not a JSON object." };
  } catch (error) {
    return { fault: `The line is not JSON: ${(error as Error).message}` };
  }
}

/** The first record names the columns: those of an event, and `properties.<name>`. */
export async function* readCsv(input: Readable): AsyncGenerator<Line> {
  let columns: readonly string[] | undefined;
  for await (const { line, cells, text } of recordsOf(input)) {
    if (columns === undefined) {
      columns = cells.map((cell) => cell.trim().replace(/^\ufeff/, ""));
      const unknown = columns.filter(
        (name) => !EVENT_COLUMNS.includes(name) && !name.startsWith(PROPERTY_PREFIX),
      );
      if (unknown.length > 0) {
        throw new Error(
          `Columns that no event has: ${unknown.join(", ")}. There are ${EVENT_COLUMNS.join(", ")} and properties.<name>.`,
        );
      }
      continue;
    }
    if (cells.length !== columns.length) {
      const fault = `There are ${cells.length} cells for ${columns.length} columns.`;
      yield { line, text, fault };
    } else yield { line, text, event: fromCells(columns, cells) };
  }
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

type CsvRecord = { readonly line: number; readonly cells: string[]; readonly text: string };

/** RFC 4180: a quoted cell may hold commas, quotes written twice, and line ends. */
async function* recordsOf(input: Readable): AsyncGenerator<CsvRecord> {
  let [line, start, text] = [0, 0, ""];
  for await (const part of linesOf(input)) {
    line++;
    if (text === "" && part.trim() === "") continue;
    if (text === "") start = line;
    text = text === "" ? part : `${text}\n${part}`;
    const open = (text.match(/"/g)?.length ?? 0) % 2 === 1;
    if (open && text.length < LINE_MAX) continue;
    yield { line: start, cells: cellsOf(text), text };
    text = "";
  }
  if (text !== "") yield { line: start, cells: cellsOf(text), text };
}

function cellsOf(text: string): string[] {
  const cells: string[] = [];
  const cell = /(?:"((?:[^"]|"")*)"|([^,]*))(,|$)/gy;
  for (let found = cell.exec(text); found !== null; found = cell.exec(text)) {
    cells.push(found[1] === undefined ? (found[2] ?? "") : found[1].replaceAll('""', '"'));
    if (found[3] === "") break;
  }
  return cells;
}
