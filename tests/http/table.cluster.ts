// Every route on a cluster: no statement of a request names a node other than the project's, and
// none prepares a transaction, but for writes of what every node has a copy of, with the logs of
// tokens, and the list of projects.

import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { Bounds } from "../../src/http/admission/bound.ts";
import { routeTable } from "../../src/http/table.ts";
import { sql } from "../../src/store/db/sql.ts";
import { REFERENCE } from "../store/laws/tables.ts";
import { type App, startApp } from "../support/app.ts";
import { newProject } from "../support/client.ts";
import { happyCalls } from "../support/happy-calls.ts";

/** Tenants, tokens and settings are on every node. */
const WRITES_COPIES = new Set([
  "POST /v1/keys",
  "DELETE /v1/keys/:id",
  "POST /v1/workspaces",
  "POST /v1/projects",
  "PUT /v1/settings",
]);

/** The list of projects tells where the clocks of sandboxes stand, which are on their nodes. */
const ASKS_SEVERAL = new Set(["GET /v1/projects"]);

/** The log of each of the organization's projects, wherever it is, tells of a token. */
const LOGS_ELSEWHERE = new Set(["POST /v1/keys", "DELETE /v1/keys/:id"]);
const LOG = ["billing_events", "log_heads"];

/** Tables are named by their shards, transactions by their numbers. */
const SHARD = /\bpublic\.([a-z_]+)_\d+/g;
const WRITTEN = /^issuing (?:INSERT INTO|UPDATE|DELETE FROM) public\.([a-z_]+)_\d+/;
const PREPARED = /PREPARE TRANSACTION 'citus_\d+_\d+_(\d+)_/;
/** What Citus puts around writes of copies. */
const FRAME = /^issuing (?:BEGIN|PREPARE|COMMIT|SELECT lock_shard_resources)\b/;
const SERVER = /on server \S+@(\S+:\d+)/;
/** What Citus was made to send to other nodes since it was last emptied. */
let sent: { readonly server: string; readonly text: string }[] = [];

/** Citus tells each session what it sends for it, as notices. */
function listenToNotices(): () => void {
  const { connect } = pg.Client.prototype;
  function listening(this: pg.Client, ...given: never[]) {
    this.once("connect", () => {
      this.query("set citus.log_remote_commands = on; set citus.enable_stat_counters = on");
    });
    this.on("notice", ({ message = "", detail = "" }) => {
      const server = SERVER.exec(detail)?.[1];
      if (server !== undefined) sent.push({ server, text: message });
    });
    return Reflect.apply(connect, this, given);
  }
  pg.Client.prototype.connect = listening as unknown as typeof connect;
  return () => {
    pg.Client.prototype.connect = connect;
  };
}

let app: App;
let stopListening: () => void;

beforeAll(async () => {
  stopListening = listenToNotices();
  app = await startApp();
});

afterAll(async () => {
  stopListening();
  await app.close();
});

test("each call is answered by one node, without a prepared transaction", async () => {
  const api = await newProject(app, "2026-01-10T09:00:00.000Z");
  const wrong: string[] = [];
  const called = new Set<string>();
  const preparing = new Set<string>();
  let before = await multiShard();
  sent = [];
  for await (const { name, answer } of happyCalls(api)) {
    expect(answer.status, name).toBeLessThan(300);
    called.add(name);
    if (sent.some(({ text }) => PREPARED.test(text))) preparing.add(name);
    wrong.push(...faultsOf(name).map((fault) => `${name}: ${fault}`));
    const after = await multiShard();
    if (after > before && !ASKS_SEVERAL.has(name)) wrong.push(`${name}: asks all nodes`);
    before = after;
    sent = [];
  }
  expect(wrong).toEqual([]);
  expect(preparing).toEqual(WRITES_COPIES);
  const table = routeTable(
    app.context,
    { draining: false, schema_version: 0, warnings: [] },
    new Bounds(),
  );
  expect(called).toEqual(new Set(table.map(({ method, path }) => `${method} ${path}`)));
});

test("a statement over all projects is noticed", async () => {
  const before = await multiShard();
  sent = [];
  await app.context.db.many(sql`select count(*) from customers`);
  expect(await multiShard()).toBeGreaterThan(before);
  expect(faultsOf("GET /v1/customers")).toHaveLength(1);
  expect(faultsOf("POST /v1/keys")).toHaveLength(1);
});

/** What is wrong with all that was sent, if it was for this route. */
function faultsOf(name: string): string[] {
  const copies = WRITES_COPIES.has(name) ? [...REFERENCE] : undefined;
  const anywhere = LOGS_ELSEWHERE.has(name) ? copies?.concat(LOG) : copies;
  const ofOneNode = sent.filter(({ text }) => !anywhere || !isAbout(text, anywhere));
  const servers = new Set(ofOneNode.map(({ server }) => server));
  const prepared = sent.filter(({ text }, i) => {
    const number = PREPARED.exec(text)?.[1];
    return number !== undefined && !(copies && hasWritten(number, i, copies));
  });
  return [
    ...(servers.size > 1 && !ASKS_SEVERAL.has(name)
      ? [`asks several nodes: ${JSON.stringify(ofOneNode)}`]
      : []),
    ...(prepared.length > 0 ? [`prepares without a copy to write: ${JSON.stringify(sent)}`] : []),
  ];
}

/** About these tables and no others, or about none. */
function isAbout(text: string, tables: readonly string[]): boolean {
  if (FRAME.test(text)) return true;
  const named = [...text.matchAll(SHARD)].map(([, table = ""]) => table);
  return named.length > 0 && named.every((table) => tables.includes(table));
}

/** Whether the transaction of this number writes one of these tables, before this place. */
function hasWritten(number: string, end: number, tables: readonly string[]): boolean {
  const begin = sent.findIndex(({ text }) => text.includes(`transaction_id(0, ${number}, `));
  const within = sent.slice(Math.max(begin, 0), end);
  return within.some(({ text }) => tables.includes(WRITTEN.exec(text)?.[1] ?? ""));
}

/** How many statements so far were sent to several shards. */
async function multiShard(): Promise<number> {
  const { count } = await app.context.db.one<{ count: number }>(sql`
    select coalesce(sum(query_execution_multi_shard), 0)::bigint as count
      from citus_stat_counters
     where name = current_database()`);
  return count;
}
