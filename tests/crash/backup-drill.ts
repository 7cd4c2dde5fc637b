// The drill of a backup: a grown database is backed up under load, the service goes on for a while
// and is lost with its database, and the backup is restored into another major version.

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { growBooks } from "../../bench/books.ts";
import { furnish, type Stage } from "../../bench/stage.ts";
import { readSecretKey } from "../../src/key-file.ts";
import { checkSecretKey } from "../../src/service/open-store.ts";
import { type Connection, Pool } from "../../src/store/db/db.ts";
import { sql } from "../../src/store/db/sql.ts";
import { type Json, testConfig } from "../support/app.ts";
import { contentsOf } from "../support/contents.ts";
import { databaseUrl, emptyDatabase } from "../support/database.ts";
import { quickFolder } from "../support/folders.ts";
import { formerBinaries, makeFormerFolder, openFormer } from "../support/former-server.ts";
import { Caller, type ServiceProcess, startService, until } from "../support/processes.ts";
import { Receiver } from "../support/receiver.ts";
import { type Ran, runTool } from "../support/tool.ts";

const SECRET_KEY = "the same key before and after the restore";
const START = new Date("2026-01-01T00:00:00.000Z");
/** The project's clock stands still, so that its analytics are the same whenever they are asked. */
const NOW = new Date("2026-01-10T12:00:00.000Z");
const DAYS = 5;
const ADD_ONS = { before: 10, after: 5 };
const PAGE = 50;
/** Entries of the log about an add-on that is applied: itself, and its invoice. */
const FACTS_EACH = 2;
/** For so long a service that is held is watched doing nothing. */
const HELD_MS = 2_500;

export type Size = {
  readonly customers: number;
  readonly events_each: number;
  readonly invoices_each: number;
};

/** Durations in seconds, and what was in the file. */
export type Figures = {
  readonly backup_s: number;
  readonly restore_s: number;
  readonly file_bytes: number;
  readonly rows: number;
  readonly load_during_backup: number;
  /** Entries of the log that its reader had seen before, and those it saw with the old cursor. */
  readonly log: { readonly before: number; readonly behind_cursor: number };
  readonly into: string;
};

/** What the load does not touch, to the last byte. */
const UNTOUCHED = ["invoices", "fees", "payments", "grants", "subscriptions", "plan_versions"];

export async function drill(size: Size): Promise<Figures> {
  const source = await emptyDatabase();
  const stage = await furnish(source.connection, () => source.drop());
  const receiver = await Receiver.start();
  const world = new World(stage, receiver);
  try {
    await world.fill(size);
    return await world.run();
  } finally {
    await world.close();
    await receiver.close();
    await stage.end();
  }
}

class World {
  readonly #stage: Stage;
  readonly #receiver: Receiver;
  readonly #caller: Caller;
  readonly #folder = mkdtempSync(join(tmpdir(), "dues-drill-"));
  readonly #file = join(this.#folder, "kept.gz");
  readonly #closing: (() => Promise<unknown>)[] = [];
  readonly #log = new LogReader();
  /** It has seen what is lost with the database. */
  readonly #late = new LogReader();
  #loaded = 0;
  #add_on = "";
  #customer = "";

  constructor(stage: Stage, receiver: Receiver) {
    this.#stage = stage;
    this.#receiver = receiver;
    this.#caller = new Caller(stage.profile);
    this.#closing.push(() => this.#caller.close());
  }

  async close(): Promise<void> {
    for (const close of this.#closing.reverse()) await close();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  async fill(size: Size): Promise<void> {
    const key = readSecretKey(testConfig({ SECRET_KEY }));
    await checkSecretKey(this.#stage.db, key, NOW);
    await growBooks(this.#stage, { ...size, start: START, now: NOW, days: DAYS });
  }

  async run(): Promise<Figures> {
    const { connection } = this.#stage;
    const before = await this.#serve(connection);
    await this.#prepare(before);
    const analytics = await this.#get(before, "/v1/analytics");
    const untouched = await this.#untouched(connection);
    const read = await this.#log.follow(this.#caller, before, 1);
    const backup = await this.#underLoad(before, () =>
      this.#timed(connection, ["backup", this.#file, "--json"]),
    );
    // Seen by customers, and not in the backup.
    const lost = await this.#applyAddOns(before, ADD_ONS.after);
    await this.#late.follow(this.#caller, before);
    await before.signal("SIGKILL");

    const { connection: target, into } = await this.#emptyTarget();
    const next = Math.max(...lost.map(sequenceOf)) + 1;
    const told = ["--next-invoice", `2026:${next}`];
    const restore = await this.#timed(target, ["restore", this.#file, ...told, "--json"]);
    expect(await this.#untouched(target)).toEqual(untouched);
    await this.#expectOneState(target);
    const after = await this.#serve(target);
    expect(await this.#get(after, "/v1/analytics")).toEqual(analytics);
    await this.#expectHeld(after);
    await this.#timed(target, ["resume", "--yes"]);
    const behind_cursor = await this.#expectGoesOn(after, lost, next);
    const counts: { rows: number }[] = JSON.parse(backup.out).tables;
    return {
      backup_s: backup.seconds,
      restore_s: restore.seconds,
      file_bytes: JSON.parse(backup.out).bytes,
      rows: counts.reduce((sum, { rows }) => sum + rows, 0),
      load_during_backup: this.#loaded,
      log: { before: read, behind_cursor },
      into,
    };
  }

  async #serve(connection: Connection): Promise<ServiceProcess> {
    const env = { SECRET_KEY, WEBHOOK_ALLOW_PRIVATE: "1" };
    const service = await startService({ connection, role: "all", env });
    this.#closing.push(() => service.signal("SIGKILL"));
    return service;
  }

  /** Invoices with messages about them, all of which are delivered. */
  async #prepare(service: ServiceProcess): Promise<void> {
    const hook = { url: `http://127.0.0.1:${this.#receiver.port}/`, events: ["addon.applied"] };
    await this.#caller.ok(service, "POST", "/v1/webhooks", hook);
    const add_on = { code: "boost", name: "Boost", amount_cents: 700, currency: "USD" };
    this.#add_on = (await this.#caller.ok(service, "POST", "/v1/addons", add_on)).add_on.id;
    this.#customer = (await this.#get(service, "/v1/customers/ext:c1")).customer.id;
    await this.#applyAddOns(service, ADD_ONS.before);
  }

  /** Returns the numbers of their invoices, once the receiver has been told of each. */
  async #applyAddOns(service: ServiceProcess, count: number): Promise<string[]> {
    const told = this.#receiver.received.length;
    const numbers: string[] = [];
    const path = `/v1/addons/${this.#add_on}/apply`;
    for (let n = 0; n < count; n++) {
      const body = { customer_id: this.#customer };
      const { applied_add_on } = await this.#caller.ok(service, "POST", path, body);
      const { invoice } = await this.#get(service, `/v1/invoices/${applied_add_on.invoice_id}`);
      numbers.push(invoice.number);
    }
    await until(() => this.#receiver.received.length >= told + count);
    return numbers;
  }

  /** Runs the work while events and changes of customers come in. */
  async #underLoad<T>(service: ServiceProcess, work: () => Promise<T>): Promise<T> {
    let running = true;
    const send = async (sender: number) => {
      for (let n = 0; running; n++) {
        const event = { subscription_id: "ext:s1", code: "calls", timestamp: NOW.toISOString() };
        const named = { ...event, transaction_id: `${sender}-${n}`, properties: { n: "1" } };
        await this.#caller.ok(service, "POST", "/v1/events", named);
        const path = `/v1/customers/ext:c${1 + (n % 5)}`;
        await this.#caller.ok(service, "PATCH", path, { name: `Name ${n}` });
        this.#loaded += 2;
      }
    };
    const senders = [0, 1, 2, 3].map(send);
    try {
      return await work();
    } finally {
      running = false;
      await Promise.all(senders);
    }
  }

  async #emptyTarget(): Promise<{ connection: Connection; into: string }> {
    const binaries = await formerBinaries("the backup is restored into the version of its own");
    if (binaries === undefined) {
      const { connection, drop } = await emptyDatabase();
      this.#closing.push(drop);
      return { connection, into: "the same version" };
    }
    const folder = mkdtempSync(join(quickFolder(), "dues-drill-former-"));
    await makeFormerFolder(folder, binaries);
    const { connection, stop } = await openFormer(folder, binaries);
    this.#closing.push(async () => {
      await stop();
      rmSync(folder, { recursive: true, force: true });
    });
    return { connection, into: "PostgreSQL 15" };
  }

  async #untouched(connection: Connection): Promise<Json> {
    const contents = await contentsOf(connection);
    return Object.fromEntries(UNTOUCHED.map((name) => [name, contents[name]]));
  }

  /** Every event of the snapshot is in the sums of the same snapshot. */
  async #expectOneState(connection: Connection): Promise<void> {
    const timeouts = { statement_timeout_ms: 60_000, lock_timeout_ms: 1_000 };
    const db = new Pool(connection, { max: 1, ...timeouts, application_name: "dues test" });
    try {
      const { events, summed } = await db.one<{ events: number; summed: string }>(sql`
        select (select count(*) from usage_events) as events,
               (select sum(events)::text from usage_days) as summed`);
      expect(String(events)).toBe(summed);
    } finally {
      await db.end();
    }
  }

  async #expectHeld(service: ServiceProcess): Promise<void> {
    const told = this.#receiver.received.length;
    expect((await this.#caller.call(service, "GET", "/readyz")).body.status).toBe("held");
    const path = `/v1/addons/${this.#add_on}/apply`;
    const body = { customer_id: this.#customer };
    expect((await this.#caller.call(service, "POST", path, body)).status).toBe(503);
    await new Promise((resolve) => setTimeout(resolve, HELD_MS));
    expect(this.#receiver.received.length).toBe(told);
  }

  /** The reader of the log misses nothing, no message comes twice, no number is given out twice. */
  async #expectGoesOn(service: ServiceProcess, lost: readonly string[], next: number) {
    const told = this.#receiver.received.length;
    const numbers = await this.#applyAddOns(service, 3);
    expect(numbers.map(sequenceOf)).toEqual([next, next + 1, next + 2]);
    expect(lost.filter((number) => numbers.includes(number))).toEqual([]);
    expect(this.#receiver.received.length).toBe(told + 3);
    const ids = this.#receiver.received.map(({ headers }) => headers["webhook-id"]);
    expect(new Set(ids).size).toBe(ids.length);
    // The three, and the hold has let nothing else through.
    const facts = (await this.#late.follow(this.#caller, service)) / 3;
    expect(facts).toBe(FACTS_EACH);
    const seen = await this.#log.follow(this.#caller, service);
    await this.#log.expectWhole(this.#caller, service);
    return seen;
  }

  #get(service: ServiceProcess, path: string): Promise<Json> {
    return this.#caller.ok(service, "GET", path);
  }

  async #timed(connection: Connection, args: readonly string[]) {
    const began = performance.now();
    const { code, out, err } = await runCommand(connection, args);
    expect(`${code} ${err}`).toMatch(/^0 /);
    return { out, seconds: (performance.now() - began) / 1_000 };
  }
}

function sequenceOf(number: string): number {
  return Number(/^INV-2026-(\d+)$/.exec(number)?.[1]);
}

function runCommand(connection: Connection, args: readonly string[]): Promise<Ran> {
  return runTool(args, { env: { DATABASE_URL: databaseUrl(connection), SECRET_KEY } });
}

/** Reads the log page by page and remembers where it was, as a consumer does. */
class LogReader {
  readonly #ids: string[] = [];
  #cursor: string | undefined;

  /** Returns how many entries it has seen now. */
  async follow(
    caller: Caller,
    service: ServiceProcess,
    pages = Number.POSITIVE_INFINITY,
  ): Promise<number> {
    const before = this.#ids.length;
    for (let n = 0; n < pages; n++) {
      const behind = this.#cursor === undefined ? "" : `&cursor=${this.#cursor}`;
      const path = `/v1/billing-events?order=asc&limit=${PAGE}${behind}`;
      const page = await caller.ok(service, "GET", path);
      this.#ids.push(...page.billing_events.map(({ id }: { id: string }) => id));
      this.#cursor = page.cursor;
      if (!page.has_more) break;
    }
    return this.#ids.length - before;
  }

  /** Compares with one that begins at the beginning. */
  async expectWhole(caller: Caller, service: ServiceProcess): Promise<void> {
    const other = new LogReader();
    await other.follow(caller, service);
    expect(this.#ids).toEqual(other.#ids);
    expect(this.#ids.length).toBeGreaterThan(ADD_ONS.before);
  }
}
