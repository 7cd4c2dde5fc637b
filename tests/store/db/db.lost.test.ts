// A server that ends in the instant in which it has accepted a connection, as a killed one does:
// the caller is told, and the process goes on.

import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Pool } from "../../../src/store/db/db.ts";
import { Pipeline } from "../../../src/store/db/pipeline.ts";
import { sql } from "../../../src/store/db/sql.ts";

const OPTIONS = {
  max: 2,
  statement_timeout_ms: 1_000,
  lock_timeout_ms: 1_000,
  application_name: "lost",
};
const ONE = sql`select 1 as one`;
const AWAY = { code: "unavailable", status: 503 };
/** AuthenticationOk, then ReadyForQuery (idle), in PostgreSQL's protocol. */
const WELCOME = Buffer.from("R\0\0\0\x08\0\0\0\0Z\0\0\0\x05I", "latin1");

const folder = mkdtempSync(join(tmpdir(), "dues-lost-"));
const connection = { host: folder, port: 5432, user: "dues", database: "dues" };
let server: Server;
beforeAll(async () => {
  // On a local socket the first write after this fails at once, before anybody waits for it.
  server = createServer((socket: Socket) => {
    socket.on("error", () => {});
    socket.once("data", () => socket.write(WELCOME, () => socket.destroy()));
  });
  await new Promise<void>((resolve) => server.listen(join(folder, ".s.PGSQL.5432"), resolve));
});
afterAll(() => {
  server.close();
  rmSync(folder, { recursive: true, force: true });
});

// An error that nobody listens for would end the process: the runner reports it as unhandled.
test("a connection that is lost as it is made fails its callers alone", async () => {
  const db = new Pool(connection, OPTIONS);
  const point = new Pipeline(connection, OPTIONS);
  for (let i = 0; i < 5; i++) {
    await expect(db.one(ONE)).rejects.toMatchObject(AWAY);
    await expect(db.tx((tx) => tx.one(ONE))).rejects.toMatchObject(AWAY);
    await expect(point.one(ONE)).rejects.toMatchObject(AWAY);
  }
  await db.end();
  await point.end();
});
