// How many webhooks may be claimed and in flight: in all, per project and per endpoint. Keeps one
// endpoint that hangs, and one that has many messages, from delaying the others.

import type { ProjectId } from "../ids.ts";
import type { LastAttempt } from "../store/feeds/attempts.ts";
import {
  type ClaimLimits,
  type Reliability,
  UNPROVEN,
  type Unproven,
} from "../store/feeds/claims.ts";

/** Rows claimed from the queue by this process, in flight or waiting to be sent. */
export const CLAIMED_MAX = 1_024;
/** Rows of one project, so that two busy projects can share a process. */
export const PROJECT_MAX = 512;
/** Rows of a project to endpoints whose last attempt failed: each may hang until its deadline. */
export const FAILING_MAX = 256;
/** Rows of a project to endpoints that nothing was delivered to yet, which may hang as well. */
export const NEW_MAX = 256;
/** To an endpoint that has answered once. Before that it has one attempt at a time. */
export const WINDOW_FIRST = 4;
export const WINDOW_MAX = 32;
/** Claimed ahead for a window of full size, so that sending does not wait for the next claim. */
export const PREFETCH_MAX = 256;
const ENDPOINTS_REMEMBERED = 10_000;
const PROJECT_ENDPOINTS_REMEMBERED = 200;

export type EndpointKey = { readonly project_id: ProjectId; readonly endpoint_id: string };

type EndpointWindow<Row> = {
  /** How many attempts may be in flight. */
  size: number;
  in_flight: number;
  reliability: Reliability;
  /** Claimed, and sent as soon as the window has room. */
  waiting: Row[];
  /** Whether the queue may hold more for this endpoint than was claimed. */
  may_have_more: boolean;
};

type ProjectWindows<Row> = {
  claimed: number;
  /** The shares because of which the last claim may have left rows. */
  cut: readonly Unproven[];
  readonly endpoints: Map<string, EndpointWindow<Row>>;
};

/**
 * Places of all endpoints of one reliability. A project takes at most as many as it leaves free,
 * so that there are some for the next project: half for the first, a quarter for the second.
 */
class Share {
  readonly #max: number;
  readonly #taken = new Map<ProjectId, number>();
  #total = 0;

  constructor(max: number) {
    this.#max = max;
  }

  get total(): number {
    return this.#total;
  }

  free(project: ProjectId): number {
    const free = this.#max - this.#total;
    if (free <= 0) return 0;
    const own = this.#taken.get(project) ?? 0;
    return own === 0 ? Math.ceil(free / 2) : Math.max(0, Math.floor((free - own) / 2));
  }

  add(project: ProjectId, count: number): void {
    const own = (this.#taken.get(project) ?? 0) + count;
    if (own === 0) this.#taken.delete(project);
    else this.#taken.set(project, own);
    this.#total += count;
  }
}

/**
 * One window per endpoint. It is in one of four states, and the end of each attempt moves it:
 *
 * - New: nothing was delivered yet. One in flight. All new endpoints share NEW_MAX.
 * - Opening: starts at WINDOW_FIRST; each success adds one. Only what fits is claimed.
 * - Full size: WINDOW_MAX in flight, up to PREFETCH_MAX claimed ahead, and more is claimed in
 *   pieces of at least half of that.
 * - Failing: after a failed attempt, until the next success. One in flight, nothing claimed ahead;
 *   what was is released for other workers. All failing endpoints share FAILING_MAX.
 *
 * The first success after a failure takes an endpoint back to opening, with a window of 2. Opening
 * and full size are both `proven` to the queue: they have places that no receiver that hangs, and
 * never answered, can take.
 */
export class EndpointWindows<Row extends EndpointKey> {
  readonly #projects = new Map<ProjectId, ProjectWindows<Row>>();
  readonly #shares = { new: new Share(NEW_MAX), failing: new Share(FAILING_MAX) };
  #claimed = 0;
  #remembered = 0;

  /** How many places are taken, in all and of each share. */
  get places(): { readonly all: number; readonly new: number; readonly failing: number } {
    const { new: unknown, failing } = this.#shares;
    return { all: this.#claimed, new: unknown.total, failing: failing.total };
  }

  /** Whether anything is remembered of the project. If not, `remember` says what the log knows. */
  knows(project_id: ProjectId): boolean {
    return this.#projects.has(project_id);
  }

  /** How the last attempt to each endpoint ended, by another process or long ago. */
  remember(project_id: ProjectId, last: readonly LastAttempt[]): void {
    this.#findProject(project_id);
    for (const { endpoint_id, status } of last) {
      const { window } = this.#find({ project_id, endpoint_id });
      window.reliability = status === "delivered" ? "proven" : "failing";
      window.size = status === "delivered" ? WINDOW_FIRST : 1;
    }
  }

  /** How much more may be claimed for a project. Endpoints not named are new. */
  claimLimits(project_id: ProjectId): ClaimLimits {
    const project = this.#projects.get(project_id);
    const left = Math.min(CLAIMED_MAX - this.#claimed, PROJECT_MAX - (project?.claimed ?? 0));
    const endpoints = [...(project?.endpoints ?? [])].map(([endpoint_id, window]) => ({
      endpoint_id,
      reliability: window.reliability,
      limit: this.#claimLimit(window),
    }));
    const shares = {
      new: this.#shares.new.free(project_id),
      failing: this.#shares.failing.free(project_id),
    };
    return { total: Math.max(0, left), each: 1, shares, endpoints };
  }

  /** Whether nothing of the project is claimed. */
  isIdle(project_id: ProjectId): boolean {
    return (this.#projects.get(project_id)?.claimed ?? 0) === 0;
  }

  /** Whether a claim is worth its statement for any endpoint of the project. */
  projectWantsMore(project_id: ProjectId): boolean {
    const project = this.#projects.get(project_id);
    if (project === undefined) return false;
    if (this.#wasCut(project_id, project)) return true;
    for (const window of project.endpoints.values()) {
      if (this.#wantsMore(window)) return true;
    }
    return false;
  }

  /** Whether, after an attempt to this endpoint, a claim is worth its statement. */
  endpointWantsMore(key: EndpointKey): boolean {
    const { project, window } = this.#find(key);
    return this.#wasCut(key.project_id, project) || this.#wantsMore(window);
  }

  /** Whether rows were left because of a share that has places again. */
  #wasCut(project_id: ProjectId, { cut }: ProjectWindows<Row>): boolean {
    return cut.some((reliability) => this.#shares[reliability].free(project_id) > 0);
  }

  #wantsMore(window: EndpointWindow<Row>): boolean {
    return window.may_have_more && this.#claimLimit(window) > 0;
  }

  /**
   * Adds the rows that a claim within these limits returned; `startNext` then hands them out.
   * Returns the shares that were used up by it, so that rows may have been left.
   */
  addClaimed(project_id: ProjectId, rows: readonly Row[], limits: ClaimLimits): Unproven[] {
    const counts = new Map(limits.endpoints.map(({ endpoint_id }) => [endpoint_id, 0]));
    const taken = { new: 0, failing: 0, proven: 0 };
    for (const row of rows) {
      const { project, window } = this.#find(row);
      window.waiting.push(row);
      this.#count(project_id, project, window.reliability, 1);
      taken[window.reliability] += 1;
      counts.set(row.endpoint_id, (counts.get(row.endpoint_id) ?? 0) + 1);
    }
    const asked = UNPROVEN.filter((reliability) => limits.shares[reliability] > 0);
    const cut = asked.filter((reliability) => taken[reliability] >= limits.shares[reliability]);
    const project = this.#findProject(project_id);
    const before = project.cut.filter((reliability) => !asked.includes(reliability));
    project.cut = [...before, ...cut];
    const limitOf = new Map(limits.endpoints.map((named) => [named.endpoint_id, named.limit]));
    for (const [endpoint_id, count] of counts) {
      const { window } = this.#find({ project_id, endpoint_id });
      // A claim that reached a limit means that the queue may hold more.
      window.may_have_more =
        rows.length >= limits.total || count >= (limitOf.get(endpoint_id) ?? limits.each);
    }
    return cut;
  }

  /** The waiting rows of an endpoint that its window has room for; they count as in flight. */
  startNext(key: EndpointKey): Row[] {
    const { window } = this.#find(key);
    const rows = window.waiting.splice(0, Math.max(0, window.size - window.in_flight));
    window.in_flight += rows.length;
    return rows;
  }

  /**
   * Drops and returns the waiting rows of an endpoint that are to be released, not sent. Looks no
   * further than the first that is not stale: those that were claimed first wait in front.
   */
  dropWaiting(key: EndpointKey, isStale: (row: Row) => boolean): Row[] {
    const { project, window } = this.#find(key);
    const fresh = window.waiting.findIndex((row) => !isStale(row));
    const dropped = window.waiting.splice(0, fresh < 0 ? window.waiting.length : fresh);
    if (dropped.length === 0) return dropped;
    window.may_have_more = true;
    this.#count(key.project_id, project, window.reliability, -dropped.length);
    return dropped;
  }

  /** Counts the end of an attempt. Returns the waiting rows to release: all, after a failure. */
  finish(key: EndpointKey, delivered: boolean): Row[] {
    const { project, window } = this.#find(key);
    const released = delivered ? [] : window.waiting.splice(0);
    this.#count(key.project_id, project, window.reliability, -1 - released.length);
    window.in_flight -= 1;
    this.#judge(key.project_id, window, delivered);
    if (this.#remembered > ENDPOINTS_REMEMBERED) this.#forgetIdle();
    return released;
  }

  /** What is claimed for the endpoint moves to the share of its new reliability. */
  #judge(project_id: ProjectId, window: EndpointWindow<Row>, delivered: boolean): void {
    const { reliability: before, size } = window;
    const reliability = delivered ? "proven" : "failing";
    if (!delivered) window.size = 1;
    else window.size = before === "new" ? WINDOW_FIRST : Math.min(WINDOW_MAX, size + 1);
    if (before === reliability) return;
    const held = window.in_flight + window.waiting.length;
    window.reliability = reliability;
    if (before !== "proven") this.#shares[before].add(project_id, -held);
    if (reliability !== "proven") this.#shares[reliability].add(project_id, held);
  }

  /** Drops and returns every waiting row, to be released when the worker stops. */
  clearWaiting(): Row[] {
    const released: Row[] = [];
    for (const [project_id, project] of this.#projects) {
      for (const endpoint_id of project.endpoints.keys()) {
        released.push(...this.dropWaiting({ project_id, endpoint_id }, () => true));
      }
    }
    return released;
  }

  #count(
    id: ProjectId,
    project: ProjectWindows<Row>,
    reliability: Reliability,
    change: number,
  ): void {
    project.claimed += change;
    this.#claimed += change;
    if (reliability !== "proven") this.#shares[reliability].add(id, change);
  }

  /** How many rows may be claimed: 0 until half of the window, or of the prefetch, is free. */
  #claimLimit(window: EndpointWindow<Row>): number {
    const depth = window.size < WINDOW_MAX ? window.size : PREFETCH_MAX;
    const free = depth - window.in_flight - window.waiting.length;
    return free * 2 >= depth ? free : 0;
  }

  #findProject(project_id: ProjectId): ProjectWindows<Row> {
    let project = this.#projects.get(project_id);
    if (project === undefined) {
      project = { claimed: 0, cut: [], endpoints: new Map() };
      this.#projects.set(project_id, project);
    }
    return project;
  }

  /** The windows of a key, made when they are missing. */
  #find({ project_id, endpoint_id }: EndpointKey) {
    const project = this.#findProject(project_id);
    let window = project.endpoints.get(endpoint_id);
    if (window === undefined) {
      window = { size: 1, in_flight: 0, reliability: "new", waiting: [], may_have_more: true };
      project.endpoints.set(endpoint_id, window);
      this.#remembered += 1;
    }
    return { project, window };
  }

  #forgetIdle(): void {
    for (const [project_id, project] of this.#projects) {
      // As a whole, because what the log knows is asked for once a project. A project has 50
      // endpoints at most, so in one with many windows most are of endpoints that were removed.
      const isIdle = project.claimed === 0;
      if (!isIdle && project.endpoints.size <= PROJECT_ENDPOINTS_REMEMBERED) continue;
      for (const [endpoint_id, window] of project.endpoints) {
        if (window.in_flight > 0 || window.waiting.length > 0) continue;
        project.endpoints.delete(endpoint_id);
        this.#remembered -= 1;
      }
      if (isIdle) this.#projects.delete(project_id);
    }
  }
}
