// Webhook endpoints, and the messages and queue rows, which are written in the transaction of what
// they report.

import { newId } from "../ids.ts";
import { TEST_EVENT } from "../schema/webhooks.ts";
import { DATABASE_NOW, type Queryable, type Tx } from "./db.ts";
import { IS_FREE } from "./deliveries.ts";
import { addMessages, fromFormerCursor, type Message, notification } from "./feed.ts";
import { type PageRequest, page } from "./page.ts";
import { type Sql, sql } from "./sql.ts";
import type { ProjectId } from "./tenants.ts";

export type EndpointRow = {
  readonly id: string;
  readonly url: string;
  readonly events: string[];
  readonly secret_hint: string;
  readonly enabled: boolean;
  readonly disabled_reason: string | null;
  readonly created_at: Date;
};

const ROTATION: Sql = sql`interval '24 hours'`;

const COLUMNS: Sql = sql`id, url, events, secret_hint, enabled, disabled_reason, created_at`;

export function list(db: Queryable, project: ProjectId) {
  return db.many<EndpointRow>(sql`
    select ${COLUMNS}
      from webhook_endpoints
     where project_id = ${project} and deleted_at is null
     order by id desc`);
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

/** Which of these endpoints are disabled; locked, so that this holds until the transaction ends. */
export async function lockDisabled(
  tx: Tx,
  project: ProjectId,
  ids: readonly string[],
): Promise<Set<string>> {
  const rows = await tx.many<Pick<EndpointRow, "id" | "enabled">>(sql`
    select id, enabled
      from webhook_endpoints
     where project_id = ${project} and id = any(${ids}::uuid[])
     order by id
       for no key update`);
  return new Set(rows.filter(({ enabled }) => !enabled).map(({ id }) => id));
}

export type Listeners = {
  /** True for a sandbox, where every message is kept for `dues webhooks listen`. */
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

/**
 * The queue of a disabled endpoint is paused (due at infinity); enabled again, all of it is due at
 * once. Rows that are being sent at this moment are left alone: their sender looks at the endpoint
 * again when it records the result.
 */
export async function update(
  tx: Tx,
  project: ProjectId,
  id: string,
  change: EndpointChange,
  now: Date,
): Promise<EndpointRow> {
  const updated = await tx.one<EndpointRow>(sql`
    update webhook_endpoints
       set events = ${change.events}, enabled = ${change.enabled},
           disabled_reason = ${change.disabled_reason}, updated_at = ${now}
     where project_id = ${project} and id = ${id}
    returning ${COLUMNS}`);
  await tx.run(sql`
    with moved as (
      update webhook_queue
         set due_at = ${change.enabled ? DATABASE_NOW : sql`'infinity'`}
       where project_id = ${project} and endpoint_id = ${id} and claim is null
         and (due_at = 'infinity') = ${change.enabled}
      returning endpoint_id, message_id, attempt, due_at)
    ${rescheduleAttempts(project)}`);
  if (change.enabled) await tx.run(notification(project));
  return updated;
}

/** Its attempts stay on record; its queue is deleted. */
export async function remove(tx: Tx, project: ProjectId, id: string, now: Date): Promise<void> {
  await tx.run(sql`
    update webhook_endpoints
       set enabled = false, deleted_at = ${now}, updated_at = ${now}
     where project_id = ${project} and id = ${id}`);
  await tx.run(sql`
    with moved as (
      delete from webhook_queue
       where project_id = ${project} and endpoint_id = ${id}
      returning endpoint_id, message_id, attempt, 'infinity'::timestamptz as due_at)
    ${rescheduleAttempts(project)}`);
}

/**
 * Pauses queue rows of disabled endpoints that are due all the same: they were written while the
 * endpoint was being disabled. Otherwise every poll would find them and no claim would take them.
 * The endpoints are locked: one that is enabled meanwhile would not find the rows that it resumes.
 */
export async function pauseDisabled(db: Queryable, project: ProjectId): Promise<void> {
  await db.run(sql`
    with moved as (
      update webhook_queue q
         set due_at = 'infinity', claim = null, held_until = null
        from (select e.id
                from webhook_endpoints e
               where e.project_id = ${project} and not e.enabled
                 for share) e
       where q.project_id = ${project} and q.due_at <= ${DATABASE_NOW} and ${IS_FREE}
         and e.id = q.endpoint_id
      returning q.endpoint_id, q.message_id, q.attempt, q.due_at)
    ${rescheduleAttempts(project)}`);
}

/**
 * Sets next_retry_at of the last attempt of each moved row; null when there will be none. The
 * endpoint is compared by `is not distinct from`, which no index serves, so that rows are found by
 * their message: see migration 5.
 */
function rescheduleAttempts(project: ProjectId): Sql {
  return sql`
      update webhook_attempts a
         set next_retry_at = nullif(m.due_at, 'infinity')
        from moved m
       where a.project_id = ${project} and a.message_id = m.message_id
         and a.endpoint_id is not distinct from m.endpoint_id and a.attempt = m.attempt
         and a.status = 'failed'`;
}

/** Both secrets sign for a day, so that receivers can change over without missing a message. */
export function rotate(
  tx: Tx,
  project: ProjectId,
  id: string,
  secret: { encrypted: Buffer; hint: string },
  now: Date,
) {
  return tx.one<EndpointRow>(sql`
    update webhook_endpoints
       set previous_secret = secret, previous_secret_until = ${DATABASE_NOW} + ${ROTATION},
           secret = ${secret.encrypted}, secret_hint = ${secret.hint}, updated_at = ${now}
     where project_id = ${project} and id = ${id}
    returning ${COLUMNS}`);
}

/** Messages and one queue row per endpoint, written when the transaction commits. */
export function enqueue(tx: Tx, project: ProjectId, messages: readonly Message[], now: Date): void {
  if (messages.length === 0) return;
  const rows = messages.map((message) => ({ id: newId(), ...message, created_at: now }));
  addMessages(tx, project, rows);
}

/** The endpoint that an attempt was made for, unless it has been removed. */
export function lockOfAttempt(tx: Tx, project: ProjectId, attempt_id: string) {
  return tx.maybeOne<EndpointRow & { message_id: string }>(sql`
    select e.id, e.url, e.events, e.secret_hint, e.enabled, e.disabled_reason, e.created_at,
           a.message_id
      from webhook_attempts a
      join webhook_endpoints e
        on e.project_id = ${project} and e.id = a.endpoint_id and e.deleted_at is null
     where a.project_id = ${project} and a.id = ${attempt_id}
       for no key update of e`);
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

/** Every message since the instant that the endpoint is subscribed to. */
export async function replay(
  tx: Tx,
  project: ProjectId,
  endpoint: Pick<EndpointRow, "id" | "events">,
  since: Date,
): Promise<number> {
  const messages = await tx.many<{ id: string }>(sql`
    select m.id
      from webhook_messages m
     where m.project_id = ${project} and m.created_at >= ${since}
       and m.event = any(${endpoint.events}::text[])
     order by m.id
       for key share`);
  const ids = messages.map(({ id }) => id);
  if (ids.length > 0) await intoQueue(tx, project, endpoint.id, ids);
  return ids.length;
}

/**
 * Attempts are numbered on from the last one; retries start over. A message that is being sent at
 * this moment stays as it is, so that it is not sent twice at once.
 */
async function intoQueue(
  tx: Tx,
  project: ProjectId,
  endpoint_id: string,
  message_ids: readonly string[],
): Promise<void> {
  await tx.run(sql`
    insert into webhook_queue as q (project_id, endpoint_id, message_id, attempt, due_at)
    select m.project_id, ${endpoint_id}::uuid, m.id, coalesce(max(a.attempt), 0), ${DATABASE_NOW}
      from webhook_messages m
      left join webhook_attempts a
        on a.project_id = ${project} and a.message_id = m.id
       and a.endpoint_id is not distinct from ${endpoint_id}::uuid
     where m.project_id = ${project} and m.id = any(${message_ids}::uuid[])
     group by m.project_id, m.id
     order by m.id
    on conflict (project_id, message_id, endpoint_id) do update
       set due_at = excluded.due_at, tries = 0
     where q.claim is null`);
  await tx.run(sql`
    with moved as (
      select q.endpoint_id, q.message_id, q.attempt, q.due_at
        from webhook_queue q
       where q.project_id = ${project} and q.endpoint_id = ${endpoint_id}
         and q.message_id = any(${message_ids}::uuid[]) and q.claim is null)
    ${rescheduleAttempts(project)}`);
  await tx.run(notification(project));
}

export type FeedRow = {
  readonly id: string;
  readonly event: string;
  readonly body: string;
  readonly created_at: Date;
};

/** The messages in the order in which they were committed: see the feed. */
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
    await fromFormerCursor(db, project, "webhook_messages", request),
  );
}
