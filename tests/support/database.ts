// A fresh migrated database for each test file, cloned from a template that the run made once.

import pg from "pg";
import { inject } from "vitest";
import type { Connection } from "../../src/store/db.ts";

declare module "vitest" {
  interface ProvidedContext {
    server: Connection;
    template: string;
  }
}

let made = 0;

export async function testDatabase(): Promise<{ connection: Connection; drop(): Promise<void> }> {
  const server = inject("server");
  const name = `t_${process.pid}_${process.hrtime.bigint()}_${made++}`;
  await admin(server, `create database ${name} template ${inject("template")}`);
  return {
    connection: onDatabase(server, name),
    drop: () => admin(server, `drop database if exists ${name} with (force)`),
  };
}

/** An empty one, for tests of the migrations themselves. */
export async function emptyDatabase(): Promise<{ connection: Connection; drop(): Promise<void> }> {
  const server = inject("server");
  const name = `e_${process.pid}_${process.hrtime.bigint()}_${made++}`;
  await admin(server, `create database ${name} template template0`);
  return {
    connection: onDatabase(server, name),
    drop: () => admin(server, `drop database if exists ${name} with (force)`),
  };
}

export function onDatabase(server: Connection, database: string): Connection {
  if (server.connectionString === undefined) return { ...server, database };
  const url = new URL(server.connectionString);
  url.pathname = `/${database}`;
  return { connectionString: url.href };
}

/** For processes that only take a URL. */
export function databaseUrl(connection: Connection): string {
  if (connection.connectionString !== undefined) return connection.connectionString;
  const { host = "", port, user, database } = connection;
  return `postgres://${user}@/${database}?host=${encodeURIComponent(host)}&port=${port}`;
}

export async function admin(server: Connection, statement: string): Promise<void> {
  const client = new pg.Client({ ...server });
  await client.connect();
  try {
    await client.query(statement);
  } finally {
    await client.end();
  }
}
