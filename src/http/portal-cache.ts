// The portal's views as both its faces read them, JSON and page: kept for 30 days, shared by all
// processes, computed within a budget.

import type { FastifyRequest } from "fastify";
import type { Context } from "../context.ts";
import { DAY_MS } from "../domain/dates.ts";
import { Refusal, refuse } from "../errors.ts";
import { canonicalUuid } from "../ids.ts";
import { readPortal } from "../operations/read-portal.ts";
import type { PortalPage } from "../schema/portal.ts";
import * as portal from "../store/portal.ts";
import type { ProjectId } from "../store/tenants.ts";
import { Buckets } from "./rate-limit.ts";
import { Flights } from "./single-flight.ts";
import { Turnstile } from "./turnstile.ts";

const LIFETIME_MS = 30 * DAY_MS;
/** A visitor reads a page a minute; an office behind one address reads in bursts. */
const PER_ADDRESS = { burst: 1_000, per_minute: 60 };

type Computed = {
  readonly project: ProjectId;
  /** The time it is in the project. */
  readonly now: Date;
  readonly body: string;
  readonly page: PortalPage;
};

type Known = portal.Found & { readonly id: string; readonly now: Date };
export type PortalView = Computed & { readonly cache: "hit" | "miss" };

export class PortalViews {
  readonly #context: Context;
  readonly #flights = new Flights<Computed>();
  readonly #addresses = new Buckets(PER_ADDRESS);
  readonly #refusals = new Turnstile();
  readonly #joiners = new Turnstile();

  constructor(context: Context) {
    this.#context = context;
  }

  /** 429 for an address that asks too often. */
  admit(request: FastifyRequest): Promise<void> {
    return this.inTurn(async () => this.#addresses.take(request.ip));
  }

  /** Only a canonical UUID is an id here: other forms could mean another tenant's customer. */
  async find(segment: string | undefined): Promise<Known> {
    const id = segment ?? "";
    const found = canonicalUuid(id) === id ? await portal.find(this.#context.db, id) : undefined;
    if (found === undefined) throw refuse("not_found", "No customer has this id.");
    return { ...found, id, now: found.frozen_at ?? this.#context.clock.now() };
  }

  async read(segment: string | undefined, refresh: boolean): Promise<PortalView> {
    if (refresh) return this.inTurn(() => this.#refresh(segment ?? ""));
    const found = await this.find(segment);
    const { project_id: project, now, body, page, generated_at } = found;
    if (body !== null && page !== null && generated_at !== null) {
      const age_ms = now.getTime() - generated_at.getTime();
      if (age_ms < LIFETIME_MS) return { project, now, body, page, cache: "hit" };
    }
    const view = await this.#flights.any(found.id, () => this.#compute(found));
    return { ...view, cache: "miss" };
  }

  async #refresh(id: string): Promise<PortalView> {
    let joined = true;
    const view = await this.#flights.fresh(id, async () => {
      joined = false;
      const found = await this.find(id);
      this.#flights.takeShare();
      return this.#compute(found);
    });
    // A crowd that waited for the same view would get it, and ask for the next, in one instant.
    if (joined) await this.#joiners.turn();
    return { ...view, cache: "miss" };
  }

  /** Holds a 429 back until it is its turn. */
  async inTurn<T>(work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof Refusal && error.status === 429) await this.#refusals.turn();
      throw error;
    }
  }

  async #compute({ project_id: project, id, now }: Known): Promise<Computed> {
    const { db } = this.#context;
    const read = await db.snapshot((tx) => readPortal(tx, project, id, now));
    if (read === undefined) throw refuse("not_found", "No customer has this id.");
    const { page, seen } = read;
    const body = JSON.stringify(read.portal);
    await db.tx((tx) => portal.keep(tx, project, id, { body, page, generated_at: now, seen }));
    return { project, now, body, page };
  }
}
