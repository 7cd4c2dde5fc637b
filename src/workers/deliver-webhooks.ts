// Delivers webhooks: claims due rows of the queue, sends them, and records the results in batches.
// How many are claimed and in flight per endpoint is decided by endpoint-windows.ts.

import { allRead } from "../all-read.ts";
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
import type { ProjectId } from "../ids.ts";
import { scheduler } from "../operations/emit.ts";
import { disableGone, recordDeliveries } from "../operations/webhooks/record-deliveries.ts";
import { isPassing } from "../store/db/failures.ts";
import * as attempts from "../store/feeds/attempts.ts";
import * as claims from "../store/feeds/claims.ts";
import { decrypt, secretBinding } from "../store/tenants/encryption.ts";
import { jobFailures } from "../telemetry.ts";
import { ByNode } from "./by-node.ts";
import { type EndpointKey, EndpointWindows } from "./endpoint-windows.ts";
import { addUp, type Job, RESTED, type TickReport } from "./loop.ts";
import { countAttempt, webhookClaimsCut, webhookPlaces } from "./prometheus.ts";
import type { AttemptOutcome } from "./webhook-attempt.ts";
import type { WebhookClient } from "./webhook-client.ts";

const CLAIMS = "webhook_claims";
const RESULTS = "webhook_results";
const POLL_MS = 500;
const RESULTS_MAX = 500;
/** Results that arrive within this time are recorded by one statement per project. */
const GATHER_MS = 20;
const SECRETS_REMEMBERED = 1_000;
/**
 * A row that waited longer since its claim is released instead of sent: a claim holds for 30 s and
 * an attempt takes up to 10, so another worker might send the same message meanwhile.
 */
const START_MS_MAX = 15_000;

type ClaimedDelivery = claims.Claimed & { readonly claimed_ms: number };
type ResultToRecord = attempts.AttemptResult & { readonly project_id: ProjectId };

/**
 * A delivery goes through these steps:
 *
 * 1. A project gets work: a notification names it, the poll finds it, or a finished attempt frees a
 *    window behind which more is queued. It joins `#projectsWithWork`.
 * 2. `claimDue` claims rows for it, as many as the endpoints' windows have room for.
 * 3. The windows start attempts; each ends with an outcome, and the next row is started.
 * 4. The result waits in `#toRecord` until `recordResults` writes it. Rows that were claimed and
 *    not sent wait in `#toRelease` and go back to the queue with the same job.
 */
export class Deliverer {
  readonly #context: Context;
  readonly #client: WebhookClient;
  readonly #claimsByNode: ByNode;
  readonly #resultsByNode: ByNode;
  readonly #windows = new EndpointWindows<ClaimedDelivery>();
  /** Decrypted secrets, by endpoint and ciphertext: a changed secret has another ciphertext. */
  readonly #secrets = new Map<string, string>();
  #sending = 0;
  #onIdle: (() => void) | undefined;
  /** Projects that may have due rows. After a claim with more left, one rejoins at the end. */
  readonly #projectsWithWork = new Set<ProjectId>();
  /** Projects with new rows: claimed for even if no known endpoint wants more. */
  readonly #notified = new Set<ProjectId>();
  #toRecord: ResultToRecord[] = [];
  #toRelease: ClaimedDelivery[] = [];
  #polled_ms = Number.NEGATIVE_INFINITY;
  /** Set by whoever runs the jobs. */
  wakeClaims: () => void = () => {};
  wakeResults: () => void = () => {};

  constructor(context: Context, client: WebhookClient) {
    this.#context = context;
    this.#client = client;
    this.#claimsByNode = new ByNode(context, CLAIMS);
    this.#resultsByNode = new ByNode(context, RESULTS);
  }

  get jobs(): { claims: Job; results: Job } {
    return {
      claims: {
        name: CLAIMS,
        description: "Webhooks claimed, to be sent at once.",
        pause_ms: POLL_MS,
        tick: () => this.claimDue(),
        drain: () => this.#claimsByNode.drain(),
      },
      results: {
        name: RESULTS,
        description: "Results of attempts to deliver written, and webhooks given back unsent.",
        pause_ms: POLL_MS,
        gather_ms: GATHER_MS,
        tick: () => this.recordResults(),
      },
    };
  }

  /** The project has new rows in the queue. */
  notify(project: string): void {
    this.#addWork(project as ProjectId);
    this.wakeClaims();
  }

  #addWork(project: ProjectId): void {
    this.#projectsWithWork.add(project);
    this.#notified.add(project);
  }

  /** Claims what there is room for and starts sending it. */
  async claimDue(): Promise<TickReport> {
    const polled = await this.#poll();
    const projects = [...this.#projectsWithWork].map((id) => ({ id }));
    const claimed = await this.#claimsByNode.each(projects, ({ id }) => this.#claim(id));
    return addUp([polled, claimed]);
  }

  async #claim(project: ProjectId): Promise<number> {
    const db = this.#context.db.forProject(project);
    if (!this.#windows.knows(project)) {
      this.#windows.remember(project, await attempts.listLastAttempts(db, project));
    }
    const limits = this.#windows.claimLimits(project);
    // It stays in the set: the next result frees a place, and wakes this job.
    if (limits.total === 0) return 0;
    this.#projectsWithWork.delete(project);
    // Nothing new, and an earlier claim has filled the windows that wanted more.
    if (!this.#notified.delete(project) && !this.#windows.projectWantsMore(project)) return 0;
    const claimed_ms = monotonicMs();
    const rows = await claims.claim(db, project, limits);
    // The claim was cut at its limit, so more may be due.
    if (rows.length >= limits.total) this.#addWork(project);
    const cut = this.#windows.addClaimed(project, withBodies(rows, claimed_ms), limits);
    for (const share of cut) webhookClaimsCut.inc({ share });
    for (const endpoint_id of new Set(rows.map((row) => row.endpoint_id))) {
      this.#startNext({ project_id: project, endpoint_id });
    }
    return rows.length;
  }

  /** Finds what no notification announces: retries that are due, and claims that have expired. */
  async #poll(): Promise<TickReport> {
    const now_ms = monotonicMs();
    if (now_ms - this.#polled_ms < POLL_MS) return RESTED;
    this.#polled_ms = now_ms;
    const { failed = 0 } = await this.#claimsByNode.handle(
      async (db, filter) => (await claims.listDueProjects(db, filter)).map((id) => ({ id })),
      async ({ id }) => {
        this.#addWork(id);
        return 1;
      },
    );
    // To find a project is no work yet.
    return { done: 0, more: false, failed };
  }

  #startNext(key: EndpointKey): void {
    const oldest_ms = monotonicMs() - START_MS_MAX;
    const stale = this.#windows.dropWaiting(key, ({ claimed_ms }) => claimed_ms < oldest_ms);
    if (stale.length > 0) {
      this.#toRelease.push(...stale);
      this.wakeResults();
    }
    for (const row of this.#windows.startNext(key)) {
      this.#sending += 1;
      void this.#attempt(row);
    }
  }

  async #attempt(row: ClaimedDelivery): Promise<void> {
    const outcome = await this.#send(row);
    await allRead();
    this.#onOutcome(row, outcome);
  }

  #send(row: ClaimedDelivery): Promise<AttemptOutcome> {
    const { url, body, endpoint_id } = row;
    try {
      return this.#client.send({ url, body, headers: this.#headers(row) });
    } catch (error) {
      this.#context.log.error({ err: error, endpoint_id }, "a webhook could not be signed");
      const nothing = { http_status: null, response_excerpt: null, retry_after: null };
      return Promise.resolve({ ...nothing, error: "signing", duration_ms: 0 });
    }
  }

  #onOutcome(row: ClaimedDelivery, outcome: AttemptOutcome): void {
    const result = this.#resultOf(row, outcome);
    countAttempt(result);
    this.#toRecord.push(result);
    this.#freeWindow(row, result.status === "delivered");
    this.#sending -= 1;
    if (this.#sending === 0) this.#onIdle?.();
  }

  /** Ends a row's place in its endpoint's window, and starts or claims the next ones. */
  #freeWindow(row: ClaimedDelivery, delivered: boolean): void {
    this.#toRelease.push(...this.#windows.finish(row, delivered));
    this.#startNext(row);
    if (this.#windows.endpointWantsMore(row)) {
      this.#projectsWithWork.add(row.project_id);
      this.wakeClaims();
    }
    this.wakeResults();
  }

  #headers(row: claims.Claimed): Record<string, string> {
    const { message_id: id, body, event } = row;
    const secret = this.#decrypt(row, row.secret);
    const former = (row.former_secrets ?? []).map((each) => this.#decrypt(row, each));
    const secrets = [secret, ...former.toReversed()];
    const timestamp_s = Math.floor(this.#context.clock.now().getTime() / 1000);
    return {
      "content-type": "application/json; charset=utf-8",
      "accept-encoding": "identity",
      "user-agent": "dues-webhooks/1",
      "x-service-event": event,
      // It has room for one: receivers have until the oldest ends to change over to the new one.
      "x-service-signature": sign(former[0] ?? secret, body),
      "webhook-id": id,
      "webhook-timestamp": String(timestamp_s),
      "webhook-signature": standardSignature(secrets, { id, timestamp_s, body }),
    };
  }

  /** Decrypts a secret once and remembers it. */
  #decrypt({ project_id, endpoint_id }: EndpointKey, encrypted: string): string {
    const binding = secretBinding(project_id, endpoint_id);
    const key = `${binding} ${encrypted}`;
    const known = this.#secrets.get(key);
    if (known !== undefined) return known;
    const secret = decrypt(this.#context.secret_key, binding, Buffer.from(encrypted, "hex"));
    if (this.#secrets.size >= SECRETS_REMEMBERED) this.#secrets.clear();
    this.#secrets.set(key, secret);
    return secret;
  }

  /** What is recorded of an attempt: delivered by a 2xx, else when it is retried, if at all. */
  #resultOf(row: claims.Claimed, outcome: AttemptOutcome): ResultToRecord {
    const { http_status, duration_ms, response_excerpt, retry_after } = outcome;
    const delivered = http_status !== null && http_status >= 200 && http_status < 300;
    const retry_no = row.tries + 1;
    const asked =
      retry_after === null ? 0 : (parseRetryAfter(retry_after, this.#context.clock.now()) ?? 0);
    const scheduled = retryDelayMs(Math.min(retry_no, RETRIES_MAX), Math.random() * 2 - 1);
    return {
      project_id: row.project_id,
      endpoint_id: row.endpoint_id,
      message_id: row.message_id,
      event: row.event,
      claim: row.claim,
      attempt: row.attempt + 1,
      status: delivered ? "delivered" : "failed",
      http_status,
      error: delivered ? null : (outcome.error ?? `http_${http_status}`),
      duration_ms,
      response_excerpt,
      retry_ms: delivered || retry_no > RETRIES_MAX ? null : Math.max(scheduled, asked),
    };
  }

  /** Records the results that have come in and releases what was not sent. */
  async recordResults(): Promise<TickReport> {
    for (const [share, taken] of Object.entries(this.#windows.places)) {
      webhookPlaces.set({ share }, taken);
    }
    const results = this.#toRecord.splice(0, RESULTS_MAX);
    const unsent = this.#toRelease.splice(0, RESULTS_MAX);
    const toRecord = groupBy(results, (result) => result.project_id);
    const toRelease = groupBy(unsent, (row) => row.project_id);
    const projects = [...new Set([...toRecord.keys(), ...toRelease.keys()])];
    // Tried again at the next tick: the claims keep other workers from sending them meanwhile.
    const again = (id: ProjectId) => this.#toRecord.push(...(toRecord.get(id) ?? []));
    const record = async (id: ProjectId) => {
      const ofProject = toRecord.get(id) ?? [];
      if (ofProject.length > 0) await this.#recordAll(id, ofProject);
      return ofProject.length;
    };
    try {
      return await this.#resultsByNode.each(
        projects.map((id) => ({ id })),
        async ({ id }) => {
          const recorded = await record(id).catch((error) => {
            again(id);
            throw error;
          });
          return recorded + (await this.#release(id, toRelease.get(id) ?? []));
        },
        ({ id }) => again(id),
      );
    } finally {
      if (results.length + unsent.length > 0) this.wakeClaims();
    }
  }

  /** Gives rows back to the queue. If that fails, their claims run out and do the same. */
  async #release(project: ProjectId, rows: readonly ClaimedDelivery[]): Promise<number> {
    if (rows.length === 0) return 0;
    this.#addWork(project);
    await claims.release(this.#context.db.forProject(project), project, rows);
    return rows.length;
  }

  /**
   * One result that the database refuses does not keep the others from being recorded: they are
   * written in halves, and what is refused alone leaves the queue, or waits for its retry, without
   * a row in the log. Its claim would else run out and it would be sent every 30 seconds.
   */
  async #recordAll(project: ProjectId, results: readonly attempts.AttemptResult[]): Promise<void> {
    try {
      await this.#record(project, results);
    } catch (error) {
      if (isPassing(error)) throw error;
      if (results.length > 1) {
        const half = Math.ceil(results.length / 2);
        await this.#recordAll(project, results.slice(0, half));
        await this.#recordAll(project, results.slice(half));
        return;
      }
      const { message_id, endpoint_id } = results[0] ?? {};
      const about = { err: error, project_id: project, message_id, endpoint_id };
      this.#context.log.error(about, "a webhook's result could not be written to its log");
      jobFailures.inc({ job: RESULTS });
      await attempts.moveOn(this.#context.db.forProject(project), project, results);
    }
  }

  async #record(project: ProjectId, results: readonly attempts.AttemptResult[]): Promise<void> {
    const { clock, config } = this.#context;
    const db = this.#context.db.forProject(project);
    // Deliveries change nothing else, so one statement without a transaction records them.
    if (results.every(({ status }) => status === "delivered")) {
      await attempts.recordDelivered(db, project, results);
      return;
    }
    const by = scheduler(config);
    const gone = await db.tx((tx) => recordDeliveries(tx, project, results, by, clock.now()));
    for (const endpoint_id of gone) await this.#disable(project, endpoint_id);
  }

  /** Switches off an endpoint that is gone. If that fails, the next message leads here again. */
  async #disable(project: ProjectId, endpoint_id: string): Promise<void> {
    const { clock, config, db, log } = this.#context;
    const by = scheduler(config);
    try {
      await db
        .forProject(project)
        .tx((tx) => disableGone(tx, project, endpoint_id, by, clock.now()));
    } catch (error) {
      jobFailures.inc({ job: RESULTS });
      const about = { err: error, project_id: project, endpoint_id };
      log.error(about, "an endpoint that is gone could not be switched off");
    }
  }

  /** Waits for the attempts in flight and records their results. */
  async flush(): Promise<void> {
    while (this.#sending > 0) {
      await new Promise<void>((resolve) => {
        this.#onIdle = resolve;
      });
    }
    while ((await this.recordResults()).more);
  }

  /** For the end of the worker: releases what was not started, and flushes. */
  async drain(): Promise<void> {
    this.#toRelease.push(...this.#windows.clearWaiting());
    try {
      await this.flush();
    } catch (error) {
      // Their claims expire and they are sent again: delivery is at least once, not exactly once.
      this.#context.log.error({ err: error }, "the last webhook results could not be written");
    }
    await this.#resultsByNode.drain();
    await this.#client.close();
  }
}

/** Rows of one message follow one another, and only the first of them carries the body. */
function withBodies(
  rows: Awaited<ReturnType<typeof claims.claim>>,
  claimed_ms: number,
): ClaimedDelivery[] {
  let body = "";
  return rows.map((row) => {
    body = row.body ?? body;
    return { ...row, body, claimed_ms };
  });
}
