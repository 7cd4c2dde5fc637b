// Wallets: all grants of a customer in one currency, and when they are low.

import type { ProjectId } from "../../ids.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { type Sql, sql } from "../db/sql.ts";

export type WalletRow = {
  readonly customer_id: string;
  readonly currency: string;
  readonly balance_cents: number;
  readonly low_balance_cents: number | null;
  readonly top_up_cents: number | null;
  readonly is_low: boolean;
};

const COLUMNS: Sql = sql`customer_id, currency, balance_cents, low_balance_cents, top_up_cents,
  is_low`;

/** The customer's wallets: one for every currency with an entry or a setting. */
export function list(db: Queryable, project: ProjectId, customer_id: string) {
  return db.many<WalletRow>(sql`
    select ${COLUMNS}
      from wallets
     where project_id = ${project} and customer_id = ${customer_id}
       and (last_no > 0 or low_balance_cents is not null or top_up_cents is not null)
     order by currency`);
}

export type WalletKey = Pick<WalletRow, "customer_id" | "currency">;

/** A key that stands before those of all wallets. */
export const FIRST_WALLET: WalletKey = {
  customer_id: "00000000-0000-0000-0000-000000000000",
  currency: "",
};

export type WalletTerms = Pick<WalletRow, "low_balance_cents" | "top_up_cents">;

export async function put(
  tx: Tx,
  project: ProjectId,
  of: WalletKey,
  to: WalletTerms,
): Promise<void> {
  await tx.run(sql`
    insert into wallets (project_id, customer_id, currency, low_balance_cents, top_up_cents)
    values (${project}, ${of.customer_id}, ${of.currency}, ${to.low_balance_cents},
            ${to.top_up_cents})
    on conflict (project_id, customer_id, currency) do update
       set low_balance_cents = excluded.low_balance_cents,
           top_up_cents = excluded.top_up_cents`);
}

export type MarkedRow = WalletRow & {
  /** A text that changes with the customer's usage, its subscriptions and their periods. */
  readonly usage_mark: string;
};

export function listOf(db: Queryable, project: ProjectId, customer_ids: readonly string[]) {
  return db.many<MarkedRow>(sql`
    select ${COLUMNS}, ${usageMark(project)} as usage_mark
      from wallets w
     where w.project_id = ${project} and w.customer_id = any(${customer_ids}::uuid[])
     order by w.customer_id, w.currency`);
}

/**
 * The usage mark of the customer of the wallet `w`. It counts events, because each changes what is
 * running: a day tells the event with the latest timestamp, not the one that arrived last.
 */
function usageMark(project: ProjectId): Sql {
  return sql`coalesce((
      select md5(string_agg(concat_ws(' ', s.id, s.period_no, s.plan_version, d.events, c.events),
                            ',' order by s.id))
        from subscriptions s
        join projects p on p.id = ${project}
       cross join lateral (
         select sum(d.events) as events
           from usage_days d
          where d.project_id = ${project} and d.subscription_id = s.id
            and d.period_no >= s.period_no - p.late_usage_periods) d
       cross join lateral (
         select sum(c.events) as events
           from usage_parts c
          where c.project_id = ${project} and c.subscription_id = s.id
            and c.period_no >= s.period_no - p.late_usage_periods) c
       where s.project_id = ${project} and s.customer_id = w.customer_id
         and s.status in ('active', 'suspended')), '')`;
}

export type WatchedRow = MarkedRow & {
  /** The usage mark when the wallet was last looked at. */
  readonly looked_mark: string;
};

/** Wallets with a threshold, in the order of their keys, behind the key `after`. */
export function listWatched(db: Queryable, project: ProjectId, limit: number, after: WalletKey) {
  return db.many<WatchedRow>(sql`
    select ${COLUMNS}, w.looked_mark, ${usageMark(project)} as usage_mark
      from wallets w
     where w.project_id = ${project} and w.low_balance_cents is not null
       and (w.customer_id, w.currency) > (${after.customer_id}::uuid, ${after.currency}::text)
     order by w.customer_id, w.currency
     limit ${limit}`);
}

/** The next wallet with a threshold behind the key `after`. */
export function nextWatched(db: Queryable, project: ProjectId, after: WalletKey) {
  return db.maybeOne<WalletKey>(sql`
    select w.customer_id, w.currency
      from wallets w
     where w.project_id = ${project} and w.low_balance_cents is not null
       and (w.customer_id, w.currency) > (${after.customer_id}::uuid, ${after.currency}::text)
     order by w.customer_id, w.currency
     limit 1`);
}

/** Wallets whose ledger has changed since they were looked at. */
export function listChanged(db: Queryable, project: ProjectId, limit: number) {
  return db.many<WalletRow>(sql`
    select ${COLUMNS}
      from wallets
     where project_id = ${project} and look_at is not null
     order by look_at, customer_id, currency
     limit ${limit}`);
}

/** A customer's wallets whose ledger has changed, however many others wait to be looked at. */
export function listChangedOf(db: Queryable, project: ProjectId, customer_id: string) {
  return db.many<WalletRow>(sql`
    select ${COLUMNS}
      from wallets
     where project_id = ${project} and customer_id = ${customer_id} and look_at is not null
     order by look_at, currency`);
}

export async function noteLooked(
  tx: Tx,
  project: ProjectId,
  { customer_id, currency, usage_mark }: MarkedRow,
  is_low: boolean,
): Promise<void> {
  await tx.run(sql`
    update wallets
       set is_low = ${is_low}, look_at = null, looked_mark = ${usage_mark}
     where project_id = ${project} and customer_id = ${customer_id} and currency = ${currency}`);
}

/** Marks a wallet to be looked at though its ledger has not changed. */
export async function markChanged(
  tx: Tx,
  project: ProjectId,
  { customer_id, currency }: WalletKey,
  now: Date,
): Promise<void> {
  await tx.run(sql`
    update wallets
       set look_at = ${now}
     where project_id = ${project} and customer_id = ${customer_id} and currency = ${currency}`);
}

/** Whether a top-up of the wallet waits for its payment. */
export async function hasPendingTopUp(
  db: Queryable,
  project: ProjectId,
  { customer_id, currency }: WalletKey,
): Promise<boolean> {
  const { found } = await db.one<{ found: boolean }>(sql`
    select exists (
      select 1
        from grants
       where project_id = ${project} and customer_id = ${customer_id}
         and currency = ${currency} and kind = 'paid' and status = 'pending') as found`);
  return found;
}

/** When the next wallet whose ledger has changed is to be looked at, if until the instant. */
export async function nextLook(db: Queryable, project: ProjectId, until: Date) {
  const { at } = await db.one<{ at: Date | null }>(sql`
    select min(look_at) as at
      from wallets
     where project_id = ${project} and look_at <= ${until}`);
  return at;
}

export function keyOf({ customer_id, currency }: WalletKey) {
  return `${customer_id} ${currency}`;
}
