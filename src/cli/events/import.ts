// Sends a file of usage events in batches. Safe to repeat: a transaction_id is counted once.

import { createReadStream, statSync } from "node:fs";
import type { Dues } from "../../client/dues.ts";
import { DuesError } from "../../client/error.ts";
import { monotonicMs } from "../../clock.ts";
import { exitOf } from "../connection/refusals.ts";
import { CliError, type EXIT, type Io } from "../terminal/io.ts";
import { LINE_MAX } from "../terminal/lines.ts";
import { plural } from "../terminal/output.ts";
import { Progress } from "../terminal/progress.ts";
import { type Line, readCsv, readNdjson } from "./lines.ts";
import { ImportReport, type RefusedLine } from "./report.ts";

export type ImportFlags = {
  readonly fromLine?: number;
  readonly batch: number;
  readonly report?: string;
};

export type ImportResult = Counts & {
  /** How many refused lines the report holds of lines above --from-line. */
  readonly refused_before: number;
  /** The file with the refused lines of this run and those before; null when there are none. */
  readonly report: string | null;
};

/** How much is sent at once: half of what the service takes in one request. */
const BATCH_BYTES_MAX = 4 * 1024 * 1024;
/** How many batches are under way: while one is being stored the next one is read and sent. */
const IN_FLIGHT_MAX = 2;

type Counts = {
  readonly lines: number;
  readonly accepted: number;
  readonly duplicates: number;
  readonly refused: number;
};

export async function importEvents(
  io: Io,
  dues: Dues,
  file: string,
  flags: ImportFlags,
): Promise<ImportResult> {
  const size = sizeOf(file);
  const reportFile = flags.report ?? `${file}.refused.ndjson`;
  const report = await ImportReport.at(reportFile, file, flags.fromLine ?? 1);
  const input = createReadStream(file, { highWaterMark: 256 * 1024 });
  const lines = file.toLowerCase().endsWith(".csv") ? readCsv(input) : readNdjson(input);
  const progress = new Progress(io, monotonicMs);
  let counts: Counts = { lines: 0, accepted: 0, duplicates: 0, refused: 0 };
  let last_line: number | undefined;
  const sending: Promise<SentBatch>[] = [];
  /** Waits for the oldest batch that is under way, and notes what became of it. */
  const noteOldest = async () => {
    const batch = await sending.shift();
    if (batch === undefined) return;
    await report.add(batch.refused);
    counts = addedUp(counts, batch);
    last_line = batch.last_line;
    const part = size === 0 ? 1 : Math.min(input.bytesRead / size, 1);
    progress.show(part, (spent_ms) => progressText(counts, part, spent_ms));
  };
  try {
    for await (const batch of batchesOf(lines, flags)) {
      const sent = sendBatch(dues, batch);
      // Its failure is thrown when it is the oldest; until then it must not count as unhandled.
      sent.catch(() => {});
      sending.push(sent);
      if (sending.length >= IN_FLIGHT_MAX) await noteOldest();
    }
    while (sending.length > 0) await noteOldest();
  } catch (error) {
    await Promise.allSettled(sending);
    throw stoppedAt(error, last_line, { counts, report });
  } finally {
    progress.end();
    await report.close();
    input.destroy();
  }
  const refused_before = report.before;
  const holds = counts.refused + refused_before > 0;
  return { ...counts, refused_before, report: holds ? report.file : null };
}

type SentBatch = {
  readonly lines: number;
  readonly accepted: number;
  readonly duplicates: number;
  readonly refused: readonly RefusedLine[];
  readonly last_line: number;
};

function addedUp(counts: Counts, batch: SentBatch): Counts {
  return {
    lines: counts.lines + batch.lines,
    accepted: counts.accepted + batch.accepted,
    duplicates: counts.duplicates + batch.duplicates,
    refused: counts.refused + batch.refused.length,
  };
}

type SoFar = { readonly counts: Counts; readonly report: ImportReport };

function stoppedAt(
  error: unknown,
  last_line: number | undefined,
  { counts, report }: SoFar,
): CliError {
  const message = error instanceof Error ? error.message : String(error);
  if (last_line === undefined) {
    return new CliError(exitNameOf(error), message, "No line is known to be stored.");
  }
  const { refused } = counts;
  const were = refused === 1 ? "was" : "were";
  const lines = `${plural(refused, "line")} of it ${were} refused`;
  const where = refused === 0 ? "" : ` ${lines}: ${report.file} says why.`;
  const hint = `All up to line ${last_line} was sent.${where} Run it again: what is stored counts once (--from-line ${last_line + 1} skips it).`;
  return new CliError(exitNameOf(error), message, hint);
}

/** "1200 lines (35 %), 800/s, 3 refused, 4 s left" */
export function progressText(counts: Counts, part: number, spent_ms: number): string {
  const { lines, duplicates, refused } = counts;
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

function exitNameOf(error: unknown): keyof typeof EXIT {
  if (error instanceof DuesError) return exitOf(error);
  return "failed";
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
    const length = bytesOf(line);
    if (batch.length >= flags.batch || (bytes + length > BATCH_BYTES_MAX && batch.length > 0)) {
      yield batch;
      [batch, bytes] = [[], 0];
    }
    batch.push(line);
    bytes += length;
  }
  if (batch.length > 0) yield batch;
}

/** The longer of the text, which is kept, and the event, which names each column of a CSV. */
function bytesOf({ text, event }: Line): number {
  const sent = event === undefined ? 0 : Buffer.byteLength(JSON.stringify(event)) + 1;
  return Math.max(Buffer.byteLength(text), sent);
}

async function sendBatch(dues: Dues, batch: readonly Line[]): Promise<SentBatch> {
  const good = batch.filter((line) => line.event !== undefined);
  const answer =
    good.length === 0
      ? { accepted: 0, duplicates: 0, refused: 0, results: [] }
      : await dues.sendEventBatch({ events: good.map((line) => line.event) });
  const unreadable = batch.flatMap(({ line, text, fault }) => {
    if (fault === undefined) return [];
    return [{ line, error: { code: "unreadable", message: fault }, text: text.slice(0, LINE_MAX) }];
  });
  const refused = (answer.refused === 0 ? [] : answer.results).flatMap(({ index, error }) => {
    const line = good[index];
    return error === undefined || line?.event === undefined
      ? []
      : [{ line: line.line, error, event: line.event }];
  });
  const { accepted, duplicates } = answer;
  return {
    lines: batch.length,
    accepted,
    duplicates,
    refused: [...unreadable, ...refused].toSorted((a, b) => a.line - b.line),
    last_line: batch.at(-1)?.line ?? 0,
  };
}
