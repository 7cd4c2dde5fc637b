// Runs the webhook deliverer by hand: sends what is due now and returns when it is recorded. Also
// records deliveries without sending, and emits payments without the billing that they come from.

import { addressPolicy } from "../../src/domain/addresses.ts";
import { emit, SCHEDULER } from "../../src/operations/emit.ts";
import * as deliveries from "../../src/store/deliveries.ts";
import type { ProjectId } from "../../src/store/tenants.ts";
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
      const claimed = await this.#deliverer.claimDue();
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
  const claimed = await deliveries.claim(db, id, LIMITS);
  const results = claimed.map(({ endpoint_id, message_id, claim, attempt }) => ({
    ...{ endpoint_id, message_id, claim, attempt: attempt + 1, status: "delivered" as const },
    ...{ http_status: 200, error: null, duration_ms: 1, response_excerpt: "", retry_ms: null },
  }));
  await deliveries.recordDelivered(db, id, results);
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
      await emit(tx, project as ProjectId, facts, SCHEDULER, app.context.clock.now());
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
