// How many webhooks may be in flight, in all and for each project and endpoint, so that neither one
// that hangs nor one with much to send delays the others.

import type { ProjectId } from "../store/tenants.ts";

export const IN_FLIGHT_MAX = 512;
/** Of one project: half is left to the others. */
export const PROJECT_MAX = 256;
/** Of endpoints whose last attempt failed: they may be about to hang for their whole deadline. */
export const FAILING_MAX = 256;
export const WINDOW_FIRST = 4;
export const WINDOW_MAX = 32;
const ENDPOINTS_REMEMBERED = 10_000;

type Key = { readonly project_id: ProjectId; readonly endpoint_id: string };
/** An endpoint's window widens with each success and is 1 after a failure. */
type Lane = { window: number; in_flight: number; failing: boolean };
type Project = { in_flight: number; readonly lanes: Map<string, Lane> };

export class Lanes {
  readonly #projects = new Map<ProjectId, Project>();
  #in_flight = 0;
  #failing = 0;
  #remembered = 0;

  /** What a project may have more of. Endpoints not named have the first window. */
  room(project_id: ProjectId) {
    const project = this.#projects.get(project_id);
    const total = Math.max(
      0,
      Math.min(IN_FLIGHT_MAX - this.#in_flight, PROJECT_MAX - (project?.in_flight ?? 0)),
    );
    const endpoints = [...(project?.lanes ?? [])].map(([endpoint_id, lane]) => {
      const window = lane.failing && this.#failing >= FAILING_MAX ? 0 : lane.window;
      return { endpoint_id, limit: Math.max(0, window - lane.in_flight) };
    });
    return { total, each: WINDOW_FIRST, endpoints };
  }

  isIdle(project_id: ProjectId): boolean {
    return (this.#projects.get(project_id)?.in_flight ?? 0) === 0;
  }

  start(key: Key): void {
    const { project, lane } = this.#find(key);
    project.in_flight += 1;
    lane.in_flight += 1;
    this.#in_flight += 1;
    if (lane.failing) this.#failing += 1;
  }

  end(key: Key, delivered: boolean): void {
    const { project, lane } = this.#find(key);
    project.in_flight -= 1;
    this.#in_flight -= 1;
    if (lane.failing) this.#failing -= lane.in_flight;
    lane.in_flight -= 1;
    lane.failing = !delivered;
    if (lane.failing) this.#failing += lane.in_flight;
    lane.window = delivered ? Math.min(WINDOW_MAX, lane.window + 1) : 1;
    if (this.#remembered > ENDPOINTS_REMEMBERED) this.#forgetIdle();
  }

  #find({ project_id, endpoint_id }: Key): { project: Project; lane: Lane } {
    let project = this.#projects.get(project_id);
    if (project === undefined) {
      project = { in_flight: 0, lanes: new Map() };
      this.#projects.set(project_id, project);
    }
    let lane = project.lanes.get(endpoint_id);
    if (lane === undefined) {
      lane = { window: WINDOW_FIRST, in_flight: 0, failing: false };
      project.lanes.set(endpoint_id, lane);
      this.#remembered += 1;
    }
    return { project, lane };
  }

  #forgetIdle(): void {
    for (const [project_id, project] of this.#projects) {
      for (const [endpoint_id, lane] of project.lanes) {
        if (lane.in_flight === 0 && project.lanes.delete(endpoint_id)) this.#remembered -= 1;
      }
      if (project.lanes.size === 0) this.#projects.delete(project_id);
    }
  }
}
