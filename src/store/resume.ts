// What waits in a database that is held after a restore, and the end of the hold. An operator's
// command with a connection of its own.

import type pg from "pg";
import { connect } from "./connect.ts";
import type { Connection } from "./db.ts";
import { codeOf } from "./failures.ts";
import {
  type Counters,
  listCounters,
  type NextNumber,
  type PassedCounter,
  raiseCounters,
} from "./invoice-counters.ts";
import { SchemaError } from "./migrate.ts";
import { DUE_AT, LIVE } from "./subscriptions.ts";

/** A table, or a column of one, is not there. */
const SCHEMA_MISSING = new Set(["42P01", "42703"]);

/** What waits for the workers, of all projects, and the counters of invoice numbers. */
export type Waiting = Counters & {
  /** Null when the database is not held. */
  readonly held_since: Date | null;
  /** Periods that have ended: each becomes an invoice. */
  readonly periods: number;
  /** Ended ones of subscriptions that are set aside: unbilled until their reason is mended. */
  readonly set_aside: number;
  /** Webhook messages that were not delivered when the backup was made, or were made since. */
  readonly messages: number;
  /** Unpaid invoices that are past their due date, or have a dunning step due. */
  readonly invoices: number;
};

/** The counters after the move, and those that were at or beyond the wanted number already. */
export type Resumed = Counters & { readonly passed: readonly PassedCounter[] };

/** What the workers will do once the hold ends. */
export function readWaiting(connection: Connection, now: Date): Promise<Waiting> {
  return onClient(connection, async (client) => {
    const { rows } = await client.query<{ held_since: Date | null }>(
      "select held_since from installation",
    );
    return {
      held_since: rows[0]?.held_since ?? null,
      periods: await count(client, `${ENDED_PERIODS} and s.set_aside_reason is null`, now),
      set_aside: await count(client, `${ENDED_PERIODS} and s.set_aside_reason is not null`, now),
      messages: await count(client, WAITING_MESSAGES),
      invoices: await count(client, DUE_INVOICES, now),
      ...(await listCounters(client)),
    };
  });
}

/** Moves counters forward and ends the hold, in one transaction: both happen or neither. */
export function endHold(
  connection: Connection,
  next_numbers: readonly NextNumber[],
): Promise<Resumed> {
  return onClient(connection, async (client) => {
    await client.query("begin");
    const passed = await raiseCounters(client, next_numbers);
    await client.query("update installation set held_since = null");
    await client.query("commit");
    return { ...(await listCounters(client)), passed };
  });
}

/** A sandbox project has the time of its own clock. */
const ENDED_PERIODS = `
  select count(*)
    from subscriptions s
    join projects p on p.id = s.project_id
   where ${LIVE.text} and ${DUE_AT.text} <= coalesce(p.frozen_at, $1)`;

const WAITING_MESSAGES = "select count(*) from webhook_queue";

const DUE_INVOICES = `
  select count(*)
    from invoices i
    join projects p on p.id = i.project_id
   where (i.status = 'outstanding'
          and i.due_date < (coalesce(p.frozen_at, $1) at time zone 'UTC')::date)
      or i.dunning_on <= (coalesce(p.frozen_at, $1) at time zone 'UTC')::date`;

async function count(client: pg.ClientBase, statement: string, now?: Date): Promise<number> {
  const { rows } = await client.query<{ count: string }>(statement, now && [now]);
  return Number(rows[0]?.count);
}

async function onClient<T>(
  connection: Connection,
  work: (client: pg.Client) => Promise<T>,
): Promise<T> {
  const client = await connect(connection, "dues resume");
  try {
    return await work(client);
  } catch (error) {
    if (!SCHEMA_MISSING.has(codeOf(error))) throw error;
    throw new SchemaError("The database does not have the schema of this version: dues migrate");
  } finally {
    await client.end();
  }
}
