// What waits in a database that is held after a restore, and the end of the hold. An operator's
// command with a connection of its own.

import type pg from "pg";
import { connect } from "../db/connect.ts";
import type { Connection } from "../db/db.ts";
import { codeOf } from "../db/failures.ts";
import { SchemaError } from "../migration/migrate.ts";
import { DUE_AT, NOT_ENDED } from "../subscriptions/subscriptions.ts";
import { readHere } from "./home.ts";
import {
  type Counters,
  listCounters,
  type NextNumber,
  type PassedCounter,
  raiseCounters,
} from "./invoice-counters.ts";

/** Errors that say that a table, or a column of one, is not there. */
const SCHEMA_MISSING = new Set(["42P01", "42703"]);

/** What waits for the workers, of all projects, and the counters of invoice numbers. */
export type Waiting = Counters & {
  /** The instant from which the database is held; null when it is not. */
  readonly held_since: Date | null;
  /** Whether it is in another PostgreSQL, or another database of it, than it was set up in. */
  readonly moved: boolean;
  /** Periods that have ended: each becomes an invoice. */
  readonly periods: number;
  /** Ended periods of subscriptions that are set aside: unbilled until their reason is mended. */
  readonly set_aside: number;
  /** Webhook messages that were not delivered when the backup was made, or were made since. */
  readonly messages: number;
  /** Unpaid invoices that are past their due date, or have a dunning step due. */
  readonly invoices: number;
};

/** The counters after they were raised, and those that had passed the wanted number already. */
export type Resumed = Counters & { readonly passed: readonly PassedCounter[] };

/** What the workers will do once the hold ends. */
export function readWaiting(connection: Connection, now: Date): Promise<Waiting> {
  return onClient(connection, async (client) => {
    const { rows } = await client.query<{ held_since: Date | null; home: string | null }>(
      "select held_since, home from installation",
    );
    const here = await readHere(client);
    const { held_since = null, home = null } = rows[0] ?? {};
    return {
      held_since,
      moved: here !== undefined && home !== null && home !== here,
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
    const here = await readHere(client);
    await client.query("begin");
    const passed = await raiseCounters(client, next_numbers);
    await client.query("update installation set held_since = null, home = coalesce($1, home)", [
      here,
    ]);
    await client.query("commit");
    return { ...(await listCounters(client)), passed };
  });
}

/** Periods that have ended, in a sandbox by the time of its own clock. */
const ENDED_PERIODS = `
  select count(*)
    from subscriptions s
    left join project_clocks k on k.project_id = s.project_id
   where ${NOT_ENDED.text} and ${DUE_AT.text} <= coalesce(k.frozen_at, $1)`;

const WAITING_MESSAGES = "select count(*) from webhook_queue";

const DUE_INVOICES = `
  select count(*)
    from invoices i
    left join project_clocks k on k.project_id = i.project_id
   where (i.status = 'outstanding'
          and i.due_date < (coalesce(k.frozen_at, $1) at time zone 'UTC')::date)
      or i.dunning_on <= (coalesce(k.frozen_at, $1) at time zone 'UTC')::date`;

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
