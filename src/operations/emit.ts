// Publishes what happened, in the transaction in which it happened: writes the log, queues
// webhooks, and drops cached portal views that it makes untrue.

import { envelope } from "../domain/webhooks.ts";
import type { EventType } from "../schema/billing-events.ts";
import type { Webhook } from "../schema/webhook-payloads.ts";
import * as billingEvents from "../store/billing-events.ts";
import type { Tx } from "../store/db.ts";
import type { LogEntry } from "../store/feed.ts";
import * as portal from "../store/portal.ts";
import type { ProjectId } from "../store/tenants.ts";
import * as webhooks from "../store/webhooks.ts";

export type Fact = {
  /** Null: told by webhook, and not in the log. */
  readonly type: EventType | null;
  readonly resource_id: string;
  readonly payload: Readonly<Record<string, unknown>>;
  /** The webhook that subscribed endpoints get for it, if there is one. */
  readonly webhook?: Webhook;
};

/** Who acted: a token, or null for the scheduler; `via` is set for calls not made by plain HTTP. */
export type By = { readonly actor_token_id: string | null; readonly via?: string };

export const SCHEDULER: By = { actor_token_id: null };

export async function emit(
  tx: Tx,
  project: ProjectId,
  facts: readonly Fact[],
  by: By,
  now: Date,
): Promise<void> {
  if (facts.length === 0) return;
  const logged = facts.filter(isLogged);
  const entries = logged.map((fact) => logEntryOf(fact, by));
  billingEvents.insert(tx, project, entries, now);
  await queueWebhooks(tx, project, facts, now);
  await portal.dropChanged(tx, project, logged);
}

export type LoggedFact = Fact & { readonly type: EventType };

export function isLogged(fact: Fact): fact is LoggedFact {
  return fact.type !== null;
}

export function logEntryOf(fact: LoggedFact, by: By): LogEntry {
  return {
    resource_type: fact.type.slice(0, fact.type.indexOf(".")),
    resource_id: fact.resource_id,
    event_type: fact.type,
    actor_token_id: by.actor_token_id,
    payload: by.via === undefined ? fact.payload : { ...fact.payload, via: by.via },
  };
}

/** For the endpoints that are enabled and subscribed at this moment. */
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
