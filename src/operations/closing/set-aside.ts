// Subscriptions whose period cannot be closed are set aside with the reason, told, and tried again
// after a minute; after a quarter of an hour where it takes too long; once a caller allows it where
// it is too far behind. The others go on.

import { TooFarBehind } from "../../domain/far-behind.ts";
import type { ProjectId } from "../../ids.ts";
import type { Tx } from "../../store/db/db.ts";
import { isCutOff } from "../../store/db/failures.ts";
import * as openPeriods from "../../store/subscriptions/open-periods.ts";
import type * as subscriptions from "../../store/subscriptions/subscriptions.ts";
import type { SetAside } from "../batch-report.ts";
import { type By, emit, type Fact } from "../emit.ts";
import { billingFailed } from "./facts.ts";

/**
 * Until a close that was cut off is tried again: it takes as long as a statement may, and its
 * batch.
 */
const CUT_OFF_PAUSE_MIN = 15;

/** What of a log is used here. */
type Log = Record<"warn" | "error", (about: object, text: string) => void>;

/**
 * Tells the operator, once the transaction is committed, and once per reason, because it is tried
 * again every minute. A warning when the reason is in the data, which the tenant can mend; an error
 * when a write failed, which is ours to look at.
 */
export function noteSetAside(log: Log, project: ProjectId, found: SetAside, err?: unknown): void {
  const about = { err, project_id: project, subscription_id: found.id, reason: found.reason };
  log[err === undefined ? "warn" : "error"](about, "a subscription was set aside");
}

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

/** The decision. Where none can be made and the caller `drops` that: what is left, and why. */
export function orDropped<T>(drops: boolean | undefined, decide: () => T, without: () => T) {
  try {
    return { value: decide(), reason: undefined };
  } catch (error) {
    if (drops !== true) throw error;
    return { value: without(), reason: reasonOf(error) };
  }
}

/** Returns the subscriptions whose reason is new, and the facts to emit for them. */
export async function recordFailed(tx: Tx, project: ProjectId, failed: readonly Failed[]) {
  for (const { id, reason, error } of failed) {
    const pause_min = error instanceof TooFarBehind ? null : undefined;
    await openPeriods.setAside(tx, project, id, reason, pause_min);
  }
  const set_aside = failed.filter(
    ({ subscription, reason }) => subscription.set_aside_reason !== reason,
  );
  return { set_aside, facts: set_aside.flatMap(factsOf) };
}

/**
 * Sets aside a locked subscription for an error in the writes of its close, which were rolled back.
 * Undefined when the reason is the same as before.
 */
export async function setAside(
  tx: Tx,
  project: ProjectId,
  subscription: subscriptions.BilledSubscription,
  error: unknown,
  by: By,
  now: Date,
): Promise<SetAside | undefined> {
  const { id } = subscription;
  const found = { id, reason: reasonOf(error), subscription };
  const pause_min = isCutOff(error) ? CUT_OFF_PAUSE_MIN : undefined;
  await openPeriods.setAside(tx, project, id, found.reason, pause_min);
  if (subscription.set_aside_reason === found.reason) return undefined;
  await emit(tx, project, factsOf(found), by, now);
  return found;
}

function reasonOf(error: unknown): string {
  if (isCutOff(error)) return "The close took longer than a statement of the database may.";
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
