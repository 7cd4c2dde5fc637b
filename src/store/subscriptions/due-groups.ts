// What falls due together: the subscriptions of a customer that are due at its earliest instant,
// for customers that get one invoice of it. A customer is taken whole, or left.

import { groupBy } from "../../domain/group-by.ts";
import type { ProjectId } from "../../ids.ts";
import type { Queryable, Tx } from "../db/db.ts";
import { type Sql, sql } from "../db/sql.ts";
import { isDue, isGrouped, PLAN_FOR_ANY_PROJECT } from "./open-periods.ts";
import {
  BILLED_COLUMNS,
  type BilledSubscription,
  billedTable,
  DUE_AT,
  NOT_ENDED,
} from "./subscriptions.ts";

/** Which of what is due may be taken. */
export type Wanted = {
  readonly now: Date;
  /** The subscriptions of a transaction, and those of one customer in it. */
  readonly limit: number;
  readonly limit_each: number;
  /** Only this customer. */
  readonly customer_id?: string;
};

export type Taken = {
  readonly batch: BilledSubscription[];
  /** Whether others may be due as well. */
  readonly is_full: boolean;
};

type Group = {
  readonly customer_id: string;
  readonly due_at: Date;
  readonly ids: readonly string[];
  readonly currencies: readonly string[];
};

/** How often others are looked for where all that were found are held: by as many workers. */
const ROUNDS_MAX = 4;

/**
 * Locks customers, the first due first, each with all of its subscriptions that are due at its
 * earliest instant, and reads them under the locks. One of whom anything is held is left out.
 */
export async function lockGroups(tx: Tx, project: ProjectId, wanted: Wanted): Promise<Taken> {
  const held: string[] = [];
  for (let round = 0; round < ROUNDS_MAX; round++) {
    const { groups, is_full } = await findGroups(tx, project, wanted, held);
    if (groups.length === 0) break;
    const got = await tryLocks(
      tx,
      project,
      groups.map(({ customer_id }) => customer_id),
    );
    const own = groups.filter(({ customer_id }) => got.has(customer_id));
    held.push(...groups.flatMap(({ customer_id }) => (got.has(customer_id) ? [] : [customer_id])));
    if (own.length === 0) continue;
    return { batch: await lockWhole(tx, project, own, wanted.limit_each), is_full };
  }
  return { batch: [], is_full: false };
}

/** What is due at once of a customer, as far as one invoice takes it, without a lock. */
export async function listOf(db: Queryable, project: ProjectId, wanted: Wanted) {
  const { groups } = await findGroups(db, project, wanted, []);
  return groups.flatMap(({ ids }) => [...ids]);
}

/** The customers that have something due, the first due first, without a lock. */
export async function listCustomers(db: Queryable, project: ProjectId, wanted: Wanted) {
  const { groups } = await findGroups(db, project, wanted, []);
  return groups.map(({ customer_id }) => customer_id);
}

/** The customers whose turn it is, but for some, until their subscriptions are enough. */
async function findGroups(
  db: Queryable,
  project: ProjectId,
  { now, limit, limit_each, customer_id }: Wanted,
  but: readonly string[],
): Promise<{ groups: Group[]; is_full: boolean }> {
  const ofOne = customer_id === undefined ? sql`` : sql` and s.customer_id = ${customer_id}`;
  const found = await db.many<Group>(sql`
    with line as (
      select s.customer_id, ${DUE_AT} as due_at, s.id
        from subscriptions s
       where ${isDue(project, now)} and not s.left_behind and ${isGrouped(project)}${ofOne}
         and s.customer_id <> all (${but}::uuid[])
       order by ${DUE_AT}, s.id
       limit ${limit})
    select f.customer_id, f.due_at, d.ids, d.currencies, ${PLAN_FOR_ANY_PROJECT}
      from (select distinct on (customer_id) customer_id, due_at, id
              from line
             order by customer_id, due_at, id) f
     cross join lateral (
       select array_agg(g.id) as ids, array_agg(g.currency) as currencies
         from (${dueAtOnce(project, limit_each)}) g) d
     order by f.due_at, f.id`);
  const groups: Group[] = [];
  let count = 0;
  for (const group of found) {
    const own = portionOf(group, limit_each);
    if (groups.length > 0 && count + own.ids.length > limit) return { groups, is_full: true };
    groups.push(own);
    count += own.ids.length;
  }
  return { groups, is_full: count >= limit };
}

/** What is due of the customer `f` by its instant: one more than may be taken, where it is more. */
function dueAtOnce(project: ProjectId, limit_each: number): Sql {
  return sql`select s.id, p.amount_currency as currency
                 from subscriptions s
                 join plans p on p.project_id = ${project} and p.id = s.plan_id
                where s.project_id = ${project} and s.customer_id = f.customer_id
                  and ${NOT_ENDED} and not s.left_behind and ${DUE_AT} <= f.due_at
                order by p.amount_currency, s.id
                limit ${limit_each + 1}`;
}

/** All of a customer; of more than one invoice takes, the first of the first currency. */
function portionOf(group: Group, limit_each: number): Group {
  const { ids, currencies } = group;
  if (ids.length <= limit_each) return group;
  const first = ids.filter((_, i) => currencies[i] === currencies[0]).slice(0, limit_each);
  return { ...group, ids: first };
}

/** The locks of the claim, of which one holds each customer together. Nobody waits for them. */
async function tryLocks(
  tx: Tx,
  project: ProjectId,
  customer_ids: readonly string[],
): Promise<ReadonlySet<string>> {
  const { got } = await tx.one<{ got: string[] }>(sql`
    select try_locks(${project}, ${customer_ids}::text[]) as got`);
  return new Set(got);
}

/** The subscriptions of those customers that are all there, as they were found. */
async function lockWhole(
  tx: Tx,
  project: ProjectId,
  groups: readonly Group[],
  limit_each: number,
): Promise<BilledSubscription[]> {
  const ids = groups.flatMap((group) => group.ids);
  const locked = await tx.many<{ id: string }>(sql`
    select s.id
      from subscriptions s
     where s.project_id = ${project} and s.id = any(${ids}::uuid[])
     order by s.id
       for no key update skip locked`);
  const has = new Set(locked.map(({ id }) => id));
  const due = groups.map(({ due_at }) => due_at);
  const rows = await tx.many<BilledSubscription & { due_at: Date }>(sql`
    select ${BILLED_COLUMNS}, ${DUE_AT} as due_at
      from ${billedTable(project)}
     where s.project_id = ${project} and s.id in (
       select g.id
         from unnest(${groups.map(({ customer_id }) => customer_id)}::uuid[],
                     ${due}::timestamptz[]) as f (customer_id, due_at)
        cross join lateral (${dueAtOnce(project, limit_each)}) g)
     order by ${DUE_AT}, s.id`);
  const byCustomer = groupBy(rows, ({ customer_id }) => customer_id);
  const whole = groups.filter((group) => {
    const now = byCustomer.get(group.customer_id) ?? [];
    const wanted = new Set(group.ids);
    const isMore = now.length > limit_each;
    return (
      group.ids.every((id) => has.has(id)) &&
      now.filter(({ id }) => wanted.has(id)).length === wanted.size &&
      (isMore || now.length === wanted.size) &&
      now.every(({ due_at, invoice_grouping }) => {
        return due_at.getTime() === group.due_at.getTime() && invoice_grouping === "customer";
      })
    );
  });
  const taken = new Set(whole.flatMap((group) => group.ids));
  return rows.filter(({ id }) => taken.has(id));
}

/** When what falls due together is due next: a sandbox clock goes from one such instant on. */
export async function nextGroup(db: Queryable, project: ProjectId, until: Date) {
  const { at } = await db.one<{ at: Date | null }>(sql`
    select min(${DUE_AT}) as at
      from subscriptions s
     where ${isDue(project, until)} and not s.left_behind and ${isGrouped(project)}`);
  return at;
}
