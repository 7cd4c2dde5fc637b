// Progress of a long run: a bar on a terminal, else a line every few seconds.

import type { Io } from "./io.ts";
import { CLEAR_LINE } from "./visible.ts";

const BAR = 24;
const DRAW_MS = 100;
const LINE_MS = 5_000;

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
    const text = words(state, now - this.#start);
    this.#io.err(this.#io.progress ? `${CLEAR_LINE}${bar(state.part)} ${text}` : `${text}\n`);
  }

  end(): void {
    if (this.#io.progress) this.#io.err(CLEAR_LINE);
  }
}

export function bar(part: number): string {
  const full = Math.round(part * BAR);
  return `[${"#".repeat(full)}${".".repeat(BAR - full)}]`;
}

function words({ lines, duplicates, refused, part }: State, spent_ms: number): string {
  const rate = Math.round((lines * 1000) / Math.max(spent_ms, 1));
  const left_s = part > 0 ? Math.round((spent_ms * (1 - part)) / part / 1000) : 0;
  const percent = Math.floor(part * 100);
  return `${lines} lines (${percent} %), ${rate}/s, ${duplicates} duplicates, ${refused} refused, ${left_s} s left`;
}
