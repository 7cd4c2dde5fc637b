// The portal's views, computed within limits, because strangers may ask for them. For the API they
// are cached in the database for 30 days; the pages for people are computed anew.

import type { Context } from "../../context.ts";
import { DAY_MS } from "../../domain/dates.ts";
import { notFound } from "../../errors.ts";
import { canonicalUuid, type ProjectId } from "../../ids.ts";
import { readPortal } from "../../operations/portal/read.ts";
import { type PortalShown, readPortalPage } from "../../operations/portal/read-page.ts";
import { PORTAL_SHAPE } from "../../schema/portal.ts";
import { type Found, findCustomer } from "../../store/portal/found.ts";
import * as portalViews from "../../store/portal/views.ts";
import type { Bounds } from "../admission/bound.ts";
import { networkOf, type Rate, RateLimit } from "../admission/rate-limit.ts";
import { isLinkGood } from "../portal-links.ts";
import { SingleFlight } from "./single-flight.ts";

const LIFETIME_MS = 30 * DAY_MS;
/** The lifetime of views that time alone changes, where they are to be kept true. */
const MOVING_LIFETIME_MS = 10 * 60_000;
/** A page a second; an office behind one address reads in bursts. */
const PER_ADDRESS = { burst: 1_000, per_minute: 60 };
/** A view computed anew for the API: two a second of one customer, twenty of all. */
const REFRESHES = {
  each: { burst: 2, per_minute: 2 * 60 },
  all: { burst: 20, per_minute: 20 * 60 },
};
/** Pages, which several people may read at once: two a second of one customer, thirty of all. */
const PAGES = {
  each: { burst: 20, per_minute: 2 * 60 },
  all: { burst: 60, per_minute: 30 * 60 },
};

const BOUND = "portal_views";

const noLimit = () => {};

type Computed = { readonly body: string };

/** What a visitor brings: the customer's id and, in a signed link, the access to it. */
export type Visit = {
  readonly customerId: string | undefined;
  readonly access: string | undefined;
};

type Known = Found & { readonly id: string; readonly now: Date };
export type PortalView = Computed & { readonly cache: "hit" | "miss" };
export type PortalVisit = PortalShown & { readonly project: ProjectId };

/** Limits by customer and for all in this process: one cannot use up what the others have. */
class CustomerLimit {
  readonly #each: RateLimit;
  readonly #all: RateLimit;

  constructor(rates: { readonly each: Rate; readonly all: Rate }, countRefusal: () => void) {
    this.#each = new RateLimit(rates.each);
    this.#all = new RateLimit(rates.all, countRefusal);
  }

  take(customer_id: string): void {
    this.#each.take(customer_id);
    this.#all.take("all");
  }

  /** Takes from the limit of one customer alone, or of one link to it. */
  takeEach(key: string): void {
    this.#each.take(key);
  }
}

export class PortalCache {
  readonly #context: Context;
  readonly #computing = new SingleFlight<Computed>();
  readonly #showing = new SingleFlight<PortalVisit>();
  readonly #addresses = new RateLimit(PER_ADDRESS);
  readonly #refreshes: CustomerLimit;
  readonly #pages: CustomerLimit;

  constructor(context: Context, bounds: Bounds) {
    const countRefusal = () => bounds.countRefusal(BOUND);
    this.#context = context;
    this.#refreshes = new CustomerLimit(REFRESHES, countRefusal);
    this.#pages = new CustomerLimit(PAGES, countRefusal);
    bounds.addLevel({ name: BOUND, level: () => this.#computing.count + this.#showing.count });
  }

  /** 429 for an address that asks too often. */
  admit(ip: string): void {
    this.#addresses.take(networkOf(ip));
  }

  /**
   * The customer of a visit, by a canonical UUID: `ext:` without a project could mean another
   * tenant's customer. Where the portal is not open, a visitor without a good link is told that
   * there is no such customer.
   */
  async find({ customerId: id = "", access }: Visit): Promise<Known> {
    const { db, clock, secret_key } = this.#context;
    const now = clock.now();
    const isHidden = ({ access: rule, links_version }: Found) =>
      rule === "signed" && !isLinkGood(secret_key, { id, links_version }, access, now);
    const found = canonicalUuid(id) === id ? await findCustomer(db, id, isHidden) : undefined;
    if (found === undefined) throw notFound("customer");
    return { ...found, id, now: found.frozen_at ?? now };
  }

  async read(visit: Visit, refresh: boolean): Promise<PortalView> {
    if (refresh) return this.#refresh(visit);
    const found = await this.find(visit);
    const { now, body, page, generated_at } = found;
    const isOurs = page?.shape === PORTAL_SHAPE;
    if (body !== null && generated_at !== null && isOurs) {
      const isMoving = this.#context.config.portal_auto_invalidate && page.moves === true;
      // The age is by the project's clock, which may have been set back.
      const age_ms = Math.abs(now.getTime() - generated_at.getTime());
      if (age_ms < (isMoving ? MOVING_LIFETIME_MS : LIFETIME_MS)) return { body, cache: "hit" };
    }
    // `fresh`, because a computation under way may have begun before what dropped the view.
    const view = await this.#computing.fresh(found.id, noLimit, () => this.#compute(found));
    return { ...view, cache: "miss" };
  }

  /**
   * The page for people, computed anew: what was paid a moment ago is paid on it. It is not kept,
   * so what the API answers stays as it is. Visitors who ask at once share it.
   */
  show(visit: Visit): Promise<PortalVisit> {
    const key = `${visit.customerId} ${visit.access ?? ""}`;
    return this.#showing.fresh(key, noLimit, async () => {
      const { id, project_id: project, now } = await this.enter(visit);
      const db = this.#context.db.forProject(project);
      const shown = await db.snapshot((tx) => readPortalPage(tx, project, id, now));
      if (shown === undefined) throw notFound("customer");
      return { ...shown, project };
    });
  }

  /** The customer of a page whose data are read anew: 429 when that is asked for too often. */
  async enter(visit: Visit): Promise<Known> {
    const found = await this.find(visit);
    this.#pages.take(found.id);
    return found;
  }

  /**
   * Computes the view anew. A visitor who shares a refresh, or is refused, costs no query. A
   * refresh is shared by those who have the same link, and counted by the link first: a visitor
   * without a good one gets nothing of it, and takes nothing away from those who have one.
   */
  async #refresh(visit: Visit): Promise<PortalView> {
    const key = `${visit.customerId} ${visit.access ?? ""}`;
    const admit = () => this.#refreshes.takeEach(key);
    const view = await this.#computing.fresh(key, admit, async () => {
      const found = await this.find(visit);
      // It counts only now: ids that nobody has must not use up what all customers have together.
      this.#refreshes.take(found.id);
      return this.#compute(found);
    });
    return { ...view, cache: "miss" };
  }

  async #compute({ project_id: project, id, now }: Known): Promise<Computed> {
    const db = this.#context.db.forProject(project);
    const read = await db.snapshot((tx) => readPortal(tx, project, id, now));
    if (read === undefined) throw notFound("customer");
    const { drops, moves } = read;
    const body = JSON.stringify(read.portal);
    const page = { shape: PORTAL_SHAPE, moves };
    await db.tx((tx) =>
      portalViews.keep(tx, project, id, { body, page, generated_at: now, drops }),
    );
    return { body };
  }
}
