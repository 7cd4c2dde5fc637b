// Publishes what happened, in the transaction in which it happened: writes the log, queues
// webhooks, and drops cached portal views that it makes untrue.

import { envelope } from "../domain/webhooks.ts";
import type { ProjectId } from "../ids.ts";
import type { EventType } from "../schema/billing-events.ts";
import type { Webhook } from "../schema/webhook-payloads.ts";
import type { Tx } from "../store/db/db.ts";
import * as billingEvents from "../store/feeds/billing-events.ts";
import type { LogEntry } from "../store/feeds/feed.ts";
import * as webhooks from "../store/feeds/webhooks.ts";
import * as portalViews from "../store/portal/views.ts";

export type Fact = {
  /** Null: told by webhook, and not in the log. */
  readonly type: EventType | null;
  readonly resource_id: string;
  readonly payload: Readonly<Record<string, unknown>>;
  /** The webhook that subscribed endpoints get for it, if there is one. */
  readonly webhook?: Webhook;
};

/** The actor, and how the process is set in which it acts. */
export type By = portalViews.ViewRule & {
  /** The token of a call. Null: the scheduler. */
  readonly actor_token_id: string | null;
  /** The way in of a call that was not made by plain HTTP. */
  readonly via?: string;
};

/** The scheduler, in a process that is set so: the workers', or one that acts for a caller. */
export function scheduler({ portal_auto_invalidate }: portalViews.ViewRule): By {
  return { actor_token_id: null, portal_auto_invalidate };
}

export async function emit(
  tx: Tx,
  project: ProjectId,
  facts: readonly Fact[],
  by: By,
  now: Date,
): Promise<void> {
  if (facts.length === 0) return;
  const logged = facts.filter(isLogged);
  // Views are dropped before the log is written, because its head is locked last of all.
  await portalViews.dropChanged(tx, project, logged, by);
  const entries = logged.map((fact) => logEntryOf(fact, by));
  billingEvents.insert(tx, project, entries, now);
  await queueWebhooks(tx, project, facts, now);
}

/**
 * The entry of an update: what it has changed, beside the names that a reader knows the record by.
 * None where all is as it was.
 */
export function updated(
  type: EventType,
  resource_id: string,
  changed: Readonly<Record<string, unknown>>,
  names: Readonly<Record<string, unknown>> = {},
): Fact[] {
  if (Object.keys(changed).length === 0) return [];
  return [{ type, resource_id, payload: { ...names, ...changed } }];
}

export type LoggedFact = Fact & { readonly type: EventType };

export function isLogged(fact: Fact): fact is LoggedFact {
  return fact.type !== null;
}

export function logEntryOf(fact: LoggedFact, by: Omit<By, keyof portalViews.ViewRule>): LogEntry {
  return {
    resource_type: fact.type.slice(0, fact.type.indexOf(".")),
    resource_id: fact.resource_id,
    event_type: fact.type,
    actor_token_id: by.actor_token_id,
    payload: by.via === undefined ? fact.payload : { ...fact.payload, via: by.via },
  };
}

/** Queues each webhook for the endpoints that are enabled and subscribed to it at this moment. */
async function queueWebhooks(
  tx: Tx,
  project: ProjectId,
  facts: readonly Fact[],
  now: Date,
): Promise<void> {
  if (!facts.some((fact) => fact.webhook !== undefined)) return;
  const { keeps_all, endpoints } = await webhooks.getListeners(tx, project);
  const messages = facts.flatMap(({ webhook }) => {
    if (webhook === undefined) return [];
    const { event, data } = webhook;
    const subscribed = endpoints.filter(({ events }) => events.includes(event));
    if (subscribed.length === 0 && !keeps_all) return [];
    const endpoint_ids = subscribed.map(({ id }) => id);
    return [{ event, body: envelope(event, now, data), endpoint_ids }];
  });
  webhooks.enqueue(tx, project, messages, now);
}
