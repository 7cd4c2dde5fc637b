// Webhook endpoints, and the messages and queue rows that are written with the facts they tell.

import { newId } from "../ids.ts";
import { DATABASE_NOW, type Queryable, type Tx } from "./db.ts";
import { json, type Sql, sql } from "./sql.ts";
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

/** Workers listen here; the payload is the project with new work. */
export const CHANNEL = "dues_webhooks";
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
       for update`);
}

/** One adder at a time, so that the limit holds. */
export async function lockCount(tx: Tx, project: ProjectId): Promise<number> {
  await tx.one(sql`select 1 from projects where id = ${project} for no key update`);
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

/** What waits for a disabled endpoint goes on waiting; enabled again, it is due at once. */
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
    update webhook_queue
       set due_at = case when ${change.enabled} then ${DATABASE_NOW} else 'infinity' end,
           claim = null
     where project_id = ${project} and endpoint_id = ${id}
       and (due_at = 'infinity') = ${change.enabled}`);
  return updated;
}

/** Its attempts stay on record; what still waits for it is dropped. */
export async function remove(tx: Tx, project: ProjectId, id: string, now: Date): Promise<void> {
  await tx.run(sql`
    update webhook_endpoints
       set enabled = false, deleted_at = ${now}, updated_at = ${now}
     where project_id = ${project} and id = ${id}`);
  await tx.run(sql`
    delete from webhook_queue
     where project_id = ${project} and endpoint_id = ${id}`);
}

/** Both secrets sign for a day, so that receivers can change over without missing one. */
export function rotate(
  tx: Tx,
  project: ProjectId,
  id: string,
  secret: { sealed: Buffer; hint: string },
  now: Date,
) {
  return tx.one<EndpointRow>(sql`
    update webhook_endpoints
       set previous_secret = secret, previous_secret_until = ${DATABASE_NOW} + ${ROTATION},
           secret = ${secret.sealed}, secret_hint = ${secret.hint}, updated_at = ${now}
     where project_id = ${project} and id = ${id}
    returning ${COLUMNS}`);
}

export type Message = {
  readonly event: string;
  readonly body: string;
  readonly endpoint_ids: readonly string[];
};

/** Messages and one queue row per endpoint, in the caller's transaction; workers hear at commit. */
export async function enqueue(
  tx: Tx,
  project: ProjectId,
  messages: readonly Message[],
  now: Date,
): Promise<void> {
  if (messages.length === 0) return;
  const rows = messages.map((message) => ({ id: newId(), ...message }));
  await tx.run(sql`
    with input as (
      select *
        from json_to_recordset(${json(rows)}::json)
             as m (id uuid, event text, body text, endpoint_ids uuid[])),
    message as (
      insert into webhook_messages (project_id, id, event, body, created_at)
      select ${project}, id, event, body, ${now}
        from input),
    queued as (
      insert into webhook_queue (project_id, endpoint_id, message_id, due_at)
      select ${project}, e.id, i.id, ${DATABASE_NOW}
        from input i
       cross join unnest(i.endpoint_ids) as e (id))
    select pg_notify(${CHANNEL}, ${project}::text)`);
}

/** Sends again what was sent before, under the same message id. False when it is unknown. */
export async function requeue(tx: Tx, project: ProjectId, attempt_id: string): Promise<boolean> {
  const queued = await tx.run(sql`
    with again as (
      select a.endpoint_id, a.message_id
        from webhook_attempts a
        join webhook_endpoints e
          on e.project_id = a.project_id and e.id = a.endpoint_id and e.deleted_at is null
       where a.project_id = ${project} and a.id = ${attempt_id}),
    ${intoQueue(project)}
    select pg_notify(${CHANNEL}, ${project}::text)
      from queued`);
  return queued > 0;
}

/** Every message since the instant that the endpoint is subscribed to. */
export async function replay(
  tx: Tx,
  project: ProjectId,
  endpoint: Pick<EndpointRow, "id" | "events">,
  since: Date,
): Promise<number> {
  return tx.run(sql`
    with again as (
      select ${endpoint.id}::uuid as endpoint_id, m.id as message_id
        from webhook_messages m
       where m.project_id = ${project} and m.created_at >= ${since}
         and m.event = any(${endpoint.events}::text[])),
    ${intoQueue(project)}
    select pg_notify(${CHANNEL}, ${project}::text)
      from queued`);
}

/** Attempts go on counting from the last one; the retries start anew. */
function intoQueue(project: ProjectId): Sql {
  return sql`
    queued as (
      insert into webhook_queue as q (project_id, endpoint_id, message_id, attempt, due_at)
      select ${project}, r.endpoint_id, r.message_id,
             coalesce((select max(a.attempt)
                         from webhook_attempts a
                        where a.project_id = ${project} and a.endpoint_id = r.endpoint_id
                          and a.message_id = r.message_id), 0),
             ${DATABASE_NOW}
        from again r
       order by r.message_id
      on conflict (project_id, endpoint_id, message_id) do update
         set due_at = least(q.due_at, excluded.due_at), tries = 0
      returning message_id)`;
}
