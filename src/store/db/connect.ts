// A connection for work on the whole database, as commands and the start open it. When the database
// cannot be used, the operator is told which one it is and why, and never its password.

import pg from "pg";
import type { Connection } from "./db.ts";

/** When a server that says nothing at all is given up. */
const CONNECT_MS = 10_000;

/** The database could not be used. The message says which, and why. */
export class ConnectError extends Error {}

/** Opens a connection, which its caller ends. Throws a ConnectError. */
export async function connect(
  connection: Connection,
  application_name: string,
  connect_ms = CONNECT_MS,
): Promise<pg.Client> {
  const limits = { connectionTimeoutMillis: connect_ms, keepAlive: true };
  const client = new pg.Client({ ...connection, ...limits, application_name });
  // Nothing is to be done here when it breaks: the statement that waits for it fails by itself.
  client.on("error", () => {});
  try {
    await client.connect();
    return client;
  } catch (error) {
    throw new ConnectError(`${nameOf(client, connection)} ${failureOf(error, connect_ms)}`);
  }
}

/** The name that whoever set DATABASE_URL knows it by; what was made of it shows a slip. */
function nameOf({ host, port, database }: pg.Client, { connectionString }: Connection): string {
  if (connectionString === undefined) return "The embedded database";
  return `The database of DATABASE_URL (${host}:${port}/${database ?? ""})`;
}

function failureOf(error: unknown, connect_ms: number): string {
  const reason = reasonOf(error);
  // The server's own words tell of a wrong password, or a database that does not exist.
  if (error instanceof pg.DatabaseError) return `did not let us in: ${reason}`;
  if (reason === "timeout expired") return `did not answer within ${connect_ms / 1_000} seconds.`;
  return `did not answer: ${reason}`;
}

/** Why, in one sentence: a host with several addresses fails with an error for each. */
export function reasonOf(error: unknown): string {
  const [first] = error instanceof AggregateError ? error.errors : [error];
  return first instanceof Error ? first.message : String(first);
}
