// How much waits for each duty of the workers, and for how long, over all projects: for the
// metrics, /readyz and `dues doctor`. Nothing is decided by it.

import { idFloor, idMs, type ProjectId } from "../../ids.ts";
import type { StartedJobs } from "../../schema/jobs.ts";
import { DATABASE_NOW, type Queryable } from "../db/db.ts";
import { ALL_PROJECTS, type ProjectFilter } from "../db/project-filter.ts";
import { type Sql, sql } from "../db/sql.ts";
import type { WalletKey } from "../money/wallets.ts";
import { DUE_AT, NOT_ENDED } from "../subscriptions/subscriptions.ts";
import { projectTime, WORK } from "./projects-with-work.ts";

/**
 * Counts stop here. They are asked for every 15 seconds, and even where each row lies on a page of
 * its own, that is 50 pages a second.
 */
export const WAITING_MAX = 751;
/** Old messages that are looked at: for each of them the queue is looked into as well. */
const OLD_MESSAGES_MAX = 200;

export type Waiting = {
  /** At most WAITING_MAX. */
  readonly count: number;
  /** For how long the oldest has been due; 0 where none waits. Frozen sandboxes have no age. */
  readonly oldest_s: number;
};

/** Duties of billing, by name: what is due, as the job looks for it. */
export const BILLING = {
  expiry: WORK.expired_grants,
  close: (at: Sql, filter: ProjectFilter) => sql`
      select ${DUE_AT} as since
        from subscriptions s
       where s.project_id = a.project_id and ${filter(sql`s.project_id`)}
         and ${NOT_ENDED} and ${DUE_AT} <= ${at} and s.set_aside_reason is null
       order by ${DUE_AT}`,
  supplement: WORK.late_usage,
  overdue: WORK.overdue_invoices,
  dunning: WORK.dunning_steps,
  wallet: WORK.changed_wallets,
} satisfies Record<string, (at: Sql, filter: ProjectFilter) => Sql>;

export type BillingDuty = keyof typeof BILLING;

export function waitingFor(
  db: Queryable,
  duty: BillingDuty,
  now: Date,
  filter: ProjectFilter = ALL_PROJECTS,
): Promise<Waiting> {
  const found = (limit: number, condition: Sql) => sql`
             select w.since
               from project_anchors a
               left join project_clocks k
                 on k.project_id = a.project_id and ${filter(sql`k.project_id`)}
              cross join lateral (${BILLING[duty](projectTime(now), filter)}
                limit ${limit}) w
              where ${filter(sql`a.project_id`)} and ${condition}`;
  // across projects: index probes of each, and as many rows as are counted.
  return db.one<Waiting>(sql`
    select (select count(*)
              from (${found(WAITING_MAX, sql`true`)}
                     limit ${WAITING_MAX}) counted) as count,
           (select coalesce(extract(epoch from ${now}::timestamptz - min(o.since)), 0)::float8
              from (${found(1, sql`k.frozen_at is null`)}) o) as oldest_s`);
}

/** Wallets with a threshold that a round over a project's wallets has still to look at. */
export async function watchedBehind(
  db: Queryable,
  project: ProjectId,
  after: WalletKey,
): Promise<number> {
  const { count } = await db.one<{ count: number }>(sql`
    select count(*) as count
      from (select 1
              from wallets w
             where w.project_id = ${project} and w.low_balance_cents is not null
               and (w.customer_id, w.currency) > (${after.customer_id}::uuid, ${after.currency}::text)
             order by w.customer_id, w.currency
             limit ${WAITING_MAX}) counted`);
  return count;
}

/** Jobs that calls have started, of all projects: how many, and what they have done so far. */
export async function startedJobs(
  db: Queryable,
  filter: ProjectFilter = ALL_PROJECTS,
): Promise<StartedJobs[]> {
  const age = (since: Sql) =>
    sql`extract(epoch from ${DATABASE_NOW} - min(${since}))::float8 as oldest_s`;
  const [replans, ofWebhooks] = await Promise.all([
    // across projects: an index of what is to be done, which is nearly always empty.
    db.many<StartedJobs>(sql`
      select 'replan' as kind, count(*) as jobs, coalesce(sum(replan_done), 0)::bigint as done,
             ${age(sql`replan_queued_at`)}
        from dunning_policies
       where replan_after is not null and ${filter(sql`project_id`)}
      having count(*) > 0`),
    // across projects: a table of what is to be done, which is nearly always empty.
    db.many<StartedJobs>(sql`
      select kind, count(*) as jobs, sum(done)::bigint as done, ${age(sql`queued_at`)}
        from webhook_jobs
       where ${filter(sql`project_id`)}
       group by kind
       order by kind`),
  ]);
  return [...replans, ...ofWebhooks];
}

/**
 * Messages that may be removed: made before the instant, and waiting for no endpoint. Looked for
 * among the oldest of each project, where those lie that have to stay.
 */
export async function oldMessages(
  db: Queryable,
  before: Date,
  filter: ProjectFilter = ALL_PROJECTS,
): Promise<Waiting> {
  // across projects: an index probe each, and one of the queue for each message that is old.
  const { count, oldest } = await db.one<{ count: number; oldest: string | null }>(sql`
    select count(*) as count, min(o.id::text) as oldest
      from (select m.id
              from project_anchors a
             cross join lateral (
               select m.id
                 from webhook_messages m
                where m.project_id = a.project_id and ${filter(sql`m.project_id`)}
                  and m.id < ${idFloor(before)}
                order by m.id
                limit ${OLD_MESSAGES_MAX}) m
             where ${filter(sql`a.project_id`)} and not exists (
               select 1
                 from webhook_queue q
                where q.project_id = a.project_id and ${filter(sql`q.project_id`)}
                  and q.message_id = m.id)
             limit ${OLD_MESSAGES_MAX}) o`);
  return { count, oldest_s: oldest === null ? 0 : (before.getTime() - idMs(oldest)) / 1_000 };
}

export function oldIdempotencyKeys(
  db: Queryable,
  before: Date,
  filter: ProjectFilter = ALL_PROJECTS,
): Promise<Waiting> {
  // across scopes: the oldest of the index of their age.
  return db.one<Waiting>(sql`
    select count(*) as count, ${ageOf(before)}
      from (select k.created_at as since
              from idempotency_keys k
             where k.created_at < ${before} and ${filter(sql`k.scope_id`)}
             order by k.created_at
             limit ${WAITING_MAX}) o`);
}

/** Tokens that expired before the instant, but the newest of each organization, which stays. */
export function expiredTokens(db: Queryable, before: Date): Promise<Waiting> {
  return db.one<Waiting>(sql`
    select count(*) as count, ${ageOf(before)}
      from (select t.expires_at as since
              from tokens t
             where t.expires_at < ${before} and exists (
               select 1
                 from tokens n
                where n.organization_id = t.organization_id and n.id > t.id)
             order by t.expires_at
             limit ${WAITING_MAX}) o`);
}

function ageOf(before: Date): Sql {
  return sql`coalesce(extract(epoch from ${before}::timestamptz - min(o.since)), 0)::float8
             as oldest_s`;
}

/** Changes of the analytics that are not part of the totals yet, and the last in their order. */
export type Unfolded = { readonly count: number; readonly last: DeltaKey | null };
export type DeltaKey = { readonly project_id: string; readonly id: string };

/**
 * They are folded in the order of their random ids: one that is the last of them stays for as long
 * as more come than are folded.
 */
export async function unfolded(
  db: Queryable,
  filter: ProjectFilter = ALL_PROJECTS,
): Promise<Unfolded> {
  // across projects: as many as are counted, and the end of the primary key.
  const [{ count }, last] = await Promise.all([
    db.one<{ count: number }>(sql`
      select count(*) as count
        from (select 1
                from analytics_deltas d
               where ${filter(sql`d.project_id`)}
               limit ${WAITING_MAX}) counted`),
    db.maybeOne<DeltaKey>(sql`
      select d.project_id, d.id
        from analytics_deltas d
       where ${filter(sql`d.project_id`)}
       order by d.project_id desc, d.id desc
       limit 1`),
  ]);
  return { count, last: last ?? null };
}

export async function isUnfolded(db: Queryable, { project_id, id }: DeltaKey): Promise<boolean> {
  const { found } = await db.one<{ found: boolean }>(sql`
    select exists (
      select 1
        from analytics_deltas
       where project_id = ${project_id} and id = ${id}) as found`);
  return found;
}
