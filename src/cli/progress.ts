// Progress of a long run: a bar on a terminal, else a line every few seconds.

import type { Io } from "./io.ts";
import { CLEAR_LINE } from "./visible.ts";
import { cut, type Measure } from "./widths.ts";

const BAR = 24;
const DRAW_MS = 100;
const LINE_MS = 5_000;
/** Where a terminal does not say how wide it is. */
const COLUMNS = 80;

export type State = {
  readonly lines: number;
  readonly accepted: number;
  readonly duplicates: number;
  readonly refused: number;
  /** How much of the file was read, 0 to 1. */
  readonly part: number;
};

export class Progress {
  readonly #io: Io;
  readonly #now: () => number;
  readonly #start: number;
  #shown: number;

  constructor(io: Io, now: () => number) {
    this.#io = io;
    this.#now = now;
    this.#start = now();
    this.#shown = this.#start;
  }

  show(state: State): void {
    const now = this.#now();
    if (now - this.#shown < (this.#io.progress ? DRAW_MS : LINE_MS)) return;
    this.#shown = now;
    const text = progressText(state, now - this.#start);
    if (this.#io.progress) drawLine(this.#io, `${bar(state.part)} ${text}`);
    else this.#io.err(`${text}\n`);
  }

  end(): void {
    if (this.#io.progress) this.#io.err(CLEAR_LINE);
  }
}

/** Draws a line in place of the last one. A longer one would wrap, and could not be drawn over. */
export function drawLine(io: Io, text: string, measure: Measure = (part) => part.length): void {
  const columns = io.errColumns?.() ?? COLUMNS;
  io.err(`${CLEAR_LINE}${cut(text, columns - 1, measure)}`);
}

export function bar(part: number): string {
  const full = Math.round(part * BAR);
  return `[${"#".repeat(full)}${".".repeat(BAR - full)}]`;
}

function progressText({ lines, duplicates, refused, part }: State, spent_ms: number): string {
  const rate = Math.round((lines * 1000) / Math.max(spent_ms, 1));
  const left_s = part > 0 ? Math.round((spent_ms * (1 - part)) / part / 1000) : 0;
  return [
    `${lines} lines (${Math.floor(part * 100)} %)`,
    `${rate}/s`,
    ...(duplicates === 0 ? [] : [`${duplicates} known`]),
    ...(refused === 0 ? [] : [`${refused} refused`]),
    `${left_s} s left`,
  ].join(", ");
}
