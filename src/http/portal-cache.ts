// The portal's views, for its JSON and its page: cached in the database for 30 days, computed one
// at a time for a customer and within limits, because strangers may ask for them.

import type { Context } from "../context.ts";
import { DAY_MS } from "../domain/dates.ts";
import { refuse } from "../errors.ts";
import { canonicalUuid } from "../ids.ts";
import { readPortal } from "../operations/read-portal.ts";
import { PORTAL_SHAPE, type PortalPage } from "../schema/portal.ts";
import * as portal from "../store/portal.ts";
import type { ProjectId } from "../store/tenants.ts";
import { isLinkGood } from "./portal-links.ts";
import { networkOf, RateLimit } from "./rate-limit.ts";
import { SingleFlight } from "./single-flight.ts";

const LIFETIME_MS = 30 * DAY_MS;
/** A page a second; an office behind one address reads in bursts. */
const PER_ADDRESS = { burst: 1_000, per_minute: 60 };
/** Refreshes of one customer's view: two a second. */
const PER_CUSTOMER = { burst: 2, per_minute: 2 * 60 };
/** Refreshes of all customers: twenty a second. */
const PER_PROCESS = { burst: 20, per_minute: 20 * 60 };

const noLimit = () => {};

type Computed = {
  readonly project: ProjectId;
  /** The time it is in the project. */
  readonly now: Date;
  readonly body: string;
  readonly page: PortalPage;
};

/** What a visitor brings: the customer's id and, in a signed link, the access to it. */
export type Visit = {
  readonly customerId: string | undefined;
  readonly access: string | undefined;
};

type Known = portal.Found & { readonly id: string; readonly now: Date };
export type PortalView = Computed & { readonly cache: "hit" | "miss" };

export class PortalCache {
  readonly #context: Context;
  readonly #computing = new SingleFlight<Computed>();
  readonly #perAddress = new RateLimit(PER_ADDRESS);
  readonly #perCustomer = new RateLimit(PER_CUSTOMER);
  readonly #perProcess = new RateLimit(PER_PROCESS);

  constructor(context: Context) {
    this.#context = context;
  }

  /** 429 for an address that asks too often. */
  admit(ip: string): void {
    this.#perAddress.take(networkOf(ip));
  }

  /**
   * Only a canonical UUID: `ext:` without a project could mean another tenant's customer. Where the
   * portal is not open, a visitor without a good link is told what one without a customer is.
   */
  async find({ customerId: id = "", access }: Visit): Promise<Known> {
    const { db, clock, secret_key } = this.#context;
    const now = clock.now();
    const isHidden = ({ access: rule, links_version }: portal.Found) =>
      rule === "signed" && !isLinkGood(secret_key, { id, links_version }, access, now);
    const found = canonicalUuid(id) === id ? await portal.find(db, id, isHidden) : undefined;
    if (found === undefined) throw refuse("not_found", "No customer has this id.");
    return { ...found, id, now: found.frozen_at ?? now };
  }

  async read(visit: Visit, refresh: boolean): Promise<PortalView> {
    if (refresh) return this.#refresh(visit);
    const found = await this.find(visit);
    const { project_id: project, now, body, page, generated_at } = found;
    const isOurs = page?.shape === PORTAL_SHAPE;
    if (body !== null && page !== null && generated_at !== null && isOurs) {
      const age_ms = now.getTime() - generated_at.getTime();
      if (age_ms < LIFETIME_MS) return { project, now, body, page, cache: "hit" };
    }
    // Fresh, because a computation that is under way may have begun before what dropped the view.
    const view = await this.#computing.fresh(found.id, noLimit, () => this.#compute(found));
    return { ...view, cache: "miss" };
  }

  /**
   * Whoever shares a refresh, or is refused, costs no query. It is shared by those who have the
   * same link, and counted by it first: a visitor without a good one gets nothing of it, and takes
   * nothing away from those who have one.
   */
  async #refresh(visit: Visit): Promise<PortalView> {
    const key = `${visit.customerId} ${visit.access ?? ""}`;
    const admit = () => this.#perCustomer.take(key);
    const view = await this.#computing.fresh(key, admit, async () => {
      const found = await this.find(visit);
      this.#perCustomer.take(found.id);
      // After the customer is found: ids that nobody has must not use up everybody's share.
      this.#perProcess.take("all");
      return this.#compute(found);
    });
    return { ...view, cache: "miss" };
  }

  async #compute({ project_id: project, id, now }: Known): Promise<Computed> {
    const db = this.#context.db.forProject(project);
    const read = await db.snapshot((tx) => readPortal(tx, project, id, now));
    if (read === undefined) throw refuse("not_found", "No customer has this id.");
    const { page, drops } = read;
    const body = JSON.stringify(read.portal);
    await db.tx((tx) => portal.keep(tx, project, id, { body, page, generated_at: now, drops }));
    return { project, now, body, page };
  }
}
