// Registers and changes webhook endpoints. Their secrets are encrypted before they are stored.

import { type AddressPolicy, checkWebhookUrl } from "../domain/addresses.ts";
import { envelope } from "../domain/webhooks.ts";
import { refuse, refuseField } from "../errors.ts";
import { newId, newWebhookSecret } from "../ids.ts";
import {
  ENDPOINTS_MAX,
  TEST_EVENT,
  type WebhookCreate,
  type WebhookPatch,
} from "../schema/webhooks.ts";
import type { Tx } from "../store/db.ts";
import { encrypt, secretBinding } from "../store/encryption.ts";
import type { ProjectId } from "../store/tenants.ts";
import * as webhooks from "../store/webhooks.ts";
import { type By, emit } from "./emit.ts";

export type Registered = { readonly endpoint: webhooks.EndpointRow; readonly secret: string };

export async function registerWebhook(
  tx: Tx,
  project: ProjectId,
  input: WebhookCreate,
  terms: { readonly policy: AddressPolicy; readonly secret_key: Buffer },
  by: By,
  now: Date,
): Promise<Registered> {
  const checked = checkWebhookUrl(input.url, terms.policy);
  if (!checked.ok) throw refuseField("url", "not_allowed", `url ${checked.reason}.`);
  if ((await webhooks.lockCount(tx, project)) >= ENDPOINTS_MAX) {
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
  const type =
    before.enabled && !enabled ? "webhook_endpoint.disabled" : "webhook_endpoint.updated";
  await emit(tx, project, [{ type, resource_id: id, payload: { events, enabled } }], by, now);
  return endpoint;
}

/** For a receiver that answered 410 Gone. */
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
  const fact = { type: "webhook_endpoint.deleted" as const, resource_id: id, payload: { url } };
  await emit(tx, project, [fact], by, now);
}

export async function rotateWebhookSecret(
  tx: Tx,
  project: ProjectId,
  id: string,
  secret_key: Buffer,
  by: By,
  now: Date,
): Promise<Registered> {
  await lockKnown(tx, project, id);
  const { secret, encrypted, hint } = newSecret(secret_key, project, id);
  const endpoint = await webhooks.rotate(tx, project, id, { encrypted, hint }, now);
  const payload = { secret_rotated: true };
  const fact = { type: "webhook_endpoint.updated" as const, resource_id: id, payload };
  await emit(tx, project, [fact], by, now);
  return { endpoint, secret };
}

/** A message to this endpoint alone, delivered like any other. */
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

/** Sends again everything since the instant. */
export async function replayWebhook(
  tx: Tx,
  project: ProjectId,
  id: string,
  since: Date,
): Promise<number> {
  return webhooks.replay(tx, project, await lockEnabled(tx, project, id), since);
}

/** Sends one message again, to the endpoint that an attempt was made for. */
export async function redeliver(tx: Tx, project: ProjectId, attempt_id: string): Promise<void> {
  const unknown = () => refuse("not_found", "No delivery to a known endpoint has this id.");
  const endpoint = await webhooks.lockOfAttempt(tx, project, attempt_id);
  if (endpoint === undefined) throw unknown();
  refuseDisabled(endpoint);
  if (!(await webhooks.requeue(tx, project, endpoint.id, endpoint.message_id))) throw unknown();
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
  if (endpoint === undefined) throw refuse("not_found", "No webhook endpoint has this id.");
  return endpoint;
}

function newSecret(secret_key: Buffer, project: ProjectId, endpoint_id: string) {
  const secret = newWebhookSecret();
  const encrypted = encrypt(secret_key, secretBinding(project, endpoint_id), secret);
  return { secret, encrypted, hint: secret.slice(-4) };
}
