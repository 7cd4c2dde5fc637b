// How many webhooks may be claimed and in flight: in all, per project and per endpoint. Keeps one
// endpoint that hangs, and one that has many messages, from delaying the others.

import type { Room } from "../store/deliveries.ts";
import type { ProjectId } from "../store/tenants.ts";

/** Rows claimed from the queue by this process, in flight or waiting to be sent. */
export const CLAIMED_MAX = 1_024;
/** Of one project, so that two busy projects can share a process. */
export const PROJECT_MAX = 512;
/** In flight to endpoints whose last attempt failed: each may hang until its deadline of 10 s. */
export const FAILING_MAX = 256;
export const WINDOW_FIRST = 4;
export const WINDOW_MAX = 32;
/** Claimed ahead for a window of full size, so that sending does not wait for the next claim. */
export const PREFETCH_MAX = 256;
const ENDPOINTS_REMEMBERED = 10_000;

export type EndpointKey = { readonly project_id: ProjectId; readonly endpoint_id: string };

type EndpointWindow<Row> = {
  /** How many attempts may be in flight. */
  size: number;
  in_flight: number;
  /** Whether the last attempt failed. */
  failing: boolean;
  /** Claimed, and sent as soon as the window has room. */
  waiting: Row[];
  /** Whether the queue may hold more for this endpoint than was claimed. */
  may_have_more: boolean;
};

type ProjectWindows<Row> = {
  claimed: number;
  readonly endpoints: Map<string, EndpointWindow<Row>>;
};

/**
 * One window per endpoint. It is in one of three states, and the end of each attempt moves it:
 *
 * - Opening: starts at WINDOW_FIRST; each success adds one. Only what fits is claimed.
 * - Full size: WINDOW_MAX in flight, up to PREFETCH_MAX claimed ahead, and more is claimed in
 *   pieces of at least half of that.
 * - Failing: after a failed attempt, until the next success. One in flight, nothing claimed ahead;
 *   what was is released for other workers. All failing endpoints share FAILING_MAX.
 *
 * The first success after a failure takes an endpoint back to opening, with a window of 2.
 */
export class EndpointWindows<Row extends EndpointKey> {
  readonly #projects = new Map<ProjectId, ProjectWindows<Row>>();
  #claimed = 0;
  #in_flight_failing = 0;
  #remembered = 0;

  /** How much more may be claimed for a project. Endpoints not named have the first window. */
  room(project_id: ProjectId): Room {
    const project = this.#projects.get(project_id);
    const left = Math.min(CLAIMED_MAX - this.#claimed, PROJECT_MAX - (project?.claimed ?? 0));
    const endpoints = [...(project?.endpoints ?? [])].map(([endpoint_id, window]) => ({
      endpoint_id,
      limit: this.#claimLimit(window),
    }));
    return { total: Math.max(0, left), each: WINDOW_FIRST, endpoints };
  }

  /** Whether nothing of the project is claimed. */
  isIdle(project_id: ProjectId): boolean {
    return (this.#projects.get(project_id)?.claimed ?? 0) === 0;
  }

  /** Whether a claim is worth its statement for any endpoint of the project. */
  projectWantsMore(project_id: ProjectId): boolean {
    for (const window of this.#projects.get(project_id)?.endpoints.values() ?? []) {
      if (this.#wantsMore(window)) return true;
    }
    return false;
  }

  /** Whether a claim is worth its statement for this endpoint. */
  endpointWantsMore(key: EndpointKey): boolean {
    return this.#wantsMore(this.#find(key).window);
  }

  #wantsMore(window: EndpointWindow<Row>): boolean {
    return window.may_have_more && this.#claimLimit(window) > 0;
  }

  /** Adds the rows that a claim with this room returned; `startNext` then hands them out. */
  addClaimed(project_id: ProjectId, rows: readonly Row[], room: Room): void {
    const counts = new Map(room.endpoints.map(({ endpoint_id }) => [endpoint_id, 0]));
    for (const row of rows) {
      const { project, window } = this.#find(row);
      window.waiting.push(row);
      project.claimed += 1;
      this.#claimed += 1;
      counts.set(row.endpoint_id, (counts.get(row.endpoint_id) ?? 0) + 1);
    }
    const limits = new Map(room.endpoints.map((named) => [named.endpoint_id, named.limit]));
    for (const [endpoint_id, count] of counts) {
      const { window } = this.#find({ project_id, endpoint_id });
      // A claim that reached a limit means that the queue may hold more.
      window.may_have_more =
        rows.length >= room.total || count >= (limits.get(endpoint_id) ?? room.each);
    }
  }

  /** The waiting rows of an endpoint that its window has room for; they count as in flight. */
  startNext(key: EndpointKey): Row[] {
    const { window } = this.#find(key);
    const rows = window.waiting.splice(0, Math.max(0, window.size - window.in_flight));
    window.in_flight += rows.length;
    if (window.failing) this.#in_flight_failing += rows.length;
    return rows;
  }

  /** Counts the end of an attempt. Returns the waiting rows to release: all, after a failure. */
  finish(key: EndpointKey, delivered: boolean): Row[] {
    const { project, window } = this.#find(key);
    if (window.failing) this.#in_flight_failing -= window.in_flight;
    window.in_flight -= 1;
    window.failing = !delivered;
    if (window.failing) this.#in_flight_failing += window.in_flight;
    window.size = delivered ? Math.min(WINDOW_MAX, window.size + 1) : 1;
    const released = delivered ? [] : window.waiting.splice(0);
    project.claimed -= 1 + released.length;
    this.#claimed -= 1 + released.length;
    if (this.#remembered > ENDPOINTS_REMEMBERED) this.#forgetIdle();
    return released;
  }

  /** Drops and returns every waiting row, to be released when the worker stops. */
  clearWaiting(): Row[] {
    const released: Row[] = [];
    for (const project of this.#projects.values()) {
      for (const window of project.endpoints.values()) {
        project.claimed -= window.waiting.length;
        this.#claimed -= window.waiting.length;
        released.push(...window.waiting.splice(0));
      }
    }
    return released;
  }

  /** How many rows may be claimed: 0 until half of the window, or of the prefetch, is free. */
  #claimLimit(window: EndpointWindow<Row>): number {
    if (window.failing && this.#in_flight_failing >= FAILING_MAX) return 0;
    const depth = window.size < WINDOW_MAX ? window.size : PREFETCH_MAX;
    const free = depth - window.in_flight - window.waiting.length;
    return free * 2 >= depth ? free : 0;
  }

  /** The windows of a key, made when they are missing. */
  #find({ project_id, endpoint_id }: EndpointKey) {
    let project = this.#projects.get(project_id);
    if (project === undefined) {
      project = { claimed: 0, endpoints: new Map() };
      this.#projects.set(project_id, project);
    }
    let window = project.endpoints.get(endpoint_id);
    if (window === undefined) {
      window = {
        size: WINDOW_FIRST,
        in_flight: 0,
        failing: false,
        waiting: [],
        may_have_more: true,
      };
      project.endpoints.set(endpoint_id, window);
      this.#remembered += 1;
    }
    return { project, window };
  }

  #forgetIdle(): void {
    for (const [project_id, project] of this.#projects) {
      for (const [endpoint_id, window] of project.endpoints) {
        if (window.in_flight > 0 || window.waiting.length > 0) continue;
        project.endpoints.delete(endpoint_id);
        this.#remembered -= 1;
      }
      if (project.endpoints.size === 0) this.#projects.delete(project_id);
    }
  }
}
