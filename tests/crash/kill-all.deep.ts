// Service and embedded PostgreSQL are killed together, again and again, under calls of every kind,
// and started on what is on the disk. Callers repeat what was not answered: then each thing is
// there once, numbers have no gaps, and every message was sent.

import { randomUUID } from "node:crypto";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { afterEach, beforeEach, expect, test } from "vitest";
import { reachEmbedded } from "../../src/embedded/start.ts";
import { WEBHOOK_EVENTS } from "../../src/schema/webhooks.ts";
import type { Profile } from "../../src/service/profile.ts";
import { Pool } from "../../src/store/db/db.ts";
import { sql } from "../../src/store/db/sql.ts";
import type { Json } from "../support/app.ts";
import { signalFamily } from "../support/family.ts";
import { quickFolder } from "../support/folders.ts";
import { checkInvariants } from "../support/invariants.ts";
import { Caller, type ServiceProcess, spawnService, until } from "../support/processes.ts";
import { Receiver } from "../support/receiver.ts";

const TEST_MS = 900_000;
const KILLS = 30;
const EVENT_SENDERS = 16;
const BUYERS = 6;
/** At least, and at most: a kill comes at any moment of what goes on. */
const ALIVE_MS = [200, 2_000] as const;
const AGAIN_MS = 20;
const QUEUE_MS = 60_000;
const CLAIM_MS = 31_000;

let folder: string;
let receiver: Receiver;
let service: ServiceProcess;
let caller: Caller;

beforeEach(async () => {
  folder = mkdtempSync(join(quickFolder(), "dues-killed-"));
  receiver = await Receiver.start();
  await start();
  caller = new Caller(JSON.parse(readFileSync(join(folder, "dev.json"), "utf8")) as Profile);
});

afterEach(async () => {
  await caller.close();
  await service.signal("SIGTERM");
  await receiver.close();
  rmSync(folder, { recursive: true, force: true });
});

async function start(): Promise<void> {
  const env = { DATABASE_URL: "", SECRET_KEY: "", DUES_DATA: folder };
  service = await (await spawnService({ connection: {}, role: "all", env })).ready();
}

async function killAll(): Promise<void> {
  const [postmaster] = readFileSync(join(folder, "postgres", "postmaster.pid"), "utf8").split("\n");
  const killed = service.signal("SIGKILL");
  await signalFamily(Number(postmaster), "SIGKILL");
  await killed;
}

/** Repeats a call until it is answered, as a caller does who must know. */
async function insist(path: string, body: Json, key: string = randomUUID()): Promise<Json> {
  const headers = { "idempotency-key": key };
  for (;;) {
    const answer = await caller.call(service, "POST", path, body, headers).catch(() => undefined);
    if (answer !== undefined && answer.status < 300) return answer.body;
    if (answer?.body.error.retryable === false) throw new Error(JSON.stringify(answer.body));
    expect(answer?.status).not.toBe(500);
    await pause(AGAIN_MS);
  }
}

type Books = { readonly plan: Json; readonly add_on: Json };

async function openBooks(): Promise<Books> {
  const metric = { code: "calls", name: "Calls", aggregation_type: "sum", field_name: "n" };
  await insist("/v1/metrics", metric);
  const price = { interval: "monthly", amount_cents: 100, amount_currency: "USD" };
  const charges = [{ type: "standard", metric_ref: "calls", rate: "0.01" }];
  const { plan } = await insist("/v1/plans", { code: "p", name: "P", ...price, charges });
  const boost = { code: "boost", name: "Boost", amount_cents: 700, currency: "USD" };
  const { add_on } = await insist("/v1/addons", boost);
  await insist("/v1/clock", { frozen_at: monthOf(0) });
  await insist("/v1/webhooks", { url: receiver.url(), events: [...WEBHOOK_EVENTS] });
  await buy({ plan, add_on }, "first");
  return { plan, add_on };
}

function monthOf(n: number): string {
  return new Date(Date.UTC(2026, n, 15)).toISOString();
}

/** A customer subscribes, buys an add-on and pays for it. */
async function buy({ plan, add_on }: Books, name: string): Promise<void> {
  const named = { external_id: name, name, email: "c@example.com", currency: "USD" };
  const { customer } = await insist("/v1/customers", named);
  const ids = { external_id: name, customer_id: customer.id, plan_id: plan.id };
  await insist("/v1/subscriptions", ids);
  const bought = await insist(`/v1/addons/${add_on.id}/apply`, { customer_id: customer.id });
  await insist("/v1/payments", {
    invoice_id: bought.applied_add_on.invoice_id,
    amount_cents: 700,
    currency: "USD",
    provider: "bank",
    provider_payment_id: name,
  });
}

async function useOnce(transaction_id: string): Promise<void> {
  const event = { transaction_id, subscription_id: "ext:first", code: "calls" };
  await insist("/v1/events", { ...event, properties: { n: "1" } });
}

/** Several at a time, each one after the other, until told to stop; tells how many were done. */
function repeat(callers: number, work: (name: string) => Promise<void>) {
  let running = true;
  const done = Array.from({ length: callers }, async (_, i) => {
    let n = 0;
    for (; running; n++) await work(`${i}-${n}`);
    return n;
  });
  const stop = async () => {
    running = false;
    return (await Promise.all(done)).reduce((sum, n) => sum + n, 0);
  };
  return { stop };
}

async function killAgainAndAgain(): Promise<void> {
  const [least, most] = ALIVE_MS;
  for (let kill = 1; kill <= KILLS; kill++) {
    // Closes a month for everybody, so that some kills come amid that.
    const closed = insist("/v1/clock/advance", { to: monthOf(kill) });
    await pause(least + Math.random() * (most - least));
    await killAll();
    await start();
    await closed;
  }
}

test("everything is killed at any moment: what was answered is there, once", {
  timeout: TEST_MS,
}, async () => {
  const books = await openBooks();
  const events = repeat(EVENT_SENDERS, useOnce);
  const bought = repeat(BUYERS, (name) => buy(books, name));
  await killAgainAndAgain();
  const sent = await events.stop();
  const sold = 1 + (await bought.stop());
  // What a killed process was sending is free again after 30 s.
  service.moveClock(CLAIM_MS);
  const embedded = await reachEmbedded({ folder, application_name: "test" });
  const limits = { max: 2, statement_timeout_ms: 60_000, lock_timeout_ms: 10_000 };
  const db = new Pool(embedded.connection, { ...limits, application_name: "test" });
  try {
    const queued = () => db.one<{ count: number }>(sql`select count(*) from webhook_queue`);
    await until(async () => (await queued()).count === 0, QUEUE_MS);
    const { periods, ...counts } = await countAll(db);
    const each = { customers: sold, subscriptions: sold, applied: sold, payments: sold };
    expect(counts).toEqual({ events: sent, ...each });
    expect(periods).toBeGreaterThanOrEqual(KILLS);
    const messages = await db.many<{ id: string }>(sql`select id from webhook_messages`);
    const told = new Set(receiver.ids());
    expect(messages.filter(({ id }) => !told.has(id))).toEqual([]);
    expect(await checkInvariants(db)).toEqual([]);
  } finally {
    await db.end();
    await embedded.stop();
  }
});

function countAll(db: Pool): Promise<Record<string, number>> {
  return db.one(sql`
    select (select count(*) from usage_events) as events,
           (select count(*) from customers) as customers,
           (select count(*) from subscriptions) as subscriptions,
           (select count(*) from applied_add_ons) as applied,
           (select count(*) from payments) as payments,
           (select count(*) from invoice_parts where reason = 'period') as periods`);
}
