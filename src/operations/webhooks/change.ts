// Registers and changes webhook endpoints. Their secrets are encrypted before they are stored.

import { type AddressPolicy, checkWebhookUrl } from "../../domain/addresses.ts";
import { changedFields } from "../../domain/changed-fields.ts";
import { envelope } from "../../domain/webhooks.ts";
import { notFound, refuse, refuseField } from "../../errors.ts";
import { newId, newWebhookSecret, type ProjectId } from "../../ids.ts";
import { parsedUrl } from "../../schema/urls.ts";
import {
  ENDPOINTS_MAX,
  TEST_EVENT,
  type WebhookCreate,
  type WebhookPatch,
} from "../../schema/webhooks.ts";
import type { Tx } from "../../store/db/db.ts";
import { notification } from "../../store/feeds/feed.ts";
import * as jobPieces from "../../store/feeds/job-pieces.ts";
import * as webhookJobs from "../../store/feeds/jobs.ts";
import * as webhooks from "../../store/feeds/webhooks.ts";
import { encrypt, secretBinding } from "../../store/tenants/encryption.ts";
import { type By, emit, updated } from "../emit.ts";

export type Registered = { readonly endpoint: webhooks.EndpointRow; readonly secret: string };

/** An endpoint that was there already: its secret is not shown again. */
export type Found = { readonly endpoint: webhooks.EndpointRow; readonly secret: undefined };

/** With `if_absent` a URL is registered once, also when several ask for that at one time. */
export async function registerWebhook(
  tx: Tx,
  project: ProjectId,
  input: WebhookCreate,
  terms: { readonly policy: AddressPolicy; readonly secret_key: Buffer },
  by: By,
  now: Date,
): Promise<Registered | Found> {
  const checked = checkWebhookUrl(input.url, terms.policy);
  if (!checked.ok) throw refuseField("url", "not_allowed", `url ${checked.reason}.`);
  const count = await webhooks.lockCount(tx, project);
  const found = input.if_absent ? await endpointAt(tx, project, checked.url.href) : undefined;
  if (found !== undefined) return { endpoint: found, secret: undefined };
  if (count >= ENDPOINTS_MAX) {
    throw refuse("limit_exceeded", `A project has at most ${ENDPOINTS_MAX} webhook endpoints.`);
  }
  const id = newId();
  const { secret, encrypted, hint } = newSecret(terms.secret_key, project, id);
  const endpoint = await webhooks.insert(
    tx,
    project,
    { id, url: input.url, events: input.events, secret: encrypted, secret_hint: hint },
    now,
  );
  const payload = { url: input.url, events: input.events };
  const fact = { type: "webhook_endpoint.created" as const, resource_id: id, payload };
  await emit(tx, project, [fact], by, now);
  return { endpoint, secret };
}

/** The endpoint with this URL; the oldest, where several have it. */
async function endpointAt(tx: Tx, project: ProjectId, href: string) {
  const { rows } = await webhooks.list(tx, project, {
    limit: ENDPOINTS_MAX,
    offset: 0,
    count: false,
  });
  return rows.findLast(({ url }) => parsedUrl(url)?.href === href);
}

export async function patchWebhook(
  tx: Tx,
  project: ProjectId,
  id: string,
  change: WebhookPatch,
  by: By,
  now: Date,
): Promise<webhooks.EndpointRow> {
  const before = await lockKnown(tx, project, id);
  const enabled = change.enabled === undefined ? before.enabled : Boolean(change.enabled);
  const events = change.events ?? before.events;
  const disabled_reason = enabled ? null : (before.disabled_reason ?? "Disabled by a request.");
  const endpoint = await webhooks.update(
    tx,
    project,
    id,
    { events, enabled, disabled_reason },
    now,
  );
  if (enabled !== before.enabled) await switchQueue(tx, project, id, enabled, now);
  // A replay may have passed messages of an event that the endpoint is subscribed to only now.
  const isMore = events.some((event) => !before.events.includes(event));
  if (isMore) await webhookJobs.replayFromStart(tx, project, id);
  const type =
    before.enabled && !enabled ? "webhook_endpoint.disabled" : "webhook_endpoint.updated";
  const changed = changedFields(before, endpoint, ["events", "enabled"]);
  await emit(tx, project, updated(type, id, changed), by, now);
  return endpoint;
}

/** Messages that wait for a retry are due at once when the endpoint is on again: many by a job. */
async function switchQueue(
  tx: Tx,
  project: ProjectId,
  id: string,
  enabled: boolean,
  now: Date,
): Promise<void> {
  if (!enabled) return webhookJobs.end(tx, project, id, ["resume"]);
  await tx.run(notification(project));
  if ((await jobPieces.resumeFew(tx, project, id)) === "done") return;
  const waiting = await webhookJobs.resumeUntilNow(tx, project);
  await webhookJobs.start(tx, project, { endpoint_id: id, kind: "resume", ...waiting }, now);
}

/** Disables the endpoint of a receiver that is gone for good. */
export async function disableWebhook(
  tx: Tx,
  project: ProjectId,
  id: string,
  disabled_reason: string,
  by: By,
  now: Date,
): Promise<void> {
  const before = await webhooks.lock(tx, project, id);
  if (before === undefined || !before.enabled) return;
  const { events } = before;
  await webhooks.update(tx, project, id, { events, enabled: false, disabled_reason }, now);
  await switchQueue(tx, project, id, false, now);
  const payload = { reason: disabled_reason };
  const fact = { type: "webhook_endpoint.disabled" as const, resource_id: id, payload };
  await emit(tx, project, [fact], by, now);
}

export async function removeWebhook(
  tx: Tx,
  project: ProjectId,
  id: string,
  by: By,
  now: Date,
): Promise<void> {
  const { url } = await lockKnown(tx, project, id);
  await webhooks.remove(tx, project, id, now);
  await webhookJobs.end(tx, project, id, ["resume", "replay"]);
  await webhookJobs.start(tx, project, { endpoint_id: id, kind: "drop", done: 0 }, now);
  const fact = { type: "webhook_endpoint.deleted" as const, resource_id: id, payload: { url } };
  await emit(tx, project, [fact], by, now);
}

export async function rotateWebhookSecret(
  tx: Tx,
  project: ProjectId,
  id: string,
  { secret_key, grace_hours }: { readonly secret_key: Buffer; readonly grace_hours: number },
  by: By,
  now: Date,
): Promise<Registered> {
  await lockKnown(tx, project, id);
  const former = await webhooks.countFormerSecrets(tx, project, id);
  if (grace_hours > 0 && former >= webhooks.FORMER_SECRETS_MAX) {
    throw refuse(
      "limit_exceeded",
      `${former} former secrets still sign. Wait until one has ended, or end all of them at once ` +
        "with grace_hours 0.",
    );
  }
  const { secret, encrypted, hint } = newSecret(secret_key, project, id);
  const next = { encrypted, hint, grace_hours };
  const endpoint = await webhooks.rotate(tx, project, id, next, now);
  const payload = { secret_rotated: true, grace_hours };
  const fact = { type: "webhook_endpoint.updated" as const, resource_id: id, payload };
  await emit(tx, project, [fact], by, now);
  return { endpoint, secret };
}

/** Sends a message to this endpoint alone, delivered like any other. */
export async function testWebhook(
  tx: Tx,
  project: ProjectId,
  id: string,
  now: Date,
): Promise<void> {
  const endpoint = await lockEnabled(tx, project, id);
  const body = envelope(TEST_EVENT, now, { endpoint_id: id, url: endpoint.url });
  await webhooks.enqueue(tx, project, [{ event: TEST_EVENT, body, endpoint_ids: [id] }], now);
}

/**
 * Sends again everything since the instant: the first piece at once, more by a job. A replay that
 * is under way and began no later goes on, up to now. Returns how many messages there are, as far
 * as they are counted.
 */
export async function replayWebhook(
  tx: Tx,
  project: ProjectId,
  id: string,
  since: Date,
  now: Date,
): Promise<number> {
  const endpoint = await lockEnabled(tx, project, id);
  const running = await webhookJobs.lockReplay(tx, project, id);
  const { counted, ...replay } = await webhookJobs.replayUntilNow(
    tx,
    project,
    endpoint.events,
    since,
  );
  if (running !== undefined && running.since <= since) {
    await webhookJobs.prolong(tx, project, id, replay.until_position);
    return counted;
  }
  const { rest } = await jobPieces.replayPiece(tx, project, endpoint, replay);
  if (rest === undefined) await webhookJobs.end(tx, project, id, ["replay"]);
  else await webhookJobs.start(tx, project, { endpoint_id: id, kind: "replay", ...rest }, now);
  return counted;
}

/** Sends one message again, to the endpoint that an attempt was made for. */
export async function redeliver(tx: Tx, project: ProjectId, attempt_id: string): Promise<void> {
  const unknown = () => notFound("delivery to a known endpoint");
  const attempt = await webhooks.findAttempt(tx, project, attempt_id);
  if (attempt === undefined) throw unknown();
  const endpoint = await webhooks.lock(tx, project, attempt.endpoint_id);
  if (endpoint === undefined) throw unknown();
  refuseDisabled(endpoint);
  if (!(await webhooks.requeue(tx, project, endpoint.id, attempt.message_id))) throw unknown();
}

async function lockEnabled(tx: Tx, project: ProjectId, id: string) {
  const endpoint = await lockKnown(tx, project, id);
  refuseDisabled(endpoint);
  return endpoint;
}

function refuseDisabled({ enabled }: webhooks.EndpointRow): void {
  if (!enabled) throw refuseField("enabled", "disabled", "The endpoint is disabled.");
}

async function lockKnown(tx: Tx, project: ProjectId, id: string) {
  const endpoint = await webhooks.lock(tx, project, id);
  if (endpoint === undefined) throw notFound("webhook endpoint");
  return endpoint;
}

function newSecret(secret_key: Buffer, project: ProjectId, endpoint_id: string) {
  const secret = newWebhookSecret();
  const encrypted = encrypt(secret_key, secretBinding(project, endpoint_id), secret);
  return { secret, encrypted, hint: secret.slice(-4) };
}
