// COPY … FROM STDIN over the wire protocol: the fastest way into a table that PostgreSQL has, and
// so what the batch endpoint is measured against.

import pg from "pg";
import type { Connection } from "../src/store/db/db.ts";

type Wire = {
  query(text: string): void;
  sendCopyFromChunk(chunk: Buffer): void;
  endCopyFrom(): void;
};

/** Rows in the text format; resolves when they are committed. */
export async function copyIn(
  connection: Connection,
  statement: string,
  rows: Buffer,
): Promise<void> {
  const client = new pg.Client({ ...connection });
  await client.connect();
  try {
    await new Promise<void>((resolve, reject) => {
      let failure: Error | undefined;
      // What the driver calls while the statement runs, as it does for its own queries.
      const copying = {
        submit: (wire: Wire) => wire.query(statement),
        handleCopyInResponse(wire: Wire) {
          wire.sendCopyFromChunk(rows);
          wire.endCopyFrom();
        },
        handleError(error: Error) {
          failure = error;
          reject(error);
        },
        handleCommandComplete: () => {},
        handleReadyForQuery: () => failure ?? resolve(),
      };
      client.query(copying as unknown as pg.Submittable);
    });
  } finally {
    await client.end();
  }
}
