// Work over many projects that no single node of a cluster holds up: lists go on without the node
// that is away, and each node's projects are handled one by one, beside those of other nodes.

import type { Context } from "../context.ts";
import { groupBy } from "../domain/group-by.ts";
import { refuse } from "../errors.ts";
import type { Part } from "../store/cluster/placement.ts";
import type { Queryable } from "../store/db/db.ts";
import { isCutOff, isUnavailable } from "../store/db/failures.ts";
import { ALL_PROJECTS, onlyProjects, type ProjectFilter } from "../store/db/project-filter.ts";
import { jobFailures } from "../telemetry.ts";
import { type TickReport, type Turn, turnOf } from "./loop.ts";

/** How long the projects of other nodes wait for one that does not answer. */
const PATIENCE_MS = 1_000;
/** The steps in which it is counted: a process that stood still would else blame a node for it. */
const STEP_MS = 100;
/** After a failure, lists are asked for node by node for so long. */
const APART_MS = 30_000;

type OfProject = { readonly id: string };
/** A list across projects. It is given the database and the projects to ask for. */
type Ask<T> = (db: Queryable, filter: ProjectFilter) => Promise<T[]>;

/** One for each job. On plain PostgreSQL lists are asked for whole and projects come by turns. */
export class ByNode {
  readonly #context: Pick<Context, "db" | "placement" | "log">;
  readonly #job: string;
  /** What is under way at each node; a node that hangs is not given more. */
  readonly #busy = new Map<string, Promise<void>>();
  /** Nodes that failed, or did not answer in time: no longer waited for, until they answer. */
  readonly #away = new Set<string>();
  /** Projects that failed when it was last their turn: they come last, in case they fail again. */
  readonly #failing = new Set<string>();
  #apart: NodeJS.Timeout | undefined;
  #stopping = false;

  constructor(context: Pick<Context, "db" | "placement" | "log">, job: string) {
    this.#context = context;
    this.#job = job;
  }

  /** Lists what is found, as far as it comes in time. For work there is `handle`. */
  async list<T>(ask: Ask<T>): Promise<T[]> {
    const whole = await this.#askWhole(ask);
    if (whole !== undefined) return whole;
    const found: T[] = [];
    await this.#atEachNode(ask, async (part) => {
      found.push(...part);
    });
    return [...found];
  }

  /** Lists projects and does the work of each, which returns how much it did. */
  async handle<P extends OfProject>(
    ask: Ask<P>,
    work: (project: P) => Promise<Turn>,
  ): Promise<TickReport> {
    const whole = await this.#askWhole(ask);
    if (whole !== undefined) return this.each(whole, work);
    const run: Run<P> = { work, skipped: () => {}, done: 0, more: false, failed: 0 };
    await this.#atEachNode(ask, (found) => this.#eachInTurn(found, run, false));
    return reportOf(run, this.#away.size);
  }

  /** Undefined when the list fails, or takes long, on a cluster: the nodes are asked apart then. */
  async #askWhole<T>(ask: Ask<T>): Promise<T[] | undefined> {
    const { db, placement } = this.#context;
    if (placement.nodes === 1) return ask(db, ALL_PROJECTS);
    if (this.#apart !== undefined) return undefined;
    try {
      return await inTime(ask(db.forEveryNode(), ALL_PROJECTS));
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      this.#goApart(error);
      return undefined;
    }
  }

  /** Asks each node that is not busy, and hands on what it finds, in time or later. */
  async #atEachNode<T>(ask: Ask<T>, then: (found: T[]) => Promise<void>): Promise<void> {
    const parts = groupBy(await this.#context.placement.parts(), ({ node }) => node);
    const asked = [...parts].flatMap(([node, ofNode]) => {
      if (this.#busy.has(node)) return [];
      const asking = this.#askNode(node, ofNode, ask, then);
      this.#keepBusy(node, asking);
      return this.#away.has(node) ? [] : [asking];
    });
    await this.#waitFor(asked);
  }

  async #askNode<T>(
    node: string,
    parts: readonly Part[],
    ask: Ask<T>,
    then: (found: T[]) => Promise<void>,
  ): Promise<void> {
    try {
      for (const { projects } of parts) {
        const found = await ask(
          this.#context.db.forProject(projects[0] ?? ""),
          onlyProjects(projects),
        );
        this.#away.delete(node);
        await then(found);
      }
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      this.#away.add(node);
      this.#goApart(error);
    }
  }

  /** Waits for works as long as is due. One that is not done by then goes on by itself. */
  async #waitFor(works: readonly Promise<void>[]): Promise<void> {
    try {
      await inTime(Promise.all(works));
    } catch (error) {
      if (!isUnavailable(error)) throw error;
      for (const node of this.#busy.keys()) this.#away.add(node);
    }
  }

  #keepBusy(node: string, work: Promise<void>): void {
    this.#busy.set(node, work);
    const end = () => {
      this.#busy.delete(node);
    };
    work.then(end, end);
  }

  #goApart(error: unknown): void {
    if (this.#apart === undefined) {
      jobFailures.inc({ job: this.#job });
      this.#context.log.error({ err: error, job: this.#job }, "a list is asked for node by node");
    }
    clearTimeout(this.#apart);
    this.#apart = setTimeout(() => {
      this.#apart = undefined;
    }, APART_MS).unref();
  }

  /**
   * Does the work of each project. One that fails is logged and counted and does not stop the
   * others. `skipped` is told of projects that had no turn, because their node is still busy or was
   * found to be away.
   */
  async each<P extends OfProject>(
    projects: readonly P[],
    work: (project: P) => Promise<Turn>,
    skipped: (project: P) => void = () => {},
  ): Promise<TickReport> {
    const run: Run<P> = { work, skipped, done: 0, more: false, failed: 0 };
    if (this.#context.placement.nodes === 1) {
      await this.#eachInTurn(projects, run, true);
      return reportOf(run);
    }
    const works = [...(await this.#byNode(projects, skipped))].flatMap(([node, ofNode]) => {
      if (this.#busy.has(node)) {
        for (const project of ofNode) skipped(project);
        return [];
      }
      const working = this.#eachInTurn(ofNode, run, false);
      this.#keepBusy(node, working);
      return [working];
    });
    await this.#waitFor(works);
    return reportOf(run, this.#busy.size);
  }

  async #byNode<P extends OfProject>(projects: readonly P[], skipped: (project: P) => void) {
    const { placement } = this.#context;
    try {
      const nodes = new Map<string, string>();
      for (const { id } of projects) nodes.set(id, await placement.nodeOf(id));
      return groupBy(projects, ({ id }) => nodes.get(id) ?? "");
    } catch (error) {
      for (const project of projects) skipped(project);
      throw error;
    }
  }

  async #eachInTurn<P extends OfProject>(projects: readonly P[], run: Run<P>, alone: boolean) {
    const inTurn = this.#failedLast(projects);
    for (const [i, project] of inTurn.entries()) {
      try {
        if (this.#stopping) {
          run.skipped(project);
          continue;
        }
        const { done, more } = turnOf(await run.work(project));
        run.done += done;
        run.more ||= more;
        this.#failing.delete(project.id);
      } catch (error) {
        this.#failing.add(project.id);
        const isAway = isUnavailable(error) && !isCutOff(error);
        if (isAway) for (const rest of inTurn.slice(i + 1)) run.skipped(rest);
        // There is only this server: the whole job failed, which the loop tells and counts.
        if (isAway && alone) throw error;
        run.failed += 1;
        jobFailures.inc({ job: this.#job });
        const about = { err: error, job: this.#job, project_id: project.id };
        this.#context.log.error(about, "a job failed for a project and will be tried again");
        if (isAway) return;
      }
    }
  }

  /**
   * A wait for a lock that is in vain fails as a server does that is away, and ends the turn. A
   * project in which that happens each time must not keep those behind it from ever being done.
   */
  #failedLast<P extends OfProject>(projects: readonly P[]): readonly P[] {
    const last = projects.filter(({ id }) => this.#failing.has(id));
    if (last.length === 0) return projects;
    return [...projects.filter(({ id }) => !this.#failing.has(id)), ...last];
  }

  /** At the end of the job: waits for what is under way, and begins nothing more. */
  async drain(): Promise<void> {
    this.#stopping = true;
    await Promise.allSettled(this.#busy.values());
  }
}

type Run<P> = {
  readonly work: (project: P) => Promise<Turn>;
  readonly skipped: (project: P) => void;
  done: number;
  more: boolean;
  failed: number;
};

/** Nodes that are away, or not done in time, count as parts that failed. */
function reportOf(
  { done, more, failed }: Omit<TickReport, "failed"> & { failed: number },
  away = 0,
) {
  return { done, more, failed: failed + away };
}

/** Work that is not done by then is left to itself, its failure included. */
async function inTime<T>(work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    const tooLong = refuse("unavailable", "A node of the database does not answer.");
    let waited_ms = 0;
    timer = setInterval(() => {
      waited_ms += STEP_MS;
      if (waited_ms >= PATIENCE_MS) reject(tooLong);
    }, STEP_MS);
  });
  work.catch(() => {});
  try {
    return await Promise.race([work, late]);
  } finally {
    clearInterval(timer);
  }
}
