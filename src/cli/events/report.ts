// The report of an import: the lines of usage that were refused, and why. A run that goes on from
// a later line keeps what was reported of the lines before.

import { createReadStream, realpathSync } from "node:fs";
import { checkWritable, isRegular, Journal, removeFile, writeWhole } from "../terminal/files.ts";
import { CliError } from "../terminal/io.ts";
import { LINE_MAX, linesOf } from "../terminal/lines.ts";

export type RefusedLine = {
  readonly line: number;
  readonly error: object;
  /** What stood there: the event, or the text where it could not be read. */
  readonly event?: object;
  readonly text?: string;
};

/** The longest entry: the line as JSON, which may take six characters for one, and its reason. */
const ENTRY_MAX = 7 * LINE_MAX;

export class ImportReport {
  readonly file: string;
  readonly #from_line: number;
  #journal: Journal | undefined;
  #started = false;
  #before = 0;

  private constructor(file: string, from_line: number) {
    this.file = file;
    this.#from_line = from_line;
  }

  /** Changes nothing yet: refuses a file that holds something else, or that cannot be written. */
  static async at(file: string, input: string, from_line: number): Promise<ImportReport> {
    if (realPath(file) === realPath(input)) {
      throw new CliError("usage", `${file} is the input.`, "Name another file with --report.");
    }
    await checkWritable(file);
    await refuseOther(file);
    return new ImportReport(file, from_line);
  }

  /** How many lines before the first of this run are in it. */
  get before(): number {
    return this.#before;
  }

  /** Adds lines of this run. With the first of them an earlier report of the run is out of date. */
  async add(lines: readonly RefusedLine[]): Promise<void> {
    if (!this.#started) await this.#start();
    this.#started = true;
    if (lines.length === 0) return;
    this.#journal ??= await Journal.open(this.file);
    await this.#journal.add(lines);
  }

  async close(): Promise<void> {
    await this.#journal?.close();
  }

  async #start(): Promise<void> {
    if (!(await isRegular(this.file))) return;
    if (this.#from_line > 1) {
      this.#before = await this.#keepBefore();
      if (this.#before > 0) return;
    }
    await removeFile(this.file);
  }

  /** What an earlier run told of lines that this one sends again is left out. */
  async #keepBefore(): Promise<number> {
    let kept = 0;
    await writeWhole(this.file, { replace: true, mode: 0o600 }, async (put) => {
      for await (const text of linesOf(createReadStream(this.file), ENTRY_MAX)) {
        const line = refusedLine(text);
        if (line === undefined || line >= this.#from_line) continue;
        await put(`${text}\n`);
        kept += 1;
      }
    });
    return kept;
  }
}

/** The path without links; undefined where there is no file. */
function realPath(file: string): string | undefined {
  try {
    return realpathSync(file);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT" || code === "ENOTDIR") return undefined;
    throw new CliError("failed", `${file} cannot be read: ${(error as Error).message}`);
  }
}

/** The number of a line that was refused; undefined where a text is no entry of a report. */
function refusedLine(text: string): number | undefined {
  try {
    const entry = JSON.parse(text) as { readonly line?: unknown; readonly error?: unknown } | null;
    const isEntry = typeof entry?.line === "number" && typeof entry.error === "object";
    return isEntry ? (entry.line as number) : undefined;
  } catch {
    return undefined;
  }
}

/** Refuses a file that is neither empty nor begins as a report does. */
async function refuseOther(file: string): Promise<void> {
  if (!(await isRegular(file))) return;
  const input = createReadStream(file);
  try {
    for await (const text of linesOf(input, ENTRY_MAX)) {
      if (refusedLine(text) !== undefined) return;
      const hint = "Nothing was sent. Name another file with --report, or move this one away.";
      throw new CliError("failed", `${file} is there and is no report of an import.`, hint);
    }
  } finally {
    input.destroy();
  }
}
