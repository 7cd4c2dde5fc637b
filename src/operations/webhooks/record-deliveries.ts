// Writes the results of webhook attempts. A message whose last retry failed is logged as exhausted
// with them; what else follows, an endpoint that is gone, is for the caller to do apart.

import type { ProjectId } from "../../ids.ts";
import type { Tx } from "../../store/db/db.ts";
import * as attempts from "../../store/feeds/attempts.ts";
import { getSettingsById } from "../../store/tenants/tenants.ts";
import { type By, emit, type Fact } from "../emit.ts";
import { disableWebhook } from "./change.ts";

const GONE = 410;

/** Returns the endpoints whose receivers answered that they are gone. */
export async function recordDeliveries(
  tx: Tx,
  project: ProjectId,
  results: readonly attempts.AttemptResult[],
  by: By,
  real_now: Date,
): Promise<ReadonlySet<string>> {
  const keys = new Set((await attempts.record(tx, project, results)).map(keyOf));
  const failed = results.filter((result) => result.status === "failed" && keys.has(keyOf(result)));
  const exhausted = failed.filter(({ retry_ms }) => retry_ms === null).map(exhaustedFact);
  if (exhausted.length > 0) {
    await emit(tx, project, exhausted, by, await projectTime(tx, project, real_now));
  }
  const gone = failed.filter(({ http_status }) => http_status === GONE);
  return new Set(gone.map(({ endpoint_id }) => endpoint_id));
}

/** Disables the endpoint. The message that it answered with 410 waits until it is on again. */
export async function disableGone(
  tx: Tx,
  project: ProjectId,
  endpoint_id: string,
  by: By,
  real_now: Date,
): Promise<void> {
  const now = await projectTime(tx, project, real_now);
  const reason = "The receiver answered 410 Gone.";
  await disableWebhook(tx, project, endpoint_id, reason, by, now);
}

async function projectTime(tx: Tx, project: ProjectId, real_now: Date): Promise<Date> {
  const { frozen_at } = await getSettingsById(tx, project);
  return frozen_at ?? real_now;
}

function keyOf(result: { endpoint_id: string; message_id: string }): string {
  return `${result.endpoint_id} ${result.message_id}`;
}

function exhaustedFact(result: attempts.AttemptResult): Fact {
  const { endpoint_id, message_id, attempt, error, http_status } = result;
  return {
    type: "webhook.exhausted",
    resource_id: message_id,
    payload: { endpoint_id, attempts: attempt, error, http_status },
  };
}
