// A fresh migrated database for each test file, cloned from a template that the run made once.

import pg from "pg";
import { inject } from "vitest";
import type { Connection } from "../../src/store/db/db.ts";
import { codeOf } from "../../src/store/db/failures.ts";
import type { Sql } from "../../src/store/db/sql.ts";

declare module "vitest" {
  interface ProvidedContext {
    server: Connection;
    /** On a cluster, where `server` is the coordinator's. */
    workers: Connection[];
    template: string;
  }
}

/** Whether the run is on a cluster, all of whose nodes share the machine of the tests. */
export const onCluster = process.env.DUES_CLUSTER === "1";

/** Each waits five seconds for those who were sent away. */
const DROP_TRIES = 5;
const OBJECT_IN_USE = "55006";

let made = 0;

export async function testDatabase(): Promise<{ connection: Connection; drop(): Promise<void> }> {
  return newDatabase([inject("server"), ...inject("workers")], inject("template"));
}

/** An empty one on one server, for tests of the migrations themselves. */
export async function emptyDatabase(): Promise<{ connection: Connection; drop(): Promise<void> }> {
  return newDatabase([inject("server")], "template0");
}

/**
 * One of the same name on each server; the connection leads to the first. The end of the run drops
 * all whose names begin with the template's. Copying files costs a twelfth of what PostgreSQL's
 * default does, which writes every page of the template to the log.
 */
export async function newDatabase(servers: readonly [Connection, ...Connection[]], from: string) {
  const name = `${inject("template")}_${process.pid}_${process.hrtime.bigint()}_${made++}`;
  await everywhere(servers, `create database ${name} template ${from} strategy file_copy`);
  return {
    name,
    connection: onDatabase(servers[0], name),
    async drop(): Promise<void> {
      await Promise.all(servers.map((server) => dropDatabase(server, name)));
    },
  };
}

/** Tries again while somebody is connected: the nodes of a cluster connect to one another. */
export async function dropDatabase(server: Connection, name: string): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      return await admin(server, `drop database if exists ${name} with (force)`);
    } catch (error) {
      if (codeOf(error) !== OBJECT_IN_USE || tries === DROP_TRIES) throw error;
    }
  }
}

export function onDatabase(server: Connection, database: string): Connection {
  if (server.connectionString === undefined) return { ...server, database };
  const url = new URL(server.connectionString);
  url.pathname = `/${database}`;
  return { connectionString: url.href };
}

function nameOf({ database = "", connectionString }: Connection): string {
  return connectionString === undefined ? database : new URL(connectionString).pathname.slice(1);
}

/** The database as each node of the run has it, the coordinator's first. */
export function nodesOf(connection: Connection): [Connection, ...Connection[]] {
  return [connection, ...inject("workers").map((node) => onDatabase(node, nameOf(connection)))];
}

/** A count from every node of the run, added up: pg_locks and the like show those of one server. */
export async function countOnNodes(connection: Connection, query: Sql): Promise<number> {
  const counts = await Promise.all(
    nodesOf(connection).map((node) =>
      onClient(node, (client) => client.query<{ count: string }>(query.text, [...query.values])),
    ),
  );
  return counts.reduce((sum, { rows }) => sum + Number(rows[0]?.count), 0);
}

/** For processes that only take a URL. */
export function databaseUrl(connection: Connection): string {
  if (connection.connectionString !== undefined) return connection.connectionString;
  const { host = "", port, user, database } = connection;
  return `postgres://${user}@/${database}?host=${encodeURIComponent(host)}&port=${port}`;
}

export async function admin(server: Connection, statement: string): Promise<void> {
  await onClient(server, (client) => client.query(statement));
}

/** A connection for the time of `work`. */
export async function onClient<T>(
  server: Connection,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = new pg.Client({ ...server });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

export async function everywhere(servers: readonly Connection[], statement: string): Promise<void> {
  await Promise.all(servers.map((server) => admin(server, statement)));
}
