// Writes the results of webhook attempts and acts on them: an endpoint that answered 410 is
// disabled, a message whose last retry failed is logged as exhausted.

import type { Tx } from "../store/db.ts";
import * as deliveries from "../store/deliveries.ts";
import type { ProjectId } from "../store/tenants.ts";
import { getSettingsById } from "../store/tenants.ts";
import { lockDisabled } from "../store/webhooks.ts";
import { disableWebhook } from "./change-webhook.ts";
import { emit, type Fact, SCHEDULER } from "./emit.ts";

const GONE = 410;

export async function recordDeliveries(
  tx: Tx,
  project: ProjectId,
  results: readonly deliveries.AttemptResult[],
  real_now: Date,
): Promise<void> {
  const off = await lockFailing(tx, project, results);
  const recorded = await deliveries.record(
    tx,
    project,
    results.map((result) => ({ ...result, paused: off.has(result.endpoint_id) })),
  );
  const keys = new Set(recorded.map(keyOf));
  const failed = results.filter(
    (result) => result.status === "failed" && result.retry_ms === null && keys.has(keyOf(result)),
  );
  if (failed.length === 0) return;
  const { frozen_at } = await getSettingsById(tx, project);
  const now = frozen_at ?? real_now;
  const gone = new Set(
    failed.filter(({ http_status }) => http_status === GONE).map((r) => r.endpoint_id),
  );
  for (const id of gone) {
    await disableWebhook(tx, project, id, "The receiver answered 410 Gone.", SCHEDULER, now);
  }
  const exhausted = failed.filter(({ http_status }) => http_status !== GONE).map(exhaustedFact);
  await emit(tx, project, exhausted, SCHEDULER, now);
}

/** Locks endpoints before queue rows, in the order in which disabling one does. */
async function lockFailing(
  tx: Tx,
  project: ProjectId,
  results: readonly deliveries.AttemptResult[],
): Promise<ReadonlySet<string>> {
  const failed = results.filter(({ status }) => status === "failed");
  const ids = [...new Set(failed.map(({ endpoint_id }) => endpoint_id))];
  return ids.length === 0 ? new Set() : lockDisabled(tx, project, ids);
}

function keyOf(result: { endpoint_id: string; message_id: string }): string {
  return `${result.endpoint_id} ${result.message_id}`;
}

function exhaustedFact(result: deliveries.AttemptResult): Fact {
  const { endpoint_id, message_id, attempt, error, http_status } = result;
  return {
    type: "webhook.exhausted",
    resource_id: message_id,
    payload: { endpoint_id, attempts: attempt, error, http_status },
  };
}
