// Delivers webhooks: claims what is due, sends it, writes the results back in batches. Few are in
// flight per endpoint, so that one that hangs delays nobody.

import { monotonicMs } from "../clock.ts";
import type { Context } from "../context.ts";
import { groupBy } from "../domain/group-by.ts";
import {
  parseRetryAfter,
  RETRIES_MAX,
  retryDelayMs,
  sign,
  standardSignature,
} from "../domain/webhooks.ts";
import { recordDeliveries } from "../operations/record-deliveries.ts";
import * as deliveries from "../store/deliveries.ts";
import { decrypt, secretBinding } from "../store/encryption.ts";
import type { ProjectId } from "../store/tenants.ts";
import * as webhooks from "../store/webhooks.ts";
import { type Key, Lanes } from "./endpoint-windows.ts";
import type { Job } from "./loop.ts";
import type { SendResult } from "./webhook-attempt.ts";
import type { Sender } from "./webhook-client.ts";

const POLL_MS = 500;
const RESULTS_MAX = 500;
/** Results that come in close together are written together. */
const GATHER_MS = 20;
const SECRETS_REMEMBERED = 1_000;
const GONE = 410;
/** What was taken longer ago is not begun: its attempt could outlive the claim. */
const BEGIN_MS_MAX = 15_000;

type Taken = deliveries.Claimed & { readonly taken_ms: number };
type Finished = deliveries.AttemptResult & { readonly project_id: ProjectId };

export class Deliverer {
  readonly #context: Context;
  readonly #sender: Sender;
  readonly #lanes = new Lanes<Taken>();
  /** Opened secrets, by the row they are of and the bytes they were sealed to. */
  readonly #secrets = new Map<string, string>();
  #sending = 0;
  #onIdle: (() => void) | undefined;
  /** Projects that may have something due, the one served longest ago first. */
  readonly #hungry = new Set<ProjectId>();
  /** Those of them that were told to have something, whatever their endpoints have room for. */
  readonly #told = new Set<ProjectId>();
  #finished: Finished[] = [];
  #returned: Taken[] = [];
  #polled_ms = Number.NEGATIVE_INFINITY;
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
      results: {
        name: "webhook results",
        pause_ms: POLL_MS,
        gather_ms: GATHER_MS,
        tick: () => this.recordFinished(),
      },
    };
  }

  /** A project has something new. */
  notify(project: string): void {
    this.#tell(project as ProjectId);
    this.wakeClaims();
  }

  #tell(project: ProjectId): void {
    this.#hungry.add(project);
    this.#told.add(project);
  }

  /** Claims what there is room for and starts sending it. */
  async claimDue(): Promise<number> {
    const { db } = this.#context;
    const polled = await this.#poll();
    let claimed = 0;
    for (const project of [...this.#hungry]) {
      const room = this.#lanes.room(project);
      // It stays hungry: room comes with a result, and that wakes us.
      if (room.total === 0) continue;
      this.#hungry.delete(project);
      // Its endpoints were served since they asked: a claim would find room for none.
      if (!this.#told.delete(project) && !this.#lanes.wants(project)) continue;
      const taken_ms = monotonicMs();
      const rows = await deliveries.claim(db, project, room);
      // What is left waits for room, which comes with a result, or for its time, which is polled.
      if (rows.length >= room.total) this.#tell(project);
      if (rows.length === 0 && polled.has(project) && this.#lanes.isIdle(project)) {
        await webhooks.pauseDisabled(db, project);
      }
      this.#lanes.add(project, withBodies(rows, taken_ms), room);
      for (const endpoint_id of new Set(rows.map((row) => row.endpoint_id))) {
        this.#startNext({ project_id: project, endpoint_id });
      }
      claimed += rows.length;
    }
    return claimed;
  }

  /** Finds what notifications do not tell: retries whose time has come, claims that ran out. */
  async #poll(): Promise<ReadonlySet<ProjectId>> {
    const now_ms = monotonicMs();
    if (now_ms - this.#polled_ms < POLL_MS) return new Set();
    this.#polled_ms = now_ms;
    const due = await deliveries.listDueProjects(this.#context.db);
    for (const project of due) this.#tell(project);
    return new Set(due);
  }

  #startNext(key: Key): void {
    for (const row of this.#lanes.start(key)) {
      if (monotonicMs() - row.taken_ms > BEGIN_MS_MAX) {
        this.#returned.push(row);
        this.#finish(row, false);
      } else {
        this.#sending += 1;
        void this.#send(row).then((result) => this.#sent(row, result));
      }
    }
  }

  #send(row: Taken): Promise<SendResult> {
    const { url, body, endpoint_id } = row;
    try {
      return this.#sender.send({ url, body, headers: this.#headers(row) });
    } catch (error) {
      this.#context.log.error({ err: error, endpoint_id }, "a webhook could not be signed");
      const nothing = { http_status: null, response_excerpt: null, retry_after: null };
      return Promise.resolve({ ...nothing, error: "connection", duration_ms: 0 });
    }
  }

  #sent(row: Taken, result: SendResult): void {
    const finished = this.#judge(row, result);
    this.#finished.push(finished);
    this.#finish(row, finished.status === "delivered");
    this.#sending -= 1;
    if (this.#sending === 0) this.#onIdle?.();
  }

  /** Makes room for the next one. */
  #finish(row: Taken, delivered: boolean): void {
    this.#returned.push(...this.#lanes.end(row, delivered));
    this.#startNext(row);
    if (this.#lanes.isHungry(row)) {
      this.#hungry.add(row.project_id);
      this.wakeClaims();
    }
    this.wakeResults();
  }

  #headers(row: deliveries.Claimed): Record<string, string> {
    const secret = this.#open(row, row.secret);
    const { message_id: id, body, event, previous_secret } = row;
    const secrets =
      previous_secret === null ? [secret] : [secret, this.#open(row, previous_secret)];
    const timestamp_s = Math.floor(this.#context.clock.now().getTime() / 1000);
    return {
      "content-type": "application/json; charset=utf-8",
      "accept-encoding": "identity",
      "user-agent": "dues-webhooks/1",
      "x-service-event": event,
      "x-service-signature": sign(secret, body),
      "webhook-id": id,
      "webhook-timestamp": String(timestamp_s),
      "webhook-signature": standardSignature(secrets, { id, timestamp_s, body }),
    };
  }

  /** Opened once: a secret that is changed is sealed to other bytes. */
  #open({ project_id, endpoint_id }: Key, sealed: string): string {
    const bound = secretBinding(project_id, endpoint_id);
    const key = `${bound} ${sealed}`;
    const known = this.#secrets.get(key);
    if (known !== undefined) return known;
    const secret = decrypt(this.#context.secret_key, bound, Buffer.from(sealed, "hex"));
    if (this.#secrets.size >= SECRETS_REMEMBERED) this.#secrets.clear();
    this.#secrets.set(key, secret);
    return secret;
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

  /** Everything that has come in since the last time, one statement a project. */
  async recordFinished(): Promise<number> {
    const finished = this.#finished.splice(0, RESULTS_MAX);
    const returned = this.#returned.splice(0, RESULTS_MAX);
    const failures: unknown[] = [];
    for (const [project, results] of groupBy(finished, (result) => result.project_id)) {
      try {
        await this.#record(project, results);
      } catch (error) {
        // Kept and tried again: until the claim runs out nobody else sends them.
        this.#finished.push(...results);
        failures.push(error);
      }
    }
    for (const [project, rows] of groupBy(returned, (row) => row.project_id)) {
      // Not tried again: when the claim runs out they are due by themselves.
      await deliveries.release(this.#context.db, project, rows).catch((e) => failures.push(e));
      this.#tell(project);
    }
    if (finished.length + returned.length > 0) this.wakeClaims();
    if (failures.length > 0) throw failures[0];
    return finished.length + returned.length;
  }

  #record(project: ProjectId, results: readonly deliveries.AttemptResult[]): Promise<unknown> {
    const { db, clock } = this.#context;
    // Success has no consequences: one statement, no transaction around it.
    return results.every(({ status }) => status === "delivered")
      ? deliveries.recordDelivered(db, project, results)
      : db.tx((tx) => recordDeliveries(tx, project, results, clock.now()));
  }

  /** Waits for what is in flight and writes the last results. */
  async settle(): Promise<void> {
    while (this.#sending > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    while ((await this.recordFinished()) > 0);
  }

  /** The end of a worker's life. */
  async drain(): Promise<void> {
    this.#returned.push(...this.#lanes.clear());
    try {
      await this.settle();
    } catch (error) {
      // They are sent again when their claim has run out: at least once, not exactly once.
      this.#context.log.error({ err: error }, "the last webhook results could not be written");
    }
    await this.#sender.close();
  }
}

/** Rows of one message come one after another, and the first brings the body for all. */
function withBodies(rows: Awaited<ReturnType<typeof deliveries.claim>>, taken_ms: number): Taken[] {
  let body = "";
  return rows.map((row) => {
    body = row.body ?? body;
    return { ...row, body, taken_ms };
  });
}
