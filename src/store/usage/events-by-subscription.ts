// The events of all subscriptions, one subscription after the other: the list that exports read.

import type { ProjectId } from "../../ids.ts";
import type { UsageEvent } from "../../schema/events.ts";
import type { Queryable } from "../db/db.ts";
import { firstOf, type PageResult, type Position } from "../db/page.ts";
import { join, type Sql, sql } from "../db/sql.ts";
import { type EventFilter, eventColumns, filtered, joinNames, metricsOf } from "./events.ts";

type Row = UsageEvent & { readonly page_keys: string[] };

/** A short page looks at so many subscriptions, which may have no events that are wanted. */
const LOOKED_MIN = 16;
/** How many times more are asked at once than before. */
const GROWTH = 3;

/** Where a page ends that looked at all its subscriptions and has room left. */
type Place = { readonly subscription: string; readonly at?: string; readonly key?: string };

/**
 * By subscription id, those of each newest first. A page looks at no more subscriptions than it has
 * room for events, so it may be short, or empty, with more behind it.
 */
export async function listBySubscription(
  db: Queryable,
  project: ProjectId,
  filter: Omit<EventFilter, "subscription_id">,
  { limit, after }: { readonly limit: number; readonly after?: Position },
): Promise<PageResult<UsageEvent>> {
  const place = after && placeOf(after);
  const looked = Math.max(limit, LOOKED_MIN);
  const ahead = await subscriptionsFrom(db, project, place, looked + 1);
  const among = ahead.slice(0, looked);
  const rows: Row[] = [];
  // Most of these may have nothing, or the first more than a page: more are taken each time.
  for (let [from, count] = [0, 1]; from < among.length && rows.length <= limit; count *= GROWTH) {
    const ids = among.slice(from, from + count);
    const wanted = { ids, most: limit + 1 - rows.length, ...(place && { place }) };
    rows.push(...(await eventsOf(db, project, filter, wanted)));
    from += ids.length;
  }
  if (rows.length > limit) {
    const position = rows[limit - 1]?.page_keys;
    return { ...ended(rows.slice(0, limit)), has_more: true, position };
  }
  const last = among.at(-1);
  return ahead.length > looked && last !== undefined
    ? { ...ended(rows), has_more: true, position: [last] }
    : ended(rows);
}

function placeOf([subscription = "", at, key]: Position): Place {
  return { subscription, ...(at !== undefined && { at }), ...(key !== undefined && { key }) };
}

function ended(rows: UsageEvent[]): PageResult<UsageEvent> {
  return { rows, has_more: false, position: undefined, last: undefined };
}

/** The next ones, from the one whose events were cut off, or from behind one that was looked at. */
async function subscriptionsFrom(
  db: Queryable,
  project: ProjectId,
  place: Place | undefined,
  most: number,
): Promise<string[]> {
  const from =
    place?.at === undefined
      ? sql`s.id > ${place?.subscription ?? FIRST}`
      : sql`s.id >= ${place.subscription}`;
  const rows = await db.many<{ id: string }>(sql`
    select s.id
      from subscriptions s
     where s.project_id = ${project} and ${from}
     order by s.id
     limit ${most}`);
  return rows.map(({ id }) => id);
}

const FIRST = "00000000-0000-0000-0000-000000000000";

type Wanted = {
  readonly ids: readonly string[];
  readonly most: number;
  readonly place?: Place;
};

function eventsOf(
  db: Queryable,
  project: ProjectId,
  filter: EventFilter,
  { ids, most, place }: Wanted,
): Promise<Row[]> {
  const where = [...filtered(project, filter), sql`e.subscription_id = s.id`];
  if (place?.at !== undefined) where.push(...behind(place));
  const events = sql`
    select e.*
      from usage_events e
     where ${join(where, " and ")} and e.metric_id = v.metric_id
     order by e.at desc, e.key desc`;
  const found = sql`
    select e.*
      from project_anchors a, unnest(${ids}::uuid[]) as s (id)
     cross join lateral (${metricsOf(project, sql`s.id`)}) v
     cross join lateral (${firstOf(events, most)}) e
     where a.project_id = ${project}
     order by e.subscription_id, e.at desc, e.key desc`;
  return db.many<Row>(sql`
    select ${eventColumns(project)},
           array[e.subscription_id::text, e.at::text, e.key::text] as page_keys
      from (${firstOf(found, most)}) e ${joinNames(project)}
     order by e.subscription_id, e.at desc, e.key desc`);
}

/** The bound of the instant alone can be looked up in the index. */
function behind({ subscription, at, key }: Place): Sql[] {
  return [
    sql`e.at <= case when s.id = ${subscription} then ${at}::timestamptz else 'infinity' end`,
    sql`(s.id <> ${subscription} or (e.at, e.key) < (${at}::timestamptz, ${key}::uuid))`,
  ];
}
