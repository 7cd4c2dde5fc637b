// Progress of a long run: a bar on a terminal, else a line every few seconds where one is wanted.

import type { Io } from "./io.ts";
import { CLEAR_LINE } from "./visible.ts";
import { cut, type Measure } from "./widths.ts";

const BAR = 24;
const DRAW_MS = 100;
const LINE_MS = 5_000;
/** Where a terminal does not say how wide it is. */
const COLUMNS = 80;

export class Progress {
  readonly #io: Io;
  readonly #now: () => number;
  readonly #isQuiet: boolean;
  readonly #start: number;
  #shown: number;

  /** `quiet`: says nothing where it cannot draw, for a command that is run by a timer. */
  constructor(io: Io, now: () => number, { quiet = false } = {}) {
    this.#isQuiet = quiet && !io.progress;
    this.#io = io;
    this.#now = now;
    this.#start = now();
    // A bar is drawn at once; a run that is over soon needs no line.
    this.#shown = io.progress ? Number.NEGATIVE_INFINITY : this.#start;
  }

  /**
   * `part` is how much is done, 0 to 1; undefined where nobody knows how much there is. The text is
   * made when it is shown, which is not always.
   */
  show(part: number | undefined, text: (spent_ms: number) => string): void {
    if (this.#isQuiet) return;
    const now = this.#now();
    if (now - this.#shown < (this.#io.progress ? DRAW_MS : LINE_MS)) return;
    this.#shown = now;
    const line = text(now - this.#start);
    if (this.#io.progress) drawLine(this.#io, part === undefined ? line : `${bar(part)} ${line}`);
    else this.#io.err(`${line}\n`);
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
