// Subscriptions whose period cannot be closed are set aside with the reason, told, and tried again
// after a minute; the others go on.

import type { Tx } from "../store/db.ts";
import * as openPeriods from "../store/open-periods.ts";
import * as subscriptions from "../store/subscriptions.ts";
import type { ProjectId } from "../store/tenants.ts";
import { emit, type Fact, SCHEDULER } from "./emit.ts";
import { billingFailed } from "./subscription-facts.ts";

export type SetAside = { readonly id: string; readonly reason: string };

/** What of a log is used here. */
type Log = Record<"warn" | "error", (about: object, text: string) => void>;

/**
 * For the operator, once the transaction is committed. Once per reason: it is tried again every
 * minute. A warning when the reason is in the data, which the tenant can mend; an error when a
 * write failed, which is ours to look at.
 */
export function noteSetAside(log: Log, project: ProjectId, found: SetAside, err?: unknown): void {
  const about = { err, project_id: project, subscription_id: found.id, reason: found.reason };
  log[err === undefined ? "warn" : "error"](about, "a subscription was set aside");
}

/** What a run did: for the report of an advanced clock, and for the workers. */
export type CloseReport = {
  /** Periods. */
  readonly closed: number;
  /** Subscriptions that were started. */
  readonly started?: number;
  readonly facts: readonly Fact[];
  /** Subscriptions whose period could not be closed, for a reason that was not known before. */
  readonly set_aside?: readonly SetAside[];
};

/** A decision that could not be made, while others of its batch could. */
export type Failed = SetAside & {
  readonly subscription: subscriptions.BilledSubscription;
  readonly error: unknown;
};

/** Collects what cannot be decided, so that the rest of the batch is. */
export class Decisions {
  readonly failed: Failed[] = [];

  /** Undefined when the decision failed. */
  decide<T>(subscription: subscriptions.BilledSubscription, decision: () => T): T | undefined {
    try {
      return decision();
    } catch (error) {
      this.failed.push({ id: subscription.id, reason: reasonOf(error), subscription, error });
      return undefined;
    }
  }
}

/** Returns the subscriptions whose reason is new, and the facts to emit for them. */
export async function recordFailed(tx: Tx, project: ProjectId, failed: readonly Failed[]) {
  for (const { id, reason } of failed) await openPeriods.setAside(tx, project, id, reason);
  const set_aside = failed.filter(
    ({ subscription, reason }) => subscription.set_aside_reason !== reason,
  );
  return { set_aside, facts: set_aside.flatMap(factsOf) };
}

/**
 * For an error in the writes of a close, whose transaction was rolled back. Undefined when the
 * reason is the same as before, or the subscription is gone.
 */
export async function setAside(
  tx: Tx,
  project: ProjectId,
  id: string,
  error: unknown,
  now: Date,
): Promise<SetAside | undefined> {
  const subscription = await subscriptions.lock(tx, project, id);
  if (subscription === undefined) return undefined;
  const found = { id, reason: reasonOf(error), subscription };
  await openPeriods.setAside(tx, project, id, found.reason);
  if (subscription.set_aside_reason === found.reason) return undefined;
  await emit(tx, project, factsOf(found), SCHEDULER, now);
  return found;
}

function reasonOf(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return reason.slice(0, openPeriods.SET_ASIDE_REASON_MAX);
}

/** Each new reason is logged; billing_failed is emitted only on the first failure in a row. */
function factsOf({ id, reason, subscription }: Omit<Failed, "error">): Fact[] {
  const fact: Fact = { type: "subscription.set_aside", resource_id: id, payload: { reason } };
  return subscription.set_aside_reason === null
    ? [fact, billingFailed(subscription, reason)]
    : [fact];
}
