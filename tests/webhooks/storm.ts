// Worker processes that are killed while they deliver, and what must hold afterwards.

import { expect } from "vitest";
import { sql } from "../../src/store/db/sql.ts";
import { type App, type Json, startApp } from "../support/app.ts";
import { emitPayments, register } from "../support/courier.ts";
import { type ServiceProcess, startService, until } from "../support/processes.ts";
import { Receiver } from "../support/receiver.ts";

const SECRET_KEY = "the key of an app and of its worker processes";
const BATCH = 10;
const ENDPOINTS = 3;
const DONE_MS = 120_000;

export class Storm {
  readonly app: App;
  readonly receivers: readonly Receiver[];
  readonly #workers = new Set<ServiceProcess>();

  private constructor(app: App, receivers: readonly Receiver[]) {
    this.app = app;
    this.receivers = receivers;
  }

  static async start(endpoints = ENDPOINTS): Promise<Storm> {
    const app = await startApp({ env: { SECRET_KEY, WEBHOOK_ALLOW_PRIVATE: "1" } });
    const receivers: Receiver[] = [];
    for (let i = 0; i < endpoints; i++) {
      const receiver = await Receiver.start();
      receivers.push(receiver);
      await register(app, receiver.url());
    }
    return new Storm(app, receivers);
  }

  async worker(more: Record<string, string> = {}): Promise<ServiceProcess> {
    const env = { SECRET_KEY, WEBHOOK_ALLOW_PRIVATE: "1", ...more };
    const { connection } = this.app;
    const worker = await startService({ connection, role: "worker", env });
    this.#workers.add(worker);
    return worker;
  }

  async end(worker: ServiceProcess, signal: "SIGKILL" | "SIGTERM"): Promise<void> {
    this.#workers.delete(worker);
    await worker.signal(signal);
  }

  rows(query: ReturnType<typeof sql>): Promise<Json[]> {
    return this.app.context.db.many<Json>(query);
  }

  /** As if their time had run out: rows that nobody alive has taken. Returns how many. */
  async expireClaims(): Promise<number> {
    const expired = await this.rows(sql`
      update webhook_queue
         set held_until = statement_timestamp()
       where claim is not null
      returning 1`);
    return expired.length;
  }

  get deliveries(): number {
    return this.receivers.reduce((sum, { received }) => sum + received.length, 0);
  }

  async emptied(): Promise<void> {
    await until(async () => {
      const [left] = await this.rows(sql`select count(*) from webhook_queue`);
      return left.count === 0;
    }, DONE_MS);
  }

  async close(): Promise<void> {
    for (const worker of this.#workers) await worker.signal("SIGKILL");
    for (const receiver of this.receivers) await receiver.close();
    await this.app.close();
  }
}

/** Each endpoint has each message, under one id with the same bytes; how often more than once. */
export function duplicatesIn(storm: Storm, messages: number): number {
  let duplicates = 0;
  for (const { received } of storm.receivers) {
    const bodies = new Map<string, Buffer>();
    const numbers = new Set<number>();
    for (const { raw, body, headers } of received) {
      const id = String(headers["webhook-id"]);
      expect(body.data.fate).toBe("commit");
      numbers.add(body.data.no);
      const before = bodies.get(id);
      if (before !== undefined) {
        duplicates += 1;
        expect(raw.equals(before)).toBe(true);
      }
      bodies.set(id, raw);
    }
    expect(numbers.size).toBe(messages);
    expect(bodies.size).toBe(messages);
  }
  return duplicates;
}

/** Emits payments while workers start and are killed; returns when all have been delivered. */
export async function killStorm(messages: number, kills: number): Promise<void> {
  const storm = await Storm.start();
  try {
    const total = messages * storm.receivers.length;
    let emitted = 0;
    const emitting = (async () => {
      while (emitted < messages) {
        await emitPayments(storm.app, emitted, BATCH, "roll back");
        await emitPayments(storm.app, emitted, BATCH);
        emitted += BATCH;
      }
    })();
    let lost = 0;
    for (let kill = 1; kill <= kills; kill++) {
      const worker = await storm.worker();
      // Spread over the whole run, each while something is on its way.
      const reach = Math.floor((total * kill) / (kills + 1));
      await until(() => storm.deliveries >= reach, DONE_MS);
      await storm.end(worker, "SIGKILL");
      lost += await storm.expireClaims();
    }
    await emitting;
    const last = await storm.worker();
    await storm.emptied();
    await storm.end(last, "SIGTERM");

    // Only what was under way when its worker died can have come twice.
    expect(duplicatesIn(storm, messages)).toBeLessThanOrEqual(lost);
    const [log] = await storm.rows(sql`
      select count(*) as attempts, count(distinct (endpoint_id, message_id)) as messages,
             count(*) filter (where status <> 'delivered') as failed
        from webhook_attempts`);
    expect(log).toEqual({ attempts: total, messages: total, failed: 0 });
  } finally {
    await storm.close();
  }
}
