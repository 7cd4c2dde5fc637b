// Subscriptions whose period cannot be closed are set aside with the reason, told once, and tried
// again after a minute; the others go on.

import type { Tx } from "../store/db.ts";
import * as openPeriods from "../store/open-periods.ts";
import * as subscriptions from "../store/subscriptions.ts";
import type { ProjectId } from "../store/tenants.ts";
import { emit, type Fact, SCHEDULER } from "./emit.ts";

export type SetAside = { readonly id: string; readonly reason: string };

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
export type Failed = SetAside & { readonly is_known: boolean; readonly error: unknown };

/** Collects what cannot be decided, so that the rest of the batch is. */
export class Attempts {
  readonly failed: Failed[] = [];

  /** Undefined when the decision failed. */
  decide<T>(
    subscription: Pick<subscriptions.SubscriptionRow, "id" | "set_aside_reason">,
    decision: () => T,
  ): T | undefined {
    try {
      return decision();
    } catch (error) {
      const reason = reasonOf(error);
      const { id, set_aside_reason } = subscription;
      this.failed.push({ id, reason, is_known: set_aside_reason === reason, error });
      return undefined;
    }
  }
}

/** Returns those that are to be told, and the facts that tell them. */
export async function recordFailed(tx: Tx, project: ProjectId, failed: readonly Failed[]) {
  for (const { id, reason } of failed) await openPeriods.setAside(tx, project, id, reason);
  const set_aside = failed.filter(({ is_known }) => !is_known);
  return { set_aside, facts: set_aside.map(wasSetAside) };
}

/**
 * For a reason that a close met while it wrote, after which nothing of it is left. Undefined when
 * the same reason was told before, or the subscription is gone.
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
  const found = { id, reason: reasonOf(error) };
  await openPeriods.setAside(tx, project, id, found.reason);
  if (subscription.set_aside_reason === found.reason) return undefined;
  await emit(tx, project, [wasSetAside(found)], SCHEDULER, now);
  return found;
}

function reasonOf(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return reason.slice(0, openPeriods.SET_ASIDE_REASON_MAX);
}

function wasSetAside({ id, reason }: SetAside): Fact {
  return { type: "subscription.set_aside", resource_id: id, payload: { reason } };
}
