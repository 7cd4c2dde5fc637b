// Work over many projects: a failure stays with its project, and a node that hangs or is away holds
// up no other.

import { setImmediate as turn } from "node:timers/promises";
import { afterAll, beforeEach, describe, expect, test } from "vitest";
import { refuse } from "../../src/errors.ts";
import { makeLog } from "../../src/log.ts";
import { ONE_NODE, type Placement } from "../../src/store/cluster/placement.ts";
import type { Queryable } from "../../src/store/db/db.ts";
import type { ProjectFilter } from "../../src/store/db/project-filter.ts";
import { sql } from "../../src/store/db/sql.ts";
import { jobFailures } from "../../src/telemetry.ts";
import { ByNode } from "../../src/workers/by-node.ts";
import { type App, startApp, testConfig } from "../support/app.ts";
import { fakePlacement } from "../support/fake-placement.ts";

const JOB = "a test of nodes";
const SOON_MS = 700;
const PATIENCE_MS = 1_000;
const PROJECTS = ["a-1", "a-2", "b-1", "b-2"];
const AWAY = { code: "unavailable" };

const app: App = await startApp();
afterAll(() => app.close());

let failures = 0;
beforeEach(async () => {
  failures = await failuresNow();
});

async function failuresNow(): Promise<number> {
  const { values } = await jobFailures.get();
  return values.find(({ labels }) => labels.job === JOB)?.value ?? 0;
}

function byNode(placement: Placement = fakePlacement(2, PROJECTS)): ByNode {
  return new ByNode({ db: app.context.db, placement, log: makeLog(testConfig()) }, JOB);
}

const away = () => refuse("unavailable", "The database cannot be reached just now. Try again.");
const never = () => new Promise<never>(() => {});
const ofProjects = (ids: readonly string[]) => ids.map((id) => ({ id }));

/** As a stopped process does: no timer and no answer comes through. */
function standStill(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

async function timed<T>(work: Promise<T>): Promise<{ took_ms: number; result: T }> {
  const started = performance.now();
  const result = await work;
  return { took_ms: performance.now() - started, result };
}

/** The projects that a list is asked for; undefined when it is asked for all. */
function asked(filter: ProjectFilter): string[] | undefined {
  return filter(sql`project_id`).values[0] as string[] | undefined;
}

/** A list that fails, or hangs, for whoever asks for a project of node "a". */
function without(failing: (db: Queryable) => Promise<never>, calls: string[][] = []) {
  return (db: Queryable, filter: ProjectFilter): Promise<string[]> => {
    const projects = asked(filter);
    calls.push(projects ?? ["all"]);
    if (projects === undefined || projects.some((id) => id.startsWith("a"))) return failing(db);
    return Promise.resolve(projects);
  };
}

describe("lists", () => {
  test("one server is asked for the whole list, and its failure is the job's", async () => {
    const one = byNode(ONE_NODE);
    expect(await one.list(async (_, filter) => [asked(filter)])).toEqual([undefined]);
    await expect(one.list(() => Promise.reject(away()))).rejects.toMatchObject(AWAY);
  });

  test("a cluster is asked for the whole list while all nodes answer", async () => {
    const nodes = byNode();
    expect(await nodes.list(async (_, filter) => [asked(filter)])).toEqual([undefined]);
    expect(await failuresNow()).toBe(failures);
  });

  test("when a node is away the others' projects are found, and it is counted", async () => {
    const nodes = byNode();
    const calls: string[][] = [];
    const ask = without(() => Promise.reject(away()), calls);
    expect(await nodes.list(ask)).toEqual(["b-1", "b-2"]);
    expect(calls).toEqual([["all"], ["a-1", "a-2"], ["b-1", "b-2"]]);
    expect(await failuresNow()).toBe(failures + 1);
    // From now on without asking for all at once.
    calls.length = 0;
    expect(await nodes.list(ask)).toEqual(["b-1", "b-2"]);
    expect(calls).toEqual([
      ["a-1", "a-2"],
      ["b-1", "b-2"],
    ]);
  });

  test("a node that hangs is waited for once, then no more", { timeout: 20_000 }, async () => {
    const nodes = byNode();
    const first = await timed(nodes.list(without(never)));
    expect(first.result).toEqual(["b-1", "b-2"]);
    expect(first.took_ms).toBeLessThan(2 * PATIENCE_MS + SOON_MS);
    for (let n = 0; n < 3; n++) {
      const next = await timed(nodes.list(without(never)));
      expect(next.result).toEqual(["b-1", "b-2"]);
      expect(next.took_ms).toBeLessThan(SOON_MS);
    }
  });

  test("when the process itself stood still, no node is blamed for it", async () => {
    const answer = async (_: Queryable, filter: ProjectFilter) => {
      await turn();
      standStill(PATIENCE_MS + 500);
      // The timers whose time has come have their turn first.
      await turn();
      return [asked(filter)];
    };
    expect(await byNode().list(answer)).toEqual([undefined]);
    expect(await failuresNow()).toBe(failures);
  });

  test("a node that is back is part of the list again", async () => {
    const nodes = byNode();
    await nodes.list(without(() => Promise.reject(away())));
    const all = async (_: Queryable, filter: ProjectFilter) => asked(filter) ?? ["all"];
    await nodes.list(all);
    expect(await nodes.list(all)).toEqual(PROJECTS);
  });

  test("what is no outage is thrown", async () => {
    const broken = () => Promise.reject(new Error("a column is missing"));
    await expect(byNode().list(broken)).rejects.toThrow("a column is missing");
  });
});

describe("lists and their work", () => {
  test("one server: the list, then each project", async () => {
    const done: string[] = [];
    const ask = async () => ofProjects(PROJECTS);
    const work = async ({ id }: { id: string }) => done.push(id) * 0 + 1;
    const report = await byNode(ONE_NODE).handle(ask, work);
    expect(report).toEqual({ done: 4, more: true, failed: 0 });
    expect(done).toEqual(PROJECTS);
  });

  test("a node that is away keeps no project of another from its work", async () => {
    const nodes = byNode();
    const ask = without(() => Promise.reject(away()));
    const asked = async (db: Queryable, filter: ProjectFilter) => ofProjects(await ask(db, filter));
    for (let n = 0; n < 2; n++) {
      const done: string[] = [];
      const work = async ({ id }: { id: string }) => done.push(id) * 0 + 1;
      expect(await nodes.handle(asked, work)).toEqual({ done: 2, more: true, failed: 1 });
      expect(done).toEqual(["b-1", "b-2"]);
    }
  });

  test("a node that always answers late has its work done all the same", async () => {
    const nodes = byNode();
    const done: string[] = [];
    let answer = () => {};
    const answered = new Promise<void>((resolve) => {
      answer = resolve;
    });
    const late = async (_: Queryable, filter: ProjectFilter) => {
      const projects = asked(filter);
      if (projects?.some((id) => id.startsWith("b")) !== true) await answered;
      return ofProjects(projects ?? PROJECTS);
    };
    const work = async ({ id }: { id: string }) => done.push(id) * 0 + 1;
    const first = await timed(nodes.handle(late, work));
    expect(first.took_ms).toBeLessThan(2 * PATIENCE_MS + SOON_MS);
    expect(done).toEqual(["b-1", "b-2"]);
    answer();
    await expect.poll(() => done, { timeout: 5_000 }).toEqual(["b-1", "b-2", "a-1", "a-2"]);
  });
});

describe("each project", () => {
  test("one that fails is counted and does not stop the others", async () => {
    const done: string[] = [];
    const report = await byNode(ONE_NODE).each(ofProjects(PROJECTS), async ({ id }) => {
      if (id === "a-2") throw new Error("a bug");
      done.push(id);
      return 1;
    });
    expect(report).toEqual({ done: 3, more: true, failed: 1 });
    expect(done).toEqual(["a-1", "b-1", "b-2"]);
    expect(await failuresNow()).toBe(failures + 1);
  });

  test("when the one server is away the job fails, and who was not come to is told", async () => {
    const skipped: string[] = [];
    const failing = byNode(ONE_NODE).each(
      ofProjects(PROJECTS),
      ({ id }) => (id === "a-2" ? Promise.reject(away()) : Promise.resolve(1)),
      ({ id }) => skipped.push(id),
    );
    await expect(failing).rejects.toMatchObject(AWAY);
    expect(skipped).toEqual(["b-1", "b-2"]);
  });

  test.each([
    ["one server", ONE_NODE],
    ["a node of a cluster", fakePlacement(1, PROJECTS)],
  ])("at %s, one that takes too long every time keeps the others waiting once", async (_, at) => {
    const nodes = byNode(at);
    const done: string[] = [];
    const round = async () => {
      done.length = 0;
      await nodes
        .each(ofProjects(PROJECTS), ({ id }) =>
          id === "a-1" ? Promise.reject(away()) : Promise.resolve(done.push(id)),
        )
        .catch(() => {});
      return [...done];
    };
    expect(await round()).toEqual([]);
    for (let n = 0; n < 3; n++) expect(await round()).toEqual(["a-2", "b-1", "b-2"]);
  });

  test("a node that is away costs one attempt, and the others are handled", async () => {
    const done: string[] = [];
    const skipped: string[] = [];
    const report = await byNode().each(
      ofProjects(PROJECTS),
      async ({ id }) => {
        done.push(id);
        if (id.startsWith("a")) throw away();
        return 1;
      },
      ({ id }) => skipped.push(id),
    );
    expect(report).toEqual({ done: 2, more: true, failed: 1 });
    expect(done.sort()).toEqual(["a-1", "b-1", "b-2"]);
    expect(skipped).toEqual(["a-2"]);
    expect(await failuresNow()).toBe(failures + 1);
  });

  test("a node that hangs is left behind, and not given more until it goes on", async () => {
    const nodes = byNode();
    let goOn = () => {};
    const hangs = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const done: string[] = [];
    const skipped: string[] = [];
    const round = () =>
      nodes.each(
        ofProjects(PROJECTS),
        async ({ id }) => {
          if (id === "a-1") await hangs;
          done.push(id);
          return 1;
        },
        ({ id }) => skipped.push(id),
      );
    const first = await timed(round());
    expect(first.result).toEqual({ done: 2, more: true, failed: 1 });
    expect(first.took_ms).toBeLessThan(PATIENCE_MS + SOON_MS);
    const second = await timed(round());
    expect(second.result).toEqual({ done: 2, more: true, failed: 1 });
    expect(second.took_ms).toBeLessThan(SOON_MS);
    expect(skipped).toEqual(["a-1", "a-2"]);
    goOn();
    await expect.poll(() => done.filter((id) => id.startsWith("a"))).toEqual(["a-1", "a-2"]);
    expect(await round()).toEqual({ done: 4, more: true, failed: 0 });
  });

  test("the end waits for what is under way and begins nothing more", async () => {
    const nodes = byNode();
    let goOn = () => {};
    const hangs = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    const done: string[] = [];
    const skipped: string[] = [];
    await nodes.each(
      ofProjects(["a-1", "a-2"]),
      async ({ id }) => {
        await hangs;
        done.push(id);
        return 1;
      },
      ({ id }) => skipped.push(id),
    );
    const drained = nodes.drain();
    goOn();
    await drained;
    expect(done).toEqual(["a-1"]);
    expect(skipped).toEqual(["a-2"]);
  });
});
