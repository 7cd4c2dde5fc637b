// Merges properties into a subscription's own.

import { refuse } from "../../errors.ts";
import type { ProjectId } from "../../ids.ts";
import { canonicalJson } from "../../schema/canonical-json.ts";
import type { Tx } from "../../store/db/db.ts";
import * as formerProperties from "../../store/subscriptions/former-properties.ts";
import * as subscriptions from "../../store/subscriptions/subscriptions.ts";

const PROPERTIES_BYTES_MAX = 16 * 1024;

/**
 * Keeps the properties that were in force until now: quantities over time need them. The
 * subscription must be locked.
 */
export async function mergeProperties(
  tx: Tx,
  project: ProjectId,
  { id, properties: before }: Pick<subscriptions.SubscriptionRow, "id" | "properties">,
  change: Record<string, unknown>,
  now: Date,
): Promise<Record<string, unknown>> {
  const last = await formerProperties.lastChange(tx, project, id);
  const { properties } = await subscriptions.mergeProperties(tx, project, id, change, now);
  if (Buffer.byteLength(JSON.stringify(properties)) > PROPERTIES_BYTES_MAX) {
    throw refuse(
      "limit_exceeded",
      `properties may have at most ${PROPERTIES_BYTES_MAX} bytes of JSON.`,
    );
  }
  if (canonicalJson(properties) !== canonicalJson(before)) {
    const former = { subscription_id: id, until: behind(last, now), properties: before };
    await formerProperties.insert(tx, project, former);
  }
  return properties;
}

/**
 * `now` was read before the lock was waited for, perhaps on a machine whose clock is behind: it may
 * be earlier than the change before this one, which came first all the same.
 */
function behind(last: Date | null, now: Date): Date {
  return last !== null && last > now ? new Date(last.getTime() + 1) : now;
}
