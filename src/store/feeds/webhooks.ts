// Webhook endpoints, and the messages and queue rows, which are written in the transaction of what
// they report.

import { newId, type ProjectId } from "../../ids.ts";
import { TEST_EVENT } from "../../schema/webhooks.ts";
import { DATABASE_NOW, type Queryable, type Tx } from "../db/db.ts";
import { type PageRequest, page } from "../db/page.ts";
import { type Sql, sql } from "../db/sql.ts";
import { addMessages, type Message } from "./feed.ts";
import { intoQueue } from "./queue.ts";

export type EndpointRow = {
  readonly id: string;
  readonly url: string;
  readonly events: string[];
  readonly secret_hint: string;
  readonly enabled: boolean;
  readonly disabled_reason: string | null;
  readonly created_at: Date;
};

/** How many former secrets sign at once: each makes the header of signatures longer. */
export const FORMER_SECRETS_MAX = 10;

const COLUMNS: Sql = sql`id, url, events, secret_hint, enabled, disabled_reason, created_at`;

export function list(db: Queryable, project: ProjectId, request: PageRequest) {
  return page<EndpointRow>(
    db,
    {
      columns: COLUMNS,
      from: sql`webhook_endpoints`,
      where: [sql`project_id = ${project}`, sql`deleted_at is null`],
      project: sql`project_id`,
      order: [{ column: sql`id`, type: sql`uuid` }],
    },
    request,
  );
}

export function get(db: Queryable, project: ProjectId, id: string) {
  return db.maybeOne<EndpointRow>(sql`
    select ${COLUMNS}
      from webhook_endpoints
     where project_id = ${project} and id = ${id} and deleted_at is null`);
}

export function lock(tx: Tx, project: ProjectId, id: string) {
  return tx.maybeOne<EndpointRow>(sql`
    select ${COLUMNS}
      from webhook_endpoints
     where project_id = ${project} and id = ${id} and deleted_at is null
       for no key update`);
}

export type Listeners = {
  /** Whether every message is kept, as in a sandbox, for `dues webhooks listen`. */
  readonly keeps_all: boolean;
  readonly endpoints: readonly Pick<EndpointRow, "id" | "events">[];
};

/** The endpoints that get messages now. */
export async function getListeners(tx: Tx, project: ProjectId): Promise<Listeners> {
  const rows = await tx.many<{ keeps_all: boolean; id: string | null; events: string[] }>(sql`
    select p.mode = 'sandbox' as keeps_all, e.id, e.events
      from project_anchors a
      join projects p on p.id = ${project}
      left join webhook_endpoints e
        on e.project_id = ${project} and e.enabled and e.deleted_at is null
     where a.project_id = ${project}
     order by e.id`);
  const endpoints = rows.flatMap(({ id, events }) => (id === null ? [] : [{ id, events }]));
  return { keeps_all: rows[0]?.keeps_all ?? false, endpoints };
}

/** Locks the project's anchor, so that two who add an endpoint at once cannot exceed the limit. */
export async function lockCount(tx: Tx, project: ProjectId): Promise<number> {
  await tx.one(sql`
    select 1
      from project_anchors
     where project_id = ${project}
       for no key update`);
  const { count } = await tx.one<{ count: number }>(sql`
    select count(*)
      from webhook_endpoints
     where project_id = ${project} and deleted_at is null`);
  return count;
}

export type NewEndpoint = Pick<EndpointRow, "id" | "url" | "events" | "secret_hint"> & {
  readonly secret: Buffer;
};

export function insert(tx: Tx, project: ProjectId, endpoint: NewEndpoint, now: Date) {
  const e = endpoint;
  return tx.one<EndpointRow>(sql`
    insert into webhook_endpoints (project_id, id, url, events, secret, secret_hint, created_at,
                                   updated_at)
    values (${project}, ${e.id}, ${e.url}, ${e.events}, ${e.secret}, ${e.secret_hint}, ${now},
            ${now})
    returning ${COLUMNS}`);
}

export type EndpointChange = Pick<EndpointRow, "events" | "enabled" | "disabled_reason">;

/** Changes an endpoint. What waits for a disabled one stays as it is: claims leave it out. */
export function update(
  tx: Tx,
  project: ProjectId,
  id: string,
  change: EndpointChange,
  now: Date,
): Promise<EndpointRow> {
  return tx.one<EndpointRow>(sql`
    update webhook_endpoints
       set events = ${change.events}, enabled = ${change.enabled},
           disabled_reason = ${change.disabled_reason}, updated_at = ${now}
     where project_id = ${project} and id = ${id}
    returning ${COLUMNS}`);
}

/** Removes an endpoint. Its attempts stay on record; its queue is deleted piece by piece. */
export async function remove(tx: Tx, project: ProjectId, id: string, now: Date): Promise<void> {
  await tx.run(sql`
    update webhook_endpoints
       set enabled = false, deleted_at = ${now}, updated_at = ${now}
     where project_id = ${project} and id = ${id}`);
}

/** How many secrets sign besides the present one. */
export async function countFormerSecrets(tx: Tx, project: ProjectId, id: string): Promise<number> {
  const { count } = await tx.one<{ count: number }>(sql`
    select (select count(*) from unnest(e.former_until) as f (until)
             where f.until > ${DATABASE_NOW}) as count
      from webhook_endpoints e
     where e.project_id = ${project} and e.id = ${id}`);
  return count;
}

/**
 * Gives an endpoint a new secret. The one before signs for so many hours more, so that receivers
 * can change over without missing a message, and older ones until their own time is over. With 0
 * the new one signs alone from now on.
 */
export function rotate(
  tx: Tx,
  project: ProjectId,
  id: string,
  secret: { encrypted: Buffer; hint: string; grace_hours: number },
  now: Date,
) {
  const hours = secret.grace_hours;
  return tx.one<EndpointRow>(sql`
    update webhook_endpoints e
       set former_secrets = ${signing(sql`f.secret`, sql`bytea`, hours)},
           former_until = ${signing(sql`f.until`, sql`timestamptz`, hours)},
           secret = ${secret.encrypted}, secret_hint = ${secret.hint}, updated_at = ${now}
     where e.project_id = ${project} and e.id = ${id}
    returning ${COLUMNS}`);
}

/**
 * A column of the secrets of the endpoint `e` that sign beside a new one, the oldest first: those
 * that did, and the one until now. Without hours of grace none does.
 */
function signing(column: Sql, type: Sql, hours: number): Sql {
  const until = sql`${DATABASE_NOW} + ${hours}::integer * interval '1 hour'`;
  return sql`array(
    select ${column}
      from unnest(e.former_secrets || e.secret, e.former_until || (${until}))
           with ordinality as f (secret, until, place)
     where f.until > ${DATABASE_NOW} and ${hours}::integer > 0
     order by f.place)::${type}[]`;
}

/** Messages and one queue row per endpoint, written when the transaction commits. */
export function enqueue(tx: Tx, project: ProjectId, messages: readonly Message[], now: Date): void {
  if (messages.length === 0) return;
  const rows = messages.map((message) => ({ id: newId(), ...message, created_at: now }));
  addMessages(tx, project, rows);
}

/** The endpoint and the message of an attempt. */
export function findAttempt(db: Queryable, project: ProjectId, attempt_id: string) {
  return db.maybeOne<{ endpoint_id: string; message_id: string }>(sql`
    select endpoint_id, message_id
      from webhook_attempts
     where project_id = ${project} and id = ${attempt_id}`);
}

/** Sends a message again, under its id. False when it has been removed for its age. */
export async function requeue(
  tx: Tx,
  project: ProjectId,
  endpoint_id: string,
  message_id: string,
): Promise<boolean> {
  const found = await tx.maybeOne<{ id: string }>(sql`
    select m.id
      from webhook_messages m
     where m.project_id = ${project} and m.id = ${message_id}
       for key share`);
  if (found === undefined) return false;
  await intoQueue(tx, project, endpoint_id, [message_id]);
  return true;
}

export type FeedRow = {
  readonly id: string;
  readonly event: string;
  readonly body: string;
  readonly created_at: Date;
};

/** The messages in the order in which they were committed: see feed.ts. */
export async function listMessages(db: Queryable, project: ProjectId, request: PageRequest) {
  return page<FeedRow>(
    db,
    {
      columns: sql`id, event, body, created_at`,
      from: sql`webhook_messages`,
      where: [sql`project_id = ${project}`, sql`event <> ${TEST_EVENT}`],
      project: sql`project_id`,
      order: [{ column: sql`position`, type: sql`bigint` }],
      ascending: true,
    },
    request,
  );
}
