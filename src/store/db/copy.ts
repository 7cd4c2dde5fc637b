// COPY to and from the client, on the driver's own protocol: rows go by as bytes, a batch at a
// time, and whoever is slower makes the other wait.

import { once } from "node:events";
import type { Duplex } from "node:stream";
import pg from "pg";

/** What the driver's connection has and its types do not say. */
type Wire = {
  readonly stream: Duplex;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
  sendCopyFail(message: string): void;
};

/** Takes bytes, at once and in order. A promise says when there is room for more. */
export type Take = (bytes: Buffer) => Promise<void> | undefined;

/** How much is handed on at once: row by row, each would cost the compressor a call. */
const BATCH_BYTES = 128 * 1024;

/** Runs `copy … to stdout` and hands on what comes. Returns the number of rows. */
export async function copyOut(
  client: pg.ClientBase,
  statement: string,
  take: Take,
): Promise<number> {
  const query = client.query(new CopyOut(statement, take));
  const rows = await rowsOf(query);
  await query.finish();
  return rows;
}

/** Runs `copy … from stdin` with these bytes. Returns the number of rows. */
export async function copyIn(
  client: pg.ClientBase,
  statement: string,
  source: AsyncIterable<Buffer>,
): Promise<number> {
  const query = client.query(new CopyIn(statement, source));
  try {
    return await rowsOf(query);
  } catch (error) {
    throw query.failure ?? error;
  } finally {
    query.stop();
  }
}

function rowsOf(query: pg.Query): Promise<number> {
  return new Promise((resolve, reject) => {
    query.on("error", reject);
    query.on("end", ({ rowCount }) => resolve(rowCount ?? 0));
  });
}

class CopyOut extends pg.Query {
  readonly #take: Take;
  /** The driver uses the memory of a row again at once: rows are copied into this. */
  readonly #batch = Buffer.allocUnsafe(BATCH_BYTES);
  #used = 0;
  #failure: Error | undefined;

  constructor(statement: string, take: Take) {
    super(statement);
    this.#take = take;
  }

  handleCopyData({ chunk }: { chunk: Buffer }, { stream }: Wire): void {
    if (this.#used + chunk.length > BATCH_BYTES) this.#hand(this.#taken(), stream);
    if (chunk.length > BATCH_BYTES) this.#hand(Buffer.from(chunk), stream);
    else this.#used += chunk.copy(this.#batch, this.#used);
  }

  /** Hands on the last rows. Throws when some could not be taken. */
  async finish(): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure;
    await this.#take(this.#taken());
  }

  #taken(): Buffer {
    const bytes = Buffer.from(this.#batch.subarray(0, this.#used));
    this.#used = 0;
    return bytes;
  }

  #hand(bytes: Buffer, stream: Duplex): void {
    if (this.#failure !== undefined) return;
    const taken = this.#take(bytes);
    if (taken === undefined) return;
    stream.pause();
    const fail = (error: Error) => {
      this.#failure = error;
    };
    taken.catch(fail).finally(() => stream.resume());
  }
}

class CopyIn extends pg.Query {
  readonly #source: AsyncIterable<Buffer>;
  readonly #stop = new AbortController();
  /** Why no more rows came. */
  failure: Error | undefined;

  constructor(statement: string, source: AsyncIterable<Buffer>) {
    super(statement);
    this.#source = source;
  }

  handleCopyInResponse(connection: Wire): void {
    void this.#send(connection);
  }

  stop(): void {
    this.#stop.abort();
  }

  async #send(connection: Wire): Promise<void> {
    const { signal } = this.#stop;
    const { stream } = connection;
    try {
      for await (const chunk of this.#source) {
        if (signal.aborted) return;
        connection.sendCopyFromChunk(chunk);
        if (stream.writableNeedDrain) await once(stream, "drain", { signal });
      }
      connection.endCopyFrom();
    } catch (error) {
      // The server has refused a row, or the connection broke: that is told already.
      if (signal.aborted) return;
      this.failure = error as Error;
      connection.sendCopyFail("The source of the rows failed.");
    }
  }
}
