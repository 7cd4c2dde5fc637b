// A live tenant on a database of its own, with processes to be raced and killed on it.

import { expect } from "vitest";
import { initTenant } from "../../src/service/first-tenant.ts";
import type { Profile } from "../../src/service/profile.ts";
import { type Connection, Pool } from "../../src/store/db/db.ts";
import { sql } from "../../src/store/db/sql.ts";
import type { Json } from "../support/app.ts";
import { nodesOf, onCluster, testDatabase } from "../support/database.ts";
import { checkInvariants } from "../support/invariants.ts";
import {
  Caller,
  type HttpAnswer,
  type ProcessOptions,
  type ServiceProcess,
  slowness,
  spawnService,
} from "../support/processes.ts";

/** Said of a call or a job that waited for a connection as long as a process lets it. */
const WAITED = /timeout exceeded when trying to connect|Too many requests wait for the database/;
/** Said of a statement that took as long as a process lets it, whatever it waited for. */
const TOO_LONG = /canceling statement due to (statement|lock) timeout/;
/**
 * So many of the second kind are laid to the machine, for each process of the test: it is tried
 * again. More of them are a statement that is slow by itself, or one that waits for itself.
 */
const TOO_LONG_MAX = 5;
/** Two processes at work keep two cores busy; beyond that, others take what the test needs. */
const BUSY = 2;
const SLUGS = { org: "fleet", workspace: "main", project: "live" };

export class Fleet {
  readonly connection: Connection;
  readonly db: Pool;
  readonly profile: Profile;
  readonly caller: Caller;
  readonly #drop: () => Promise<void>;
  readonly #processes: ServiceProcess[] = [];

  private constructor(
    database: { connection: Connection; drop(): Promise<void> },
    db: Pool,
    profile: Profile,
  ) {
    this.connection = database.connection;
    this.#drop = database.drop;
    this.db = db;
    this.profile = profile;
    this.caller = new Caller(profile);
  }

  /** On a database of its own, or on a migrated one that is given. */
  static async open(given?: { connection: Connection; drop(): Promise<void> }): Promise<Fleet> {
    const database = given ?? (await testDatabase());
    const db = new Pool(database.connection, {
      max: 4,
      statement_timeout_ms: 60_000,
      lock_timeout_ms: 10_000,
      application_name: "dues test",
    });
    const profile = await initTenant(db, SLUGS, "live", "", new Date());
    return new Fleet(database, db, profile);
  }

  /** Several at once, or one; resolved when all are ready. */
  async start(
    role: ProcessOptions["role"],
    count = 1,
    ahead_ms = 0,
  ): Promise<[ServiceProcess, ...ServiceProcess[]]> {
    const started = await Promise.all(
      Array.from({ length: count }, (_, n) => {
        const connection = this.#nodeFor(this.#processes.length + n);
        return spawnService({ connection, role, ahead_ms });
      }),
    );
    this.#processes.push(...started);
    await Promise.all(started.map((service) => service.ready()));
    return started as [ServiceProcess, ...ServiceProcess[]];
  }

  /** On a cluster each process is connected to another node than the one before. */
  #nodeFor(nth: number): Connection {
    const nodes = nodesOf(this.connection);
    return nodes[nth % nodes.length] ?? this.connection;
  }

  /** What was logged as an error; where the machine is too busy, without what follows from it. */
  get errors(): string[] {
    const errors = this.#processes.flatMap((service) => service.errors);
    return onCluster || slowness() > BUSY
      ? notOfTheMachine(errors, this.#processes.length)
      : errors;
  }

  async expectAgreement(): Promise<void> {
    expect(await checkInvariants(this.db)).toEqual([]);
    expect(this.errors).toEqual([]);
  }

  /**
   * One of hundreds of calls at once. They may wait longer for a connection than a process lets
   * them; who then hears 503 tries again, and whatever came of it shows in the answer.
   */
  answer(api: ServiceProcess, method: string, path: string, body: Json): Promise<HttpAnswer> {
    return this.caller.insist(api, method, path, body);
  }

  async stopAll(): Promise<void> {
    await Promise.all(this.#processes.map((service) => service.signal("SIGKILL")));
  }

  async close(): Promise<void> {
    await this.stopAll();
    await this.caller.close();
    await this.db.end();
    await this.#drop();
  }

  async count(
    table: "invoices" | "invoice_parts" | "payments" | "subscriptions",
    where = "true",
  ): Promise<number> {
    const text = `select count(*) from ${table} where project_id = $1 and ${where}`;
    const row = await this.db.one<{ count: number }>({ text, values: [this.profile.project_id] });
    return row.count;
  }

  /** A plan with a base fee, a usage charge and a flat fee by quantity. */
  async makePlan(api: ServiceProcess, more: Json[] = []): Promise<{ plan: Json; customer: Json }> {
    const post = (path: string, body: Json) => this.caller.ok(api, "POST", path, body);
    await post("/v1/metrics", {
      code: "calls",
      name: "Calls",
      aggregation_type: "sum",
      field_name: "n",
    });
    const { plan } = await post("/v1/plans", {
      code: "pro",
      name: "Pro",
      interval: "monthly",
      amount_cents: 1_000,
      amount_currency: "USD",
      charges: [
        { type: "standard", metric_ref: "calls", rate: "0.01" },
        {
          type: "flat_fee",
          amount_override_cents: 100,
          quantity_from: "subscription_property.seats",
        },
        ...more,
      ],
    });
    const named = { external_id: "c", name: "C", email: "c@example.com", currency: "USD" };
    const { customer } = await post("/v1/customers", named);
    return { plan, customer };
  }

  /** One subscription by the API, and copies of it by SQL up to the number. */
  async makeSubscriptions(api: ServiceProcess, count: number): Promise<string[]> {
    const { plan, customer } = await this.makePlan(api);
    const { subscription } = await this.caller.ok(api, "POST", "/v1/subscriptions", {
      external_id: "s1",
      customer_id: customer.id,
      plan_id: plan.id,
      properties: { seats: 2 },
    });
    await this.db.run(sql`
      insert into subscriptions (project_id, id, external_id, customer_id, plan_id, status,
                                 properties, started_at, period_no, current_period_start,
                                 current_period_next, plan_version, recurring_cents, created_at,
                                 updated_at)
      select s.project_id, gen_random_uuid(), 's' || n::text, s.customer_id, s.plan_id, s.status,
             s.properties, s.started_at, s.period_no, s.current_period_start,
             s.current_period_next, s.plan_version, s.recurring_cents, s.created_at, s.updated_at
        from subscriptions s
       cross join generate_series(2, ${count}::integer) as n
       where s.project_id = ${this.profile.project_id} and s.id = ${subscription.id}`);
    return Array.from({ length: count }, (_, i) => `s${i + 1}`);
  }
}

/** Errors without those that a machine with too little time makes: all of them when too many. */
export function notOfTheMachine(errors: readonly string[], processes: number): string[] {
  const rest = errors.filter((line) => !WAITED.test(line));
  const others = rest.filter((line) => !TOO_LONG.test(line));
  return rest.length - others.length <= TOO_LONG_MAX * processes ? others : rest;
}

/** How far ahead a clock must run to stand a moment after the n-th month from now has begun. */
export function monthsAhead(n: number, plus_ms = 1_000): number {
  const now = new Date();
  const start = Date.UTC(now.getUTCFullYear(), now.getUTCMonth() + n, 1);
  return start - now.getTime() + plus_ms;
}

/** How often each answer was given. */
export function tally(values: readonly (number | string | boolean)[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[String(value)] = (counts[String(value)] ?? 0) + 1;
  return counts;
}
