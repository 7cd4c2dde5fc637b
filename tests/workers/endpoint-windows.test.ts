// How much is claimed and in flight for whom: an endpoint that hangs, fails or has many messages
// leaves room for others.

import { describe, expect, test } from "vitest";
import type { ProjectId } from "../../src/ids.ts";
import {
  CLAIMED_MAX,
  type EndpointKey,
  EndpointWindows,
  FAILING_MAX,
  NEW_MAX,
  PREFETCH_MAX,
  PROJECT_MAX,
  WINDOW_FIRST,
  WINDOW_MAX,
} from "../../src/workers/endpoint-windows.ts";

const key = (project: string, endpoint_id = "e"): EndpointKey => ({
  project_id: project as ProjectId,
  endpoint_id,
});

/** Claims as many rows for an endpoint as there is room for, and starts what its window allows. */
function claim(
  windows: EndpointWindows<EndpointKey>,
  of: EndpointKey,
  due = Number.POSITIVE_INFINITY,
): EndpointKey[] {
  const limits = windows.claimLimits(of.project_id);
  const named = limits.endpoints.find(({ endpoint_id }) => endpoint_id === of.endpoint_id);
  const { new: unknown, failing } = limits.shares;
  const share = { new: unknown, failing, proven: limits.total }[named?.reliability ?? "new"];
  const count = Math.min(limits.total, named?.limit ?? limits.each, share, due);
  windows.addClaimed(of.project_id, Array(count).fill(of), limits);
  return windows.startNext(of);
}

/** Windows that know of earlier deliveries to these endpoints. */
function proven(...keys: readonly EndpointKey[]): EndpointWindows<EndpointKey> {
  const windows = new EndpointWindows<EndpointKey>();
  for (const { project_id, endpoint_id } of keys) {
    windows.remember(project_id, [{ endpoint_id, status: "delivered" }]);
  }
  return windows;
}

/** Delivers one after another until the window has its full size. */
function widen(windows: EndpointWindows<EndpointKey>, of: EndpointKey): void {
  for (let i = 0; i < WINDOW_MAX; i++)
    for (const _ of claim(windows, of, 1)) windows.finish(of, true);
}

describe("an endpoint", () => {
  test("begins with one attempt; the first success opens a window, which each widens", () => {
    const windows = new EndpointWindows<EndpointKey>();
    expect(claim(windows, key("a"))).toHaveLength(1);
    windows.finish(key("a"), true);
    expect(claim(windows, key("a"))).toHaveLength(WINDOW_FIRST);
    windows.finish(key("a"), true);
    windows.finish(key("a"), true);
    windows.finish(key("a"), true);
    expect(claim(windows, key("a"))).toHaveLength(WINDOW_FIRST + 3 - 1);
  });

  test("that answers well has rows claimed ahead, in large pieces", () => {
    const windows = new EndpointWindows<EndpointKey>();
    widen(windows, key("a"));
    expect(claim(windows, key("a"))).toHaveLength(WINDOW_MAX);
    for (let left = PREFETCH_MAX; left > PREFETCH_MAX / 2; left--) {
      expect(windows.endpointWantsMore(key("a"))).toBe(false);
      windows.finish(key("a"), true);
      expect(windows.startNext(key("a"))).toHaveLength(1);
    }
    expect(windows.endpointWantsMore(key("a"))).toBe(true);
  });

  test("that fails has one at a time, and what was claimed ahead is released", () => {
    const windows = new EndpointWindows<EndpointKey>();
    widen(windows, key("a"));
    claim(windows, key("a"));
    expect(windows.finish(key("a"), false)).toHaveLength(PREFETCH_MAX - WINDOW_MAX);
    expect(windows.startNext(key("a"))).toEqual([]);
    for (let i = 1; i < WINDOW_MAX; i++) windows.finish(key("a"), false);
    expect(windows.isIdle("a" as ProjectId)).toBe(true);
    expect(claim(windows, key("a"))).toHaveLength(1);
    expect(windows.endpointWantsMore(key("a"))).toBe(false);
  });

  test("whose queue was emptied is not claimed for again until it is notified", () => {
    const windows = proven(key("a"));
    claim(windows, key("a"), 1);
    windows.finish(key("a"), true);
    expect(windows.endpointWantsMore(key("a"))).toBe(false);
  });

  test("that had no room when it was notified is claimed for once it has", () => {
    const windows = proven(key("a"));
    claim(windows, key("a"), 3);
    windows.addClaimed("a" as ProjectId, [], windows.claimLimits("a" as ProjectId));
    windows.finish(key("a"), true);
    windows.finish(key("a"), true);
    expect(windows.endpointWantsMore(key("a"))).toBe(true);
  });
});

describe("limits", () => {
  test("one project leaves half to the others, and all projects share one limit", () => {
    const windows = new EndpointWindows<EndpointKey>();
    const fill = (project: string) => {
      for (let i = 0; i < 50; i++) {
        widen(windows, key(project, `e${i}`));
        claim(windows, key(project, `e${i}`));
      }
      return windows.claimLimits(project as ProjectId).total;
    };
    expect(fill("a")).toBe(0);
    expect(windows.claimLimits("b" as ProjectId).total).toBe(
      Math.min(PROJECT_MAX, CLAIMED_MAX - PROJECT_MAX),
    );
    expect(fill("b")).toBe(0);
    expect(windows.claimLimits("c" as ProjectId).total).toBe(CLAIMED_MAX - 2 * PROJECT_MAX);
    expect(windows.clearWaiting().length).toBeGreaterThan(0);
    expect(windows.claimLimits("c" as ProjectId).total).toBeGreaterThan(0);
  });

  test("endpoints that fail hold a part of what may be in flight, not all", () => {
    const windows = new EndpointWindows<EndpointKey>();
    const failing = Array.from({ length: FAILING_MAX + 10 }, (_, i) => key(`p${i}`));
    for (const each of failing) {
      claim(windows, each, 1);
      windows.finish(each, false);
    }
    const begun = failing.filter((each) => claim(windows, each).length > 0);
    expect(begun).toHaveLength(FAILING_MAX);
    expect(claim(windows, key("healthy"))).toHaveLength(1);
    for (const each of begun) windows.finish(each, true);
    expect(claim(windows, failing.at(-1) ?? key("x"))).toHaveLength(1);
  });

  test("new endpoints hold a part of what may be in flight, not all", () => {
    const windows = proven(key("p0", "healthy"));
    const hanging = Array.from({ length: NEW_MAX * 2 }, (_, i) => key(`p${i % 50}`, `e${i}`));
    const begun = hanging.filter((each) => claim(windows, each).length > 0);
    expect(begun.length).toBeLessThanOrEqual(NEW_MAX);
    expect(windows.places.new).toBe(begun.length);
    expect(claim(windows, key("p0", "healthy"))).toHaveLength(WINDOW_FIRST);
    for (const each of begun) windows.finish(each, false);
    expect(windows.places).toEqual({ all: WINDOW_FIRST, new: 0, failing: 0 });
  });

  test("one project leaves new endpoints of the next a place", () => {
    const windows = new EndpointWindows<EndpointKey>();
    const begin = (project: string) =>
      Array.from({ length: NEW_MAX }, (_, i) => key(project, `e${i}`)).filter(
        (each) => claim(windows, each).length > 0,
      ).length;
    expect(begin("a")).toBe(NEW_MAX / 2);
    expect(begin("b")).toBe(NEW_MAX / 4);
    expect(begin("c")).toBe(NEW_MAX / 8);
    expect(begin("d")).toBeGreaterThan(0);
  });

  test("a project whose new endpoints found no place is claimed for when one is free", () => {
    const windows = new EndpointWindows<EndpointKey>();
    const of = (i: number) => key("a", `e${i}`);
    const limits = windows.claimLimits("a" as ProjectId);
    const rows = Array.from({ length: limits.shares.new }, (_, i) => of(i));
    expect(windows.addClaimed("a" as ProjectId, rows, limits)).toEqual(["new"]);
    for (const row of rows) windows.startNext(row);
    expect(windows.projectWantsMore("a" as ProjectId)).toBe(false);
    windows.finish(of(0), true);
    expect(windows.endpointWantsMore(of(0))).toBe(true);
  });
});

describe("what the log knows", () => {
  test("an endpoint that was delivered to begins opened, one that failed begins failing", () => {
    const windows = proven(key("a", "good"));
    windows.remember("a" as ProjectId, [{ endpoint_id: "bad", status: "failed" }]);
    expect(claim(windows, key("a", "good"))).toHaveLength(WINDOW_FIRST);
    expect(claim(windows, key("a", "bad"))).toHaveLength(1);
    expect(windows.places).toEqual({ all: WINDOW_FIRST + 1, new: 0, failing: 1 });
  });
});

describe("a row that was not begun in time", () => {
  test("goes back without counting as a failure", () => {
    const windows = new EndpointWindows<EndpointKey>();
    widen(windows, key("a"));
    claim(windows, key("a"));
    expect(windows.dropWaiting(key("a"), () => true)).toHaveLength(PREFETCH_MAX - WINDOW_MAX);
    for (let i = 0; i < WINDOW_MAX; i++) windows.finish(key("a"), true);
    expect(windows.isIdle("a" as ProjectId)).toBe(true);
    expect(claim(windows, key("a"))).toHaveLength(WINDOW_MAX);
  });
});
