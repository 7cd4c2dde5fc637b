// Callers against the close of the same subscriptions: every statement of both sides is a little
// late, and what was billed in the end is told line by line.

import { setTimeout as pause } from "node:timers/promises";
import type { Clock } from "../../src/clock.ts";
import type { Context } from "../../src/context.ts";
import type { ProjectId } from "../../src/ids.ts";
import { apiServer } from "../../src/service/api-server.ts";
import { type Db, Pool } from "../../src/store/db/db.ts";
import { sql } from "../../src/store/db/sql.ts";
import { raiseCutoff } from "../../src/store/usage/locks.ts";
import { type Ended, withEndedPeriods } from "../../src/store/work/projects-with-work.ts";
import { billingJob } from "../../src/workers/billing.ts";
import { type Answer, App, type Body, type Json, startApp } from "./app.ts";
import { Client } from "./client.ts";
import { checkInvariants } from "./invariants.ts";
import { jittery } from "./jittery.ts";
import { runToEnd } from "./run-job.ts";

const JITTER_MS_MAX = 3;
/** About as long as a close of a few subscriptions takes with that jitter. */
const CLOSE_MS = 60;

/** The clock of one machine, which can be set. */
class SetClock implements Clock {
  #at = new Date(0);

  now(): Date {
    return this.#at;
  }

  set(at: string): void {
    this.#at = new Date(at);
  }
}

export class RaceCourse {
  readonly #app: App;
  readonly #pool: Pool;
  readonly #callers = new SetClock();
  readonly #workers = new SetClock();
  #projects = 0;

  private constructor(app: App) {
    this.#app = app;
    this.#pool = new Pool(app.connection, {
      max: 40,
      statement_timeout_ms: 20_000,
      lock_timeout_ms: 10_000,
      application_name: "races",
    });
  }

  static async open(): Promise<RaceCourse> {
    return new RaceCourse(await startApp());
  }

  get db(): Db {
    return this.#pool;
  }

  /** The books must be sound, whatever was raced on them. */
  async close(): Promise<string[]> {
    const broken = await checkInvariants(this.#app.context.db);
    await this.#pool.end();
    await this.#app.close();
    return broken;
  }

  /** Of machines: a request may have read the time before the worker did, and come after it. */
  setClocks(callers: string, workers: string): void {
    this.#callers.set(callers);
    this.#workers.set(workers);
  }

  /** A project of its own, told promptly, or with every statement a little late or attended. */
  async project(
    mode: "live" | "sandbox",
    attend: (db: Db) => Db = (db) => jittery(db, JITTER_MS_MAX),
  ): Promise<{ prompt: Client; slow: Client }> {
    this.#projects += 1;
    const named = { workspace: "main", slug: `race-${this.#projects}`, mode };
    const { project } = await this.#app.post("/v1/projects", named);
    const who = { token: this.#app.profile.token, project: project.id };
    const at = (db: Context["db"]) => new Client(this.#appWith({ db, clock: this.#callers }), who);
    return { prompt: at(this.#pool), slow: at(attend(this.#pool)) };
  }

  #appWith(change: Partial<Context>): App {
    const context = { ...this.#app.context, ...change };
    const server = apiServer(context, { draining: false, schema_version: 0, warnings: [] });
    const { connection, profile } = this.#app;
    return new App({ server, context, connection, profile, close: async () => {} });
  }

  /** Two workers do all that is due. */
  async work(speed: "slow" | "prompt" = "prompt"): Promise<void> {
    const attend = (db: Db) => (speed === "slow" ? jittery(db, JITTER_MS_MAX) : db);
    await Promise.all([this.workOn(attend), this.workOn(attend)]);
  }

  /** One worker does all that is due. */
  async workOn(attend: (db: Db) => Db): Promise<void> {
    const db = attend(this.#pool);
    await runToEnd(billingJob({ ...this.#app.context, db, clock: this.#workers }));
  }

  async raiseCutoff({ project }: Client, until: string): Promise<void> {
    await this.#pool.tx((tx) => raiseCutoff(tx, project as ProjectId, new Date(until)));
  }

  withEndedPeriods(now: string): Promise<Ended[]> {
    return withEndedPeriods(this.#pool, new Date(now));
  }

  /** The sum of its lines by plan, name and month, of months that begin before that date. */
  async bill({ project }: Client, subscription_id: string, before: string): Promise<string[]> {
    const lines = await this.#pool.many<{ line: string }>(sql`
      select concat_ws(' ', f.properties ->> 'plan_code', f.properties ->> 'name',
                       left(coalesce(f.properties ->> 'period_start', i.period_start::text), 7),
                       sum(f.amount_cents)) as line
        from fees f
        join invoices i on i.project_id = f.project_id and i.id = f.invoice_id
       where f.project_id = ${project} and i.subscription_id = ${subscription_id}
         and coalesce(f.properties ->> 'period_start', i.period_start::text) < ${before}
       group by f.properties ->> 'plan_code', f.properties ->> 'name',
                left(coalesce(f.properties ->> 'period_start', i.period_start::text), 7)
      having sum(f.amount_cents) <> 0`);
    return lines.map(({ line }) => line);
  }
}

/** At any moment of a close that begins now. */
export function amidClose(): Promise<void> {
  return pause(Math.random() * CLOSE_MS);
}

/** Tried again while the service says that this helps. */
export async function insist(
  client: Client,
  method: string,
  path: string,
  body: Body,
): Promise<Answer> {
  for (;;) {
    const answer = await client.call(method, path, body);
    if (answer.status !== 503) return answer;
  }
}

export async function makeCustomer(client: Client): Promise<Json> {
  const named = { external_id: "c", name: "C", email: "c@example.com", currency: "USD" };
  return (await client.post("/v1/customers", named)).customer;
}
