// The file of a backup: gzip of text, so that it can be read without dues. A line of JSON that says
// what it is; for each table a line with its columns, its rows as COPY writes them, `\.` and a line
// with their number; last a line with the SHA-256 of all that came before it.

import { createHash, type Hash } from "node:crypto";
import { once } from "node:events";
import { createReadStream } from "node:fs";
import type { Writable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import type { Applied } from "../migration/migrate.ts";

const FORMAT = "dues backup";
const FORMAT_VERSION = 1;
/** Level 1 made 26.4 MB of 109 MB of events in 1.6 s, level 6 25.5 MB in 4.2 s. */
const GZIP_LEVEL = 1;
const READ_BYTES = 256 * 1024;
const END_OF_ROWS = Buffer.from("\\.\n");
const LAST_LINE = /^\{"sha256":"([0-9a-f]{64})"\}\n$/;
const LAST_LINE_BYTES = 78;
/** Longer than any line of ours: a file without one in this much is not a backup. */
const LINE_BYTES_MAX = 1024 * 1024;

/** The file is not a backup, is damaged, or does not fit. The message says what to do. */
export class BackupError extends Error {}

export type BackupHeader = {
  readonly format: typeof FORMAT;
  readonly format_version: number;
  readonly created_at: string;
  /** The version of PostgreSQL, in words. */
  readonly server_version: string;
  readonly migrations: readonly Applied[];
  /** Recognises the key that the database belongs to; null before its first start. */
  readonly secret_check: string | null;
  /** The key itself, in a backup that was made with it. */
  readonly secret_key?: string;
};

export type BackupTable = { readonly table: string; readonly columns: readonly string[] };

export function headerOf(facts: Omit<BackupHeader, "format" | "format_version">): BackupHeader {
  return { format: FORMAT, format_version: FORMAT_VERSION, ...facts };
}

/** Writes a backup into a stream. */
export class BackupWriter {
  readonly #hash = createHash("sha256");
  readonly #gzip = createGzip({ level: GZIP_LEVEL });
  readonly #written: Promise<void>;

  constructor(target: Writable, header: BackupHeader) {
    this.#written = pipeline(this.#gzip, target);
    // `#drained` and `end` await it too, and pass a failure on.
    this.#written.catch(() => {});
    this.#put(line(header));
  }

  startTable(table: BackupTable): void {
    this.#put(line(table));
  }

  /** Writes rows; returns a promise when the caller must wait before writing more. */
  write(bytes: Buffer): Promise<void> | undefined {
    return this.#put(bytes) ? undefined : this.#drained();
  }

  async endTable(rows: number): Promise<void> {
    this.#put(END_OF_ROWS);
    if (!this.#put(line({ rows }))) await this.#drained();
  }

  /** Ends the file and returns its checksum. */
  async end(): Promise<string> {
    const sha256 = this.#hash.digest("hex");
    this.#gzip.end(line({ sha256 }));
    await this.#written;
    return sha256;
  }

  #put(bytes: Buffer): boolean {
    this.#hash.update(bytes);
    return this.#gzip.write(bytes);
  }

  async #drained(): Promise<void> {
    await Promise.race([once(this.#gzip, "drain"), this.#written]);
  }
}

function line(value: object): Buffer {
  return Buffer.from(`${JSON.stringify(value)}\n`);
}

/** Told how many bytes of the file were read so far. */
export type OnBytesRead = (bytes: number) => void;

/** Reads the whole file and compares its checksum. Returns what its first line says. */
export async function verifyBackup(file: string, onProgress: OnBytesRead): Promise<BackupHeader> {
  const hash = createHash("sha256");
  let first: Buffer = Buffer.alloc(0);
  let tail: Buffer = Buffer.alloc(0);
  try {
    for await (const chunk of contentsOf(file, onProgress)) {
      if (!first.includes(10) && first.length < LINE_BYTES_MAX) first = joined(first, chunk);
      tail = hashAllButTail(hash, tail, chunk);
    }
  } catch (error) {
    throw readFault(file, error);
  }
  const header = parseHeader(file, first);
  const [, sha256] = LAST_LINE.exec(tail.toString("latin1")) ?? [];
  if (sha256 === hash.digest("hex")) return header;
  throw damaged(file, "its checksum does not match");
}

/** Hashes all but as much as the last line has: that is not part of its own checksum. */
function hashAllButTail(hash: Hash, tail: Buffer, chunk: Buffer): Buffer {
  const both = joined(tail, chunk);
  const end = Math.max(0, both.length - LAST_LINE_BYTES);
  hash.update(both.subarray(0, end));
  return both.subarray(end);
}

function parseHeader(file: string, first: Buffer): BackupHeader {
  const found = parsed(first.subarray(0, first.indexOf(10))) as Partial<BackupHeader> | undefined;
  if (found?.format !== FORMAT) throw notOurs(file);
  if (found.format_version !== FORMAT_VERSION) {
    throw new BackupError(
      `${file} was written by a newer version of dues (format ${found.format_version}). ` +
        "Restore it with that version.",
    );
  }
  return found as BackupHeader;
}

function parsed(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString("utf8"));
  } catch {
    return undefined;
  }
}

export type TableRows = BackupTable & {
  /** Rows, to be read to the end before the next table is asked for. */
  readonly rows: AsyncIterable<Buffer>;
  /** The number of rows; known when they were read. */
  count(): number;
};

/** The tables of a backup, one after the other. */
export async function* readTables(
  file: string,
  onProgress: OnBytesRead,
): AsyncGenerator<TableRows> {
  const reader = new LineReader(file, contentsOf(file, onProgress));
  try {
    await reader.json();
    for (;;) {
      const { table, columns } = await reader.json<Partial<BackupTable>>();
      if (table === undefined || columns === undefined) return;
      let count = -1;
      const rows = (async function* () {
        yield* reader.rows();
        count = (await reader.json<{ rows: number }>()).rows;
      })();
      yield { table, columns, rows, count: () => count };
    }
  } finally {
    await reader.close();
  }
}

/** Takes lines, and rows up to the mark of their end, from a stream of chunks. */
class LineReader {
  readonly #file: string;
  readonly #chunks: AsyncGenerator<Buffer>;
  #held: Buffer = Buffer.alloc(0);

  constructor(file: string, chunks: AsyncGenerator<Buffer>) {
    this.#file = file;
    this.#chunks = chunks;
  }

  async json<T>(): Promise<T> {
    let end = this.#held.indexOf(10);
    while (end < 0) {
      await this.#more();
      end = this.#held.indexOf(10);
    }
    const found = parsed(this.#held.subarray(0, end));
    this.#held = this.#held.subarray(end + 1);
    if (found === undefined) throw damaged(this.#file, "a line is not what it should be");
    return found as T;
  }

  /** Yields whole lines, many at a time. No row can be `\.`: COPY writes a backslash as two. */
  async *rows(): AsyncGenerator<Buffer> {
    for (;;) {
      if (this.#held.subarray(0, END_OF_ROWS.length).equals(END_OF_ROWS)) {
        this.#held = this.#held.subarray(END_OF_ROWS.length);
        return;
      }
      const mark = this.#held.indexOf("\n\\.\n");
      const end = mark < 0 ? this.#held.lastIndexOf(10) : mark;
      if (end >= 0) {
        const lines = this.#held.subarray(0, end + 1);
        this.#held = this.#held.subarray(end + 1);
        yield lines;
      }
      if (mark < 0) await this.#more();
    }
  }

  async #more(): Promise<void> {
    const { value, done } = await this.#chunks.next();
    if (done) throw damaged(this.#file, "it ends too early");
    this.#held = joined(this.#held, value);
  }

  async close(): Promise<void> {
    await this.#chunks.return(undefined);
  }
}

function joined(before: Buffer, after: Buffer): Buffer {
  return before.length === 0 ? after : Buffer.concat([before, after]);
}

async function* contentsOf(file: string, onProgress: OnBytesRead): AsyncGenerator<Buffer> {
  const source = createReadStream(file, { highWaterMark: READ_BYTES });
  const gunzip = createGunzip({ chunkSize: READ_BYTES });
  source.on("error", (error) => gunzip.destroy(error));
  source.pipe(gunzip);
  try {
    for await (const chunk of gunzip) {
      onProgress(source.bytesRead);
      yield chunk;
    }
  } finally {
    source.destroy();
    gunzip.destroy();
  }
}

function readFault(file: string, error: unknown): unknown {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "ENOENT") return new BackupError(`There is no file ${file}.`);
  if (code === "Z_DATA_ERROR" && /incorrect header/.test(message)) return notOurs(file);
  if (code?.startsWith("Z_")) return damaged(file, message);
  return error;
}

function notOurs(file: string): BackupError {
  return new BackupError(`${file} is not a backup that "dues backup" has made.`);
}

function damaged(file: string, how: string): BackupError {
  return new BackupError(
    `${file} is damaged or incomplete (${how}): nothing was changed. Take another copy of it.`,
  );
}
