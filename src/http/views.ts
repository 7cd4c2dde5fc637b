// How records look from outside, where that differs from how they are kept; and what a call says of
// records: the id in its path, and who made it.

import type { Config } from "../config.ts";
import { shownStatus } from "../domain/lifecycle.ts";
import { shownEnd } from "../domain/periods.ts";
import { ATTEMPT_MAX_MS } from "../domain/webhooks.ts";
import { canonicalUuid } from "../ids.ts";
import type { By } from "../operations/emit.ts";
import type { Plan } from "../schema/plans.ts";
import type { Subscription } from "../schema/subscriptions.ts";
import type { WebhookDelivery, WebhookEndpoint } from "../schema/webhooks.ts";
import type { ChargeRow, PlanRow } from "../store/catalog/plans.ts";
import type { DeliveryRow } from "../store/feeds/attempts.ts";
import type { ShownJob } from "../store/feeds/jobs.ts";
import type { EndpointRow } from "../store/feeds/webhooks.ts";
import type { NamedSubscription } from "../store/subscriptions/subscriptions.ts";
import type { Actor } from "./request/auth.ts";

export function byCaller({ token_id, via }: Actor, { portal_auto_invalidate }: Config): By {
  const by = { actor_token_id: token_id, portal_auto_invalidate };
  return via === undefined ? by : { ...by, via };
}

/** A path segment as an id. The nil UUID is nobody's, so what is no UUID finds nothing. */
export function pathId(segment: string): string {
  return canonicalUuid(segment) ?? "00000000-0000-0000-0000-000000000000";
}

export function planView(plan: PlanRow, charges: readonly ChargeRow[]): Plan {
  return {
    ...plan,
    charges: charges.filter((charge) => charge.plan_id === plan.id),
  };
}

export function subscriptionView(row: NamedSubscription): Subscription {
  return {
    ...row,
    status: shownStatus(row),
    properties: JSON.stringify(row.properties),
    current_period_end: shownEnd(row.current_period_next),
    billing_error: row.set_aside_reason,
  };
}

export function endpointView(row: EndpointRow, jobs: readonly ShownJob[]): WebhookEndpoint {
  const own = jobs.filter(({ endpoint_id }) => endpoint_id === row.id);
  const shown = { secret: `whsec_…${row.secret_hint}`, enabled: row.enabled ? 1 : 0 };
  return { ...row, ...shown, jobs: own.map(({ endpoint_id: _, ...job }) => job) };
}

const REASONS: Readonly<Record<string, string>> = {
  timeout: `The receiver did not answer within ${ATTEMPT_MAX_MS / 1_000} seconds.`,
  dns: "The host name could not be resolved.",
  tls: "The TLS handshake failed: the certificate is invalid, expired or of another name.",
  connection: "The connection was refused or broke off.",
  blocked_address: "The address is not allowed for webhooks: private, local or reserved.",
  signing: "Nothing was sent: the endpoint's secret cannot be read with the SECRET_KEY in use.",
  http_410: "The receiver says it is gone for good; the endpoint was disabled.",
};

/** Why an attempt failed, in words. */
export function deliveryView(row: DeliveryRow): WebhookDelivery {
  const { error } = row;
  const reason =
    error && (REASONS[error] ?? `The receiver answered with status ${row.http_status}.`);
  return { ...row, reason, payload: JSON.parse(row.body) as Record<string, unknown> };
}
