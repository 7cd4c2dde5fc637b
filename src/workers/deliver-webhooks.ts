// Delivers webhooks: claims what is due, sends it, writes the results back in batches. Few are in
// flight per endpoint, so that one that hangs delays nobody.

import type { Context } from "../context.ts";
import { groupBy } from "../domain/lists.ts";
import {
  parseRetryAfter,
  RETRIES_MAX,
  retryDelayMs,
  sign,
  standardSignature,
} from "../domain/webhooks.ts";
import { secretBinding } from "../operations/change-webhook.ts";
import { recordDeliveries } from "../operations/record-deliveries.ts";
import * as deliveries from "../store/deliveries.ts";
import { unseal } from "../store/sealing.ts";
import type { ProjectId } from "../store/tenants.ts";
import type { Job } from "./loop.ts";
import type { Sender, SendResult } from "./send.ts";

const POLL_MS = 500;
const IN_FLIGHT_MAX = 256;
const WINDOW_FIRST = 4;
const WINDOW_MAX = 32;
const RESULTS_MAX = 500;
const ENDPOINTS_REMEMBERED = 10_000;
const GONE = 410;

type Finished = deliveries.AttemptResult & { readonly project_id: ProjectId };

export class Deliverer {
  readonly #context: Context;
  readonly #sender: Sender;
  /** In flight by endpoint, and how many may be: more while it answers, one while it fails. */
  readonly #inFlight = new Map<string, number>();
  readonly #windows = new Map<string, number>();
  readonly #busy = new Set<Promise<void>>();
  readonly #hungry = new Set<ProjectId>();
  #finished: Finished[] = [];
  #polled = 0;
  /** Set by whoever runs the jobs. */
  wakeClaims: () => void = () => {};
  wakeResults: () => void = () => {};

  constructor(context: Context, sender: Sender) {
    this.#context = context;
    this.#sender = sender;
  }

  get jobs(): { claims: Job; results: Job } {
    return {
      claims: { name: "webhooks", pause_ms: POLL_MS, tick: () => this.claimDue() },
      results: { name: "webhook results", pause_ms: POLL_MS, tick: () => this.recordFinished() },
    };
  }

  /** A project has something new. */
  notify(project: string): void {
    this.#hungry.add(project as ProjectId);
    this.wakeClaims();
  }

  /** Claims what there is room for and starts sending it. */
  async claimDue(): Promise<number> {
    const { db, clock } = this.#context;
    const now_ms = clock.now().getTime();
    if (now_ms - this.#polled >= POLL_MS || now_ms < this.#polled) {
      this.#polled = now_ms;
      for (const project of await deliveries.listDueProjects(db)) this.#hungry.add(project);
    }
    let claimed = 0;
    for (const project of [...this.#hungry]) {
      if (this.#busy.size >= IN_FLIGHT_MAX) break;
      const rows = await deliveries.claim(db, project, this.#room(), WINDOW_FIRST);
      // What is left waits for room, which comes with a result, or for its time, which is polled.
      if (rows.length === 0) this.#hungry.delete(project);
      for (const row of rows) this.#start(row);
      claimed += rows.length;
    }
    return claimed;
  }

  /** Only endpoints that differ from the first window need to be named. */
  #room(): deliveries.Room[] {
    return [...this.#windows].map(([endpoint_id, window]) => ({
      endpoint_id,
      limit: Math.max(0, window - (this.#inFlight.get(endpoint_id) ?? 0)),
    }));
  }

  #start(row: deliveries.Claimed): void {
    const { endpoint_id } = row;
    if (this.#windows.size > ENDPOINTS_REMEMBERED) this.#windows.clear();
    if (!this.#windows.has(endpoint_id)) this.#windows.set(endpoint_id, WINDOW_FIRST);
    this.#inFlight.set(endpoint_id, (this.#inFlight.get(endpoint_id) ?? 0) + 1);
    const sending = this.#send(row).finally(() => this.#busy.delete(sending));
    this.#busy.add(sending);
  }

  async #send(row: deliveries.Claimed): Promise<void> {
    const { endpoint_id } = row;
    let result: SendResult;
    try {
      result = await this.#sender.send({
        url: row.url,
        body: row.body,
        headers: this.#headers(row),
      });
    } catch (error) {
      this.#context.log.error({ err: error, endpoint_id }, "a webhook could not be signed");
      const nothing = { http_status: null, response_excerpt: null, retry_after: null };
      result = { ...nothing, error: "connection", duration_ms: 0 };
    }
    const left = (this.#inFlight.get(endpoint_id) ?? 1) - 1;
    if (left === 0) this.#inFlight.delete(endpoint_id);
    else this.#inFlight.set(endpoint_id, left);
    const finished = this.#judge(row, result);
    this.#resize(endpoint_id, finished.status === "delivered");
    this.#hungry.add(row.project_id);
    this.#finished.push(finished);
    this.wakeResults();
  }

  #headers(row: deliveries.Claimed): Record<string, string> {
    const bound = secretBinding(row.project_id, row.endpoint_id);
    const open = (sealed: Buffer) => unseal(this.#context.secret_key, bound, sealed);
    const secret = open(row.secret);
    const secrets = row.previous_secret === null ? [secret] : [secret, open(row.previous_secret)];
    const timestamp_s = Math.floor(this.#context.clock.now().getTime() / 1000);
    const { message_id: id, body, event } = row;
    return {
      "content-type": "application/json; charset=utf-8",
      "user-agent": "dues-webhooks/1",
      "x-service-event": event,
      "x-service-signature": sign(secret, body),
      "webhook-id": id,
      "webhook-timestamp": String(timestamp_s),
      "webhook-signature": standardSignature(secrets, { id, timestamp_s, body }),
    };
  }

  #judge(row: deliveries.Claimed, result: SendResult): Finished {
    const { http_status, duration_ms, response_excerpt, retry_after } = result;
    const delivered = http_status !== null && http_status >= 200 && http_status < 300;
    const retry_no = row.tries + 1;
    const isLast = retry_no > RETRIES_MAX || http_status === GONE;
    const asked =
      retry_after === null ? 0 : (parseRetryAfter(retry_after, this.#context.clock.now()) ?? 0);
    const scheduled = retryDelayMs(Math.min(retry_no, RETRIES_MAX), Math.random() * 2 - 1);
    return {
      project_id: row.project_id,
      endpoint_id: row.endpoint_id,
      message_id: row.message_id,
      claim: row.claim,
      attempt: row.attempt + 1,
      status: delivered ? "delivered" : "failed",
      http_status,
      error: delivered ? null : (result.error ?? `http_${http_status}`),
      duration_ms,
      response_excerpt,
      retry_ms: delivered || isLast ? null : Math.max(scheduled, asked),
    };
  }

  #resize(endpoint_id: string, delivered: boolean): void {
    const window = this.#windows.get(endpoint_id) ?? WINDOW_FIRST;
    this.#windows.set(endpoint_id, delivered ? Math.min(WINDOW_MAX, window + 1) : 1);
  }

  /** Everything that has come in since the last time, one transaction a project. */
  async recordFinished(): Promise<number> {
    const batch = this.#finished.splice(0, RESULTS_MAX);
    if (batch.length === 0) return 0;
    const { db, clock } = this.#context;
    for (const [project, results] of groupBy(batch, (result) => result.project_id)) {
      try {
        await db.tx((tx) => recordDeliveries(tx, project, results, clock.now()));
      } catch (error) {
        // Kept and tried again: until the claim runs out nobody else sends them.
        this.#finished.push(...results);
        throw error;
      }
    }
    this.wakeClaims();
    return batch.length;
  }

  /** Waits for what is in flight and writes the last results. */
  async drain(): Promise<void> {
    await Promise.all(this.#busy);
    while ((await this.recordFinished()) > 0);
    await this.#sender.close();
  }
}
