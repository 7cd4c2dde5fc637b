// The demo's progress: a bar that moves on a terminal, else a line every few seconds.

import { monotonicMs } from "../../clock.ts";
import type { Io } from "../io.ts";
import { bar } from "../progress.ts";
import { CLEAR_LINE } from "../visible.ts";

const LINE_MS = 5_000;

export class Bar {
  readonly #io: Io;
  #shown: number;

  constructor(io: Io) {
    this.#io = io;
    this.#shown = monotonicMs();
  }

  show({ part, text }: { readonly part: number; readonly text: string }): void {
    if (this.#io.progress) {
      this.#io.err(`${CLEAR_LINE}${bar(part)} ${text}`);
      return;
    }
    const now = monotonicMs();
    if (now - this.#shown < LINE_MS) return;
    this.#shown = now;
    this.#io.err(`${Math.floor(part * 100)} %: ${text}\n`);
  }

  end(): void {
    if (this.#io.progress) this.#io.err(CLEAR_LINE);
  }
}
