// The ledger of customers' money: grants, the entries that they rise and fall by, and wallets,
// which are the sums per currency. Whoever writes here holds the lock of the customer.

import type { UsableGrant } from "../../domain/grants.ts";
import { newId, type ProjectId } from "../../ids.ts";
import { GRANT_STATUSES } from "../../schema/enums.ts";
import type { Grant, GrantKind, LedgerEntry } from "../../schema/grants.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { type Apart, type PageRequest, page } from "../db/page.ts";
import { columnsOf, recordset, rowsOf } from "../db/rows.ts";
import { type Sql, sql } from "../db/sql.ts";

const GRANT_COLUMNS: Sql = sql`id, customer_id, currency, kind, name, amount_cents,
  remaining_cents, priority, expires_at, status, invoice_id, created_at`;

export type GrantRow = Grant & { readonly payment_id: string | null };

export type NewGrant = {
  readonly id: string;
  readonly customer_id: string;
  readonly currency: string;
  readonly kind: GrantKind;
  readonly name: string;
  readonly amount_cents: number;
  readonly priority: number;
  readonly expires_at: Date | null;
  readonly status: "pending" | "active";
  readonly invoice_id: string | null;
  readonly payment_id: string | null;
};

const GRANT = {
  id: "uuid",
  customer_id: "uuid",
  currency: "text",
  kind: "text",
  name: "text",
  amount_cents: "bigint",
  remaining_cents: "bigint",
  priority: "integer",
  expires_at: "timestamptz",
  status: "text",
  invoice_id: "uuid",
  payment_id: "uuid",
  created_at: "timestamptz",
};

/** Makes grants without money in them: what they are worth comes by an entry. */
export async function insertGrants(
  tx: Tx,
  project: ProjectId,
  grants: readonly NewGrant[],
  now: Date,
): Promise<void> {
  if (grants.length === 0) return;
  const rows = grants.map((grant) => ({ ...grant, remaining_cents: 0, created_at: now }));
  await tx.run(sql`
    insert into grants (${columnsOf(GRANT)})
    ${rowsOf(project, GRANT, rows)}`);
}

export type NewLedgerEntry = {
  readonly customer_id: string;
  readonly currency: string;
  readonly grant_id: string;
  readonly reason: LedgerEntry["reason"];
  readonly amount_cents: number;
  readonly invoice_id?: string | null;
  readonly credit_note_id?: string | null;
  readonly refund_id?: string | null;
};

const LEDGER_ENTRY = {
  customer_id: "uuid",
  currency: "text",
  no: "bigint",
  id: "uuid",
  grant_id: "uuid",
  reason: "text",
  amount_cents: "bigint",
  balance_cents: "bigint",
  invoice_id: "uuid",
  credit_note_id: "uuid",
  refund_id: "uuid",
  created_at: "timestamptz",
};
const WALLET = {
  customer_id: "uuid",
  currency: "text",
  balance_cents: "bigint",
  last_no: "bigint",
  look_at: "timestamptz",
};

type WalletBalance = {
  customer_id: string;
  currency: string;
  balance_cents: number;
  last_no: number;
};

/** Writes the entries in their order and changes grants and wallets by them. */
export async function record(
  tx: Tx,
  project: ProjectId,
  entries: readonly NewLedgerEntry[],
  now: Date,
): Promise<void> {
  if (entries.length === 0) return;
  const customers = [...new Set(entries.map(({ customer_id }) => customer_id))];
  const wallets = await tx.many<WalletBalance>(sql`
    select customer_id, currency, balance_cents, last_no
      from wallets
     where project_id = ${project} and customer_id = any(${customers}::uuid[])`);
  const balances = new Map(wallets.map((wallet) => [keyOf(wallet), { ...wallet }]));
  const rows = entries.map((entry) => {
    const { customer_id, currency, amount_cents } = entry;
    const wallet = balances.get(keyOf(entry)) ?? {
      customer_id,
      currency,
      balance_cents: 0,
      last_no: 0,
    };
    wallet.balance_cents += amount_cents;
    wallet.last_no += 1;
    balances.set(keyOf(entry), wallet);
    const { balance_cents, last_no: no } = wallet;
    const about = { invoice_id: null, credit_note_id: null, refund_id: null };
    return { ...about, ...entry, id: newId(), no, balance_cents, created_at: now };
  });
  const touched = new Set(entries.map(keyOf));
  const changed = [...balances]
    .filter(([key]) => touched.has(key))
    .map(([, wallet]) => ({ ...wallet, look_at: now }));
  await changeGrants(tx, project, entries);
  await tx.run(sql`
    insert into ledger_entries (${columnsOf(LEDGER_ENTRY)})
    ${rowsOf(project, LEDGER_ENTRY, rows)}`);
  await tx.run(sql`
    insert into wallets as w (${columnsOf(WALLET)})
    ${rowsOf(project, WALLET, changed)}
    on conflict (project_id, customer_id, currency) do update
       set balance_cents = excluded.balance_cents, last_no = excluded.last_no,
           look_at = case when w.low_balance_cents is null then null else excluded.look_at end`);
}

/** What takes all that is left of a grant, and ends it. */
const ENDING: ReadonlySet<string> = new Set(["expired", "revoked"]);

const CHANGE = { id: "uuid", cents: "bigint", ended_as: "text" };

/**
 * Adds the entries up by grant. One with nothing left is used up, until something comes back, or
 * has ended by its last entry.
 */
async function changeGrants(
  tx: Tx,
  project: ProjectId,
  entries: readonly NewLedgerEntry[],
): Promise<void> {
  const changes = new Map<string, { cents: number; ended_as: string | null }>();
  for (const { grant_id, amount_cents, reason } of entries) {
    const cents = (changes.get(grant_id)?.cents ?? 0) + amount_cents;
    changes.set(grant_id, { cents, ended_as: ENDING.has(reason) ? reason : null });
  }
  const rows = [...changes].map(([id, change]) => ({ id, ...change }));
  await tx.run(sql`
    update grants g
       set remaining_cents = g.remaining_cents + n.cents,
           status = case when n.ended_as is not null then n.ended_as
                         when g.status not in ('active', 'used_up') then g.status
                         when g.remaining_cents + n.cents = 0 then 'used_up'
                         else 'active' end
      from ${recordset("n", CHANGE, rows)}
     where g.project_id = ${project} and g.id = n.id`);
}

export async function setStatus(
  tx: Tx,
  project: ProjectId,
  ids: readonly string[],
  status: Grant["status"],
): Promise<void> {
  if (ids.length === 0) return;
  await tx.run(sql`
    update grants
       set status = ${status}
     where project_id = ${project} and id = any(${ids}::uuid[])`);
}

/** Makes grants never expire: pending ones whose expiry came before their payment. */
export async function dropExpiry(
  tx: Tx,
  project: ProjectId,
  ids: readonly string[],
): Promise<void> {
  if (ids.length === 0) return;
  await tx.run(sql`
    update grants
       set expires_at = null
     where project_id = ${project} and id = any(${ids}::uuid[])`);
}

export type OwnedGrant = UsableGrant & { readonly customer_id: string; readonly currency: string };

/** The grants that these customers can pay with at the instant. */
export function listUsable(
  db: Queryable,
  project: ProjectId,
  customer_ids: readonly string[],
  now: Date,
) {
  return db.many<OwnedGrant>(sql`
    select id, customer_id, currency, kind, remaining_cents, priority, expires_at
      from grants
     where project_id = ${project} and customer_id = any(${customer_ids}::uuid[])
       and status = 'active' and remaining_cents > 0
       and (expires_at is null or expires_at > ${now})
     order by customer_id, id`);
}

export function getGrant(db: Queryable, project: ProjectId, id: string) {
  return db.maybeOne<GrantRow>(sql`
    select ${GRANT_COLUMNS}, payment_id
      from grants
     where project_id = ${project} and id = ${id}`);
}

/** Grants that an invoice made: its top-up, or the credit that it left. */
export function listByInvoice(db: Queryable, project: ProjectId, invoice_id: string) {
  return db.many<GrantRow>(sql`
    select ${GRANT_COLUMNS}, payment_id
      from grants
     where project_id = ${project} and invoice_id = ${invoice_id}
     order by id`);
}

const eachStatus: Apart = {
  values: sql`unnest(${GRANT_STATUSES}::text[]) as v (value)`,
  on: sql`status = v.value`,
  alias: sql`grants`,
};

export function listGrants(
  db: Queryable,
  project: ProjectId,
  filter: { readonly customer?: Sql; readonly currency?: string; readonly status?: string },
  request: PageRequest,
) {
  const where: Sql[] = [sql`project_id = ${project}`];
  if (filter.customer) where.push(filter.customer);
  if (filter.currency) where.push(sql`currency = ${filter.currency}`);
  if (filter.status) where.push(sql`status = ${filter.status}`);
  // The index by currency has the status before the id.
  const isOfCurrency = filter.currency && !filter.status && filter.customer === undefined;
  return page<Grant>(
    db,
    {
      columns: GRANT_COLUMNS,
      from: sql`grants`,
      ...(isOfCurrency && { apart: eachStatus }),
      where,
      project: sql`project_id`,
      order: [{ column: sql`id`, type: sql`uuid` }],
    },
    request,
  );
}

/** The entries of a customer's wallets, or of one, newest first. */
export function listEntries(
  db: Queryable,
  project: ProjectId,
  filter: { readonly customer_id: string; readonly currency: string | undefined },
  request: PageRequest,
) {
  const { customer_id, currency } = filter;
  const of = sql`project_id = ${project} and customer_id = ${customer_id}`;
  const no = { column: sql`no`, type: sql`bigint` };
  // Each wallet numbers its own entries.
  const byTime = [
    { column: sql`created_at`, type: sql`timestamptz` },
    { column: sql`currency`, type: sql`text` },
    no,
  ];
  return page<LedgerEntry>(
    db,
    {
      columns: sql`id, grant_id, currency, reason, amount_cents, balance_cents, invoice_id,
        credit_note_id, refund_id, created_at`,
      from: sql`ledger_entries`,
      where: currency === undefined ? [of] : [of, sql`currency = ${currency}`],
      project: sql`project_id`,
      order: currency === undefined ? byTime : [no],
    },
    request,
  );
}

export type AppliedGrant = {
  readonly grant_id: string;
  readonly amount_cents: number;
  readonly status: Grant["status"];
  readonly expires_at: Date | null;
};

/** What an invoice took of which grant. */
export function listApplied(db: Queryable, project: ProjectId, invoice_id: string) {
  return db.many<AppliedGrant>(sql`
    select e.grant_id, -sum(e.amount_cents)::bigint as amount_cents, min(g.status) as status,
           min(g.expires_at) as expires_at
      from ledger_entries e
      join grants g on g.project_id = ${project} and g.id = e.grant_id
     where e.project_id = ${project} and e.invoice_id = ${invoice_id} and e.reason = 'applied'
     group by e.grant_id
     order by e.grant_id`);
}

/** Grants whose time is up, of those that can end. */
export function listExpired(tx: Tx, project: ProjectId, now: Date, limit: number) {
  return tx.many<Pick<GrantRow, "id" | "customer_id">>(sql`
    select id, customer_id
      from grants
     where project_id = ${project} and status in ('pending', 'active') and expires_at <= ${now}
     order by expires_at, id
     limit ${limit}`);
}

/** The grants of these whose time is up still, each with what is left of it, in the same order. */
export function listExpiredOf(tx: Tx, project: ProjectId, ids: readonly string[], now: Date) {
  return tx.many<GrantRow>(sql`
    select ${GRANT_COLUMNS}, payment_id
      from grants
     where project_id = ${project} and id = any(${ids}::uuid[])
       and status in ('pending', 'active') and expires_at <= ${now}
     order by expires_at, id`);
}

export async function nextExpiry(db: Queryable, project: ProjectId, until: Date) {
  const { at } = await db.one<{ at: Date | null }>(sql`
    select min(expires_at) as at
      from grants
     where project_id = ${project} and status in ('pending', 'active') and expires_at <= ${until}`);
  return at;
}

export type Balance = {
  readonly customer_id: string;
  readonly currency: string;
  readonly balance_cents: number;
};

/** A customer's balances by currency, those above 0. */
export function listBalances(db: Queryable, project: ProjectId, customer_id: string) {
  return db.many<Balance>(sql`
    select customer_id, currency, balance_cents
      from wallets
     where project_id = ${project} and customer_id = ${customer_id} and balance_cents > 0
     order by currency`);
}

function keyOf({ customer_id, currency }: Pick<Balance, "customer_id" | "currency">): string {
  return `${customer_id} ${currency}`;
}
