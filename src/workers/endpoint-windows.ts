// How many webhooks are taken and in flight, in all and for each project and endpoint, so that
// neither one that hangs nor one with much to send delays the others.

import type { Room } from "../store/deliveries.ts";
import type { ProjectId } from "../store/tenants.ts";

/** Rows taken from the queue: in flight, or waiting here for their turn. */
export const TAKEN_MAX = 1_024;
/** Of one project: half is left to the others. */
export const PROJECT_MAX = 512;
/** In flight to endpoints whose last attempt failed: they may hang for their whole deadline. */
export const FAILING_MAX = 256;
export const WINDOW_FIRST = 4;
export const WINDOW_MAX = 32;
/** Taken ahead for an endpoint that answers well, so that sending does not wait for the queue. */
export const AHEAD_MAX = 256;
const ENDPOINTS_REMEMBERED = 10_000;

export type Key = { readonly project_id: ProjectId; readonly endpoint_id: string };

/** An endpoint's window widens with each success and is 1 after a failure. */
type Lane<Row> = {
  window: number;
  in_flight: number;
  failing: boolean;
  waiting: Row[];
  /** The queue may hold more for it than was taken. */
  more: boolean;
};
type Project<Row> = { taken: number; readonly lanes: Map<string, Lane<Row>> };

export class Lanes<Row extends Key> {
  readonly #projects = new Map<ProjectId, Project<Row>>();
  #taken = 0;
  #failing = 0;
  #remembered = 0;

  /** How much more may be taken for a project. Endpoints not named have the first window. */
  room(project_id: ProjectId): Room {
    const project = this.#projects.get(project_id);
    const left = Math.min(TAKEN_MAX - this.#taken, PROJECT_MAX - (project?.taken ?? 0));
    const endpoints = [...(project?.lanes ?? [])].map(([endpoint_id, lane]) => ({
      endpoint_id,
      limit: this.#limit(lane),
    }));
    return { total: Math.max(0, left), each: WINDOW_FIRST, endpoints };
  }

  isIdle(project_id: ProjectId): boolean {
    return (this.#projects.get(project_id)?.taken ?? 0) === 0;
  }

  /** Whether it is time to ask for more for any endpoint of the project. */
  wants(project_id: ProjectId): boolean {
    for (const lane of this.#projects.get(project_id)?.lanes.values() ?? []) {
      if (lane.more && this.#limit(lane) > 0) return true;
    }
    return false;
  }

  /** Whether it is time to ask for more for this endpoint: in large pieces, not one by one. */
  isHungry(key: Key): boolean {
    const { lane } = this.#find(key);
    return lane.more && this.#limit(lane) > 0;
  }

  /** Rows that were taken wait for their turn. Who got all it had room for may have more. */
  add(project_id: ProjectId, rows: readonly Row[], room: Room): void {
    const counts = new Map(room.endpoints.map(({ endpoint_id }) => [endpoint_id, 0]));
    for (const row of rows) {
      const { project, lane } = this.#find(row);
      lane.waiting.push(row);
      project.taken += 1;
      this.#taken += 1;
      counts.set(row.endpoint_id, (counts.get(row.endpoint_id) ?? 0) + 1);
    }
    const limits = new Map(room.endpoints.map((named) => [named.endpoint_id, named.limit]));
    for (const [endpoint_id, count] of counts) {
      const { lane } = this.#find({ project_id, endpoint_id });
      lane.more = rows.length >= room.total || count >= (limits.get(endpoint_id) ?? room.each);
    }
  }

  /** The rows of an endpoint whose turn it is. */
  start(key: Key): Row[] {
    const { lane } = this.#find(key);
    const rows = lane.waiting.splice(0, Math.max(0, lane.window - lane.in_flight));
    lane.in_flight += rows.length;
    if (lane.failing) this.#failing += rows.length;
    return rows;
  }

  /** Returns the rows that are to be given back: after a failure nothing is kept ahead. */
  end(key: Key, delivered: boolean): Row[] {
    const { project, lane } = this.#find(key);
    if (lane.failing) this.#failing -= lane.in_flight;
    lane.in_flight -= 1;
    lane.failing = !delivered;
    if (lane.failing) this.#failing += lane.in_flight;
    lane.window = delivered ? Math.min(WINDOW_MAX, lane.window + 1) : 1;
    const dropped = delivered ? [] : lane.waiting.splice(0);
    project.taken -= 1 + dropped.length;
    this.#taken -= 1 + dropped.length;
    if (this.#remembered > ENDPOINTS_REMEMBERED) this.#forgetIdle();
    return dropped;
  }

  /** Everything that still waits, to be given back. */
  clear(): Row[] {
    const dropped: Row[] = [];
    for (const project of this.#projects.values()) {
      for (const lane of project.lanes.values()) {
        project.taken -= lane.waiting.length;
        this.#taken -= lane.waiting.length;
        dropped.push(...lane.waiting.splice(0));
      }
    }
    return dropped;
  }

  #limit(lane: Lane<Row>): number {
    if (lane.failing && this.#failing >= FAILING_MAX) return 0;
    const depth = lane.window < WINDOW_MAX ? lane.window : AHEAD_MAX;
    const free = depth - lane.in_flight - lane.waiting.length;
    return free * 2 >= depth ? free : 0;
  }

  #find({ project_id, endpoint_id }: Key): { project: Project<Row>; lane: Lane<Row> } {
    let project = this.#projects.get(project_id);
    if (project === undefined) {
      project = { taken: 0, lanes: new Map() };
      this.#projects.set(project_id, project);
    }
    let lane = project.lanes.get(endpoint_id);
    if (lane === undefined) {
      lane = { window: WINDOW_FIRST, in_flight: 0, failing: false, waiting: [], more: true };
      project.lanes.set(endpoint_id, lane);
      this.#remembered += 1;
    }
    return { project, lane };
  }

  #forgetIdle(): void {
    for (const [project_id, project] of this.#projects) {
      for (const [endpoint_id, lane] of project.lanes) {
        if (lane.in_flight > 0 || lane.waiting.length > 0) continue;
        project.lanes.delete(endpoint_id);
        this.#remembered -= 1;
      }
      if (project.lanes.size === 0) this.#projects.delete(project_id);
    }
  }
}
