// How much is in flight to whom: one that hangs, fails or has much to send leaves room for others.

import { describe, expect, test } from "vitest";
import type { ProjectId } from "../../src/store/tenants.ts";
import {
  AHEAD_MAX,
  FAILING_MAX,
  type Key,
  Lanes,
  PROJECT_MAX,
  TAKEN_MAX,
  WINDOW_FIRST,
  WINDOW_MAX,
} from "../../src/workers/endpoint-windows.ts";

const key = (project: string, endpoint_id = "e"): Key => ({
  project_id: project as ProjectId,
  endpoint_id,
});

/** Takes as many rows for an endpoint as there is room for, as the queue would give them. */
function take(lanes: Lanes<Key>, of: Key, due = Number.POSITIVE_INFINITY): Key[] {
  const room = lanes.room(of.project_id);
  const named = room.endpoints.find(({ endpoint_id }) => endpoint_id === of.endpoint_id);
  const count = Math.min(room.total, named?.limit ?? room.each, due);
  lanes.add(of.project_id, Array(count).fill(of), room);
  return lanes.start(of);
}

/** Until its window is as wide as it gets. */
function prove(lanes: Lanes<Key>, of: Key): void {
  for (let i = 0; i < WINDOW_MAX; i++) for (const _ of take(lanes, of, 1)) lanes.end(of, true);
}

describe("an endpoint", () => {
  test("begins with a small window, which each success widens", () => {
    const lanes = new Lanes<Key>();
    expect(take(lanes, key("a"))).toHaveLength(WINDOW_FIRST);
    lanes.end(key("a"), true);
    lanes.end(key("a"), true);
    lanes.end(key("a"), true);
    expect(take(lanes, key("a"))).toHaveLength(WINDOW_FIRST + 3 - 1);
  });

  test("that answers well has rows taken ahead, asked for in large pieces", () => {
    const lanes = new Lanes<Key>();
    prove(lanes, key("a"));
    expect(take(lanes, key("a"))).toHaveLength(WINDOW_MAX);
    for (let left = AHEAD_MAX; left > AHEAD_MAX / 2; left--) {
      expect(lanes.isHungry(key("a"))).toBe(false);
      lanes.end(key("a"), true);
      expect(lanes.start(key("a"))).toHaveLength(1);
    }
    expect(lanes.isHungry(key("a"))).toBe(true);
  });

  test("that fails has one at a time, and gives back what was taken ahead", () => {
    const lanes = new Lanes<Key>();
    prove(lanes, key("a"));
    take(lanes, key("a"));
    expect(lanes.end(key("a"), false)).toHaveLength(AHEAD_MAX - WINDOW_MAX);
    expect(lanes.start(key("a"))).toEqual([]);
    for (let i = 1; i < WINDOW_MAX; i++) lanes.end(key("a"), false);
    expect(lanes.isIdle("a" as ProjectId)).toBe(true);
    expect(take(lanes, key("a"))).toHaveLength(1);
    expect(lanes.isHungry(key("a"))).toBe(false);
  });

  test("whose queue was emptied is not asked for again until there is news", () => {
    const lanes = new Lanes<Key>();
    take(lanes, key("a"), 1);
    lanes.end(key("a"), true);
    expect(lanes.isHungry(key("a"))).toBe(false);
  });

  test("that had no room when there was news is asked for once it has", () => {
    const lanes = new Lanes<Key>();
    take(lanes, key("a"), 3);
    lanes.add("a" as ProjectId, [], lanes.room("a" as ProjectId));
    lanes.end(key("a"), true);
    lanes.end(key("a"), true);
    expect(lanes.isHungry(key("a"))).toBe(true);
  });
});

describe("limits", () => {
  test("one project leaves half to the others, and all have an end", () => {
    const lanes = new Lanes<Key>();
    const fill = (project: string) => {
      for (let i = 0; i < 50; i++) {
        prove(lanes, key(project, `e${i}`));
        take(lanes, key(project, `e${i}`));
      }
      return lanes.room(project as ProjectId).total;
    };
    expect(fill("a")).toBe(0);
    expect(lanes.room("b" as ProjectId).total).toBe(Math.min(PROJECT_MAX, TAKEN_MAX - PROJECT_MAX));
    expect(fill("b")).toBe(0);
    expect(lanes.room("c" as ProjectId).total).toBe(TAKEN_MAX - 2 * PROJECT_MAX);
    expect(lanes.clear().length).toBeGreaterThan(0);
    expect(lanes.room("c" as ProjectId).total).toBeGreaterThan(0);
  });

  test("endpoints that fail hold a part of what may be in flight, not all", () => {
    const lanes = new Lanes<Key>();
    const failing = Array.from({ length: FAILING_MAX + 10 }, (_, i) => key(`p${i}`));
    for (const each of failing) {
      take(lanes, each, 1);
      lanes.end(each, false);
    }
    const begun = failing.filter((each) => take(lanes, each).length > 0);
    expect(begun).toHaveLength(FAILING_MAX);
    expect(take(lanes, key("healthy"))).toHaveLength(WINDOW_FIRST);
    for (const each of begun) lanes.end(each, true);
    expect(take(lanes, failing.at(-1) ?? key("x"))).toHaveLength(1);
  });
});
