// Sends a file of usage events in batches. Safe to repeat: a transaction_id is counted once.

import { once } from "node:events";
import { createReadStream, createWriteStream, rmSync, statSync, type WriteStream } from "node:fs";
import type { Dues } from "../client/dues.ts";
import { monotonicMs } from "../clock.ts";
import { type Line, readCsv, readNdjson } from "./event-lines.ts";
import { CliError, type Io } from "./io.ts";
import { Progress } from "./progress.ts";

export type ImportFlags = {
  readonly fromLine?: number;
  readonly batch: number;
  readonly report?: string;
};

export type ImportResult = {
  readonly lines: number;
  readonly accepted: number;
  readonly duplicates: number;
  readonly refused: number;
  readonly report: string | null;
};

const BATCH_BYTES_MAX = 4 * 1024 * 1024;
/** While one batch is being stored the next one is read and sent. */
const IN_FLIGHT_MAX = 2;

type Counts = { lines: number; accepted: number; duplicates: number; refused: number };

export async function importEvents(
  io: Io,
  dues: Dues,
  file: string,
  flags: ImportFlags,
): Promise<ImportResult> {
  const size = sizeOf(file);
  const input = createReadStream(file, { highWaterMark: 256 * 1024 });
  const lines = file.toLowerCase().endsWith(".csv") ? readCsv(input) : readNdjson(input);
  const counts: Counts = { lines: 0, accepted: 0, duplicates: 0, refused: 0 };
  const report = new Report(flags.report ?? `${file}.refused.ndjson`);
  const progress = new Progress(io, monotonicMs);
  let [stored, sent] = [0, 0];
  const waiting: { last: number; done: Promise<void> }[] = [];
  const settle = async () => {
    const first = waiting.shift();
    if (first === undefined) return;
    await first.done;
    stored = first.last;
    progress.show({ ...counts, part: size === 0 ? 1 : Math.min(input.bytesRead / size, 1) });
  };
  try {
    for await (const batch of batchesOf(lines, flags)) {
      const last = batch.at(-1)?.line ?? sent;
      sent = last;
      const done = sendBatch(dues, batch, counts, report);
      // Its failure is thrown by settle(); until then it must not count as unhandled.
      done.catch(() => {});
      waiting.push({ last, done });
      if (waiting.length >= IN_FLIGHT_MAX) await settle();
    }
    while (waiting.length > 0) await settle();
  } catch (error) {
    progress.end();
    await Promise.allSettled(waiting.map(({ done }) => done));
    throw stoppedAt(error, stored);
  } finally {
    await report.close();
    input.destroy();
  }
  progress.end();
  return { ...counts, report: counts.refused > 0 ? report.file : null };
}

function stoppedAt(error: unknown, stored: number): CliError {
  const message = error instanceof Error ? error.message : String(error);
  const hint = `All up to line ${stored} is stored. Run it again: what is stored counts once (--from-line ${stored + 1} skips it).`;
  return new CliError("failed", message, hint);
}

function sizeOf(file: string): number {
  try {
    return statSync(file).size;
  } catch (error) {
    throw new CliError("failed", `${file} cannot be read: ${(error as Error).message}`);
  }
}

async function* batchesOf(lines: AsyncIterable<Line>, flags: ImportFlags): AsyncGenerator<Line[]> {
  let batch: Line[] = [];
  let bytes = 0;
  for await (const line of lines) {
    if (line.line < (flags.fromLine ?? 0)) continue;
    const length = Buffer.byteLength(line.text) + 200;
    if (batch.length >= flags.batch || (bytes + length > BATCH_BYTES_MAX && batch.length > 0)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(line);
    bytes += length;
  }
  if (batch.length > 0) yield batch;
}

async function sendBatch(
  dues: Dues,
  batch: readonly Line[],
  counts: Counts,
  report: Report,
): Promise<void> {
  const good = batch.filter((line) => line.event !== undefined);
  const answer =
    good.length === 0
      ? { accepted: 0, duplicates: 0, refused: 0, results: [] }
      : await dues.sendEventBatch({ events: good.map((line) => line.event) });
  counts.lines += batch.length;
  counts.accepted += answer.accepted;
  counts.duplicates += answer.duplicates;
  counts.refused += answer.refused + batch.length - good.length;
  for (const { line, text, fault } of batch) {
    if (fault !== undefined)
      await report.add({ line, error: { code: "unreadable", message: fault }, text });
  }
  if (answer.refused === 0) return;
  for (const { index, error } of answer.results) {
    const refused = good[index];
    if (error !== undefined && refused !== undefined) {
      await report.add({ line: refused.line, error, event: refused.event });
    }
  }
}

/** The file of refused lines and reasons. It is only made when there is something to report. */
class Report {
  readonly file: string;
  #stream: WriteStream | undefined;

  constructor(file: string) {
    this.file = file;
    rmSync(file, { force: true });
  }

  async add(entry: object): Promise<void> {
    this.#stream ??= createWriteStream(this.file, { mode: 0o600 });
    if (!this.#stream.write(`${JSON.stringify(entry)}\n`)) await once(this.#stream, "drain");
  }

  async close(): Promise<void> {
    const stream = this.#stream;
    if (stream === undefined) return;
    stream.end();
    await once(stream, "close");
  }
}
