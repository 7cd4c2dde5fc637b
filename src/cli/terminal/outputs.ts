// The two outputs of the process, and what becomes of a command when one of them cannot be written
// any more: its reader closed it, or the disk is full.

import type { Writable } from "node:stream";
import { EXIT, type Run } from "./io.ts";

type Name = "out" | "err";

const CLOSED = "EPIPE";

export class Outputs {
  readonly #run: Run;
  readonly #streams: Readonly<Record<Name, Writable>>;
  readonly #leave: (code: number) => void;
  #ended = false;

  /** `leave` ends the process at once. */
  constructor(run: Run, out: Writable, err: Writable, leave: (code: number) => void) {
    this.#run = run;
    this.#streams = { out, err };
    this.#leave = leave;
    out.on("error", (error) => this.#lose("out", error));
    err.on("error", (error) => this.#lose("err", error));
  }

  // Handed on as functions, without their object.
  readonly out = (text: string): void => this.#write("out", text);
  readonly err = (text: string): void => this.#write("err", text);

  /** The exit code of a command that ended with `code`, when all it printed is written or lost. */
  async end(code: number): Promise<number> {
    this.#ended = true;
    await Promise.all([this.#flushed("out"), this.#flushed("err")]);
    const { lost, effect, if_lost } = this.#run;
    const error = lost.out ?? lost.err;
    if (error === undefined) return code;
    if (effect === "reads") return this.#codeOfReading(code);
    this.err(
      code === EXIT.done
        ? `dues: ${lostText(error)} What the command was to do is done.\n${if_lost ?? ""}`
        : `dues: ${lostText(error)}\n${if_lost ?? ""}`,
    );
    await this.#flushed("err");
    return code === EXIT.done ? EXIT.failed : code;
  }

  #write(name: Name, text: string): void {
    if (this.#run.lost[name] === undefined) this.#streams[name].write(text);
  }

  #lose(name: Name, error: Error): void {
    if (this.#run.lost[name] !== undefined) return;
    this.#run.lost[name] = error;
    if (this.#ended || this.#run.effect === "writes" || name === "err") return;
    // Nobody is left to read for.
    this.#leave(this.#codeOfReading(EXIT.done));
  }

  /** Whoever has read enough of it has what was wanted; a full disk has not. */
  #codeOfReading(code: number): number {
    const { out } = this.#run.lost;
    if (out === undefined || isClosed(out) || code !== EXIT.done) return code;
    this.err(`dues: ${lostText(out)}\n`);
    return EXIT.failed;
  }

  /** Resolves when what was written before is written, or its failure is known. */
  #flushed(name: Name): Promise<void> {
    return new Promise((resolve) => {
      if (this.#run.lost[name] !== undefined) return resolve();
      this.#streams[name].write("", () => setImmediate(resolve));
    });
  }
}

function isClosed(error: NodeJS.ErrnoException): boolean {
  return error.code === CLOSED;
}

function lostText(error: Error): string {
  if (isClosed(error)) return "The output was closed before all of it was written.";
  return `The output cannot be written: ${error.message}.`;
}
