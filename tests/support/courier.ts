// Runs the webhook deliverer by hand: sends what is due now and returns when it is recorded. Also
// records deliveries without sending, and emits payments without the billing that they come from.

import { addressPolicy } from "../../src/domain/addresses.ts";
import type { ProjectId } from "../../src/ids.ts";
import { emit, scheduler } from "../../src/operations/emit.ts";
import * as attempts from "../../src/store/feeds/attempts.ts";
import * as claims from "../../src/store/feeds/claims.ts";
import { Deliverer } from "../../src/workers/deliver-webhooks.ts";
import { WebhookClient } from "../../src/workers/webhook-client.ts";
import type { App, Json } from "./app.ts";
import { factOf } from "./facts.ts";

export class Courier {
  readonly #app: App;
  readonly #deliverer: Deliverer;

  constructor(app: App) {
    this.#app = app;
    this.#deliverer = new Deliverer(
      app.context,
      new WebhookClient(addressPolicy(app.context.config)),
    );
  }

  /** Everything of the project that is due at this moment. */
  async deliver(project = this.#app.profile.project_id): Promise<number> {
    let total = 0;
    for (;;) {
      this.#deliverer.notify(project);
      const { done: claimed } = await this.#deliverer.claimDue();
      if (claimed === 0) return total;
      total += claimed;
      await this.#deliverer.flush();
    }
  }

  close(): Promise<void> {
    return this.#deliverer.drain();
  }
}

const LIMITS = { total: 10, each: 10, shares: { new: 10, failing: 10 }, endpoints: [] };

/** Takes what is due to this project off its queue: nothing is sent, nor taken from others. */
export async function recordAsDelivered(app: App, project: string): Promise<void> {
  const id = project as ProjectId;
  const db = app.context.db.forProject(id);
  const claimed = await claims.claim(db, id, LIMITS);
  await attempts.recordDelivered(
    db,
    id,
    claimed.map((row) => delivered(row)),
  );
}

/** The result of an attempt that its receiver took. */
export function delivered(
  {
    endpoint_id,
    message_id,
    event,
    claim,
    attempt,
  }: Pick<claims.Claimed, "endpoint_id" | "message_id" | "event" | "claim" | "attempt">,
  told: Partial<attempts.AttemptResult> = {},
): attempts.AttemptResult {
  return {
    endpoint_id,
    message_id,
    event,
    claim,
    attempt: attempt + 1,
    status: "delivered",
    http_status: 200,
    error: null,
    duration_ms: 1,
    response_excerpt: "",
    retry_ms: null,
    ...told,
  };
}

/** Emits so many payments, numbered from `first`, in one transaction. */
export async function emitPayments(
  app: App,
  first: number,
  count: number,
  fate: "commit" | "roll back" = "commit",
  project = app.profile.project_id,
): Promise<void> {
  const facts = Array.from({ length: count }, (_, i) =>
    factOf("payment.recorded", app.profile.project_id, {
      event: "payment.succeeded",
      data: { no: first + i, fate },
    }),
  );
  const undone = new Error("rolled back");
  try {
    await app.context.db.tx(async (tx) => {
      const { clock, config } = app.context;
      await emit(tx, project as ProjectId, facts, scheduler(config), clock.now());
      if (fate === "roll back") throw undone;
    });
  } catch (error) {
    if (error !== undone) throw error;
  }
}

export async function register(
  app: App,
  url: string,
  events: readonly string[] = ["payment.succeeded"],
): Promise<Json> {
  return (await app.post("/v1/webhooks", { url, events })).webhook_endpoint;
}
