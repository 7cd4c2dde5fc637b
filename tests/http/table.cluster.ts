// Every route on a cluster: no statement of a request names a node other than the project's, and
// none prepares a transaction, but for writes of what every node has a copy of.

import pg from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { sql } from "../../src/store/sql.ts";
import { type App, startApp } from "../support/app.ts";
import { newProject } from "../support/client.ts";
import { happyCalls } from "../support/happy-calls.ts";

/** Tenants, tokens, settings and the clocks of sandboxes are on every node. */
const WRITES_COPIES = new Set([
  "POST /v1/keys",
  "DELETE /v1/keys/:id",
  "POST /v1/workspaces",
  "POST /v1/projects",
  "PUT /v1/settings",
  "POST /v1/clock",
  "POST /v1/clock/advance",
]);

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
  let before = await multiShard();
  sent = [];
  for await (const { name, answer } of happyCalls(api)) {
    expect(answer.status, name).toBeLessThan(300);
    called.add(name);
    const servers = new Set(sent.map(({ server }) => server));
    const prepared = sent.filter(({ text }) => /PREPARE TRANSACTION/.test(text));
    if (!WRITES_COPIES.has(name) && (servers.size > 1 || prepared.length > 0)) {
      wrong.push(`${name} on ${[...servers].join(", ")}: ${JSON.stringify(sent)}`);
    }
    const after = await multiShard();
    if (after > before && !WRITES_COPIES.has(name)) wrong.push(`${name}: asks all nodes`);
    before = after;
    sent = [];
  }
  expect(wrong).toEqual([]);
  expect(called.size).toBeGreaterThan(60);
});

/** How many statements so far were sent to several shards. */
async function multiShard(): Promise<number> {
  const { count } = await app.context.db.one<{ count: number }>(sql`
    select coalesce(sum(query_execution_multi_shard), 0)::bigint as count
      from citus_stat_counters
     where name = current_database()`);
  return count;
}
