// Requests that came in together go on together.

import { describe, expect, test } from "vitest";
import { allRead } from "../src/all-read.ts";

describe("allRead", () => {
  test("is one promise for all who wait at the same time", async () => {
    const first = allRead();
    expect(allRead()).toBe(first);
    await first;
    expect(allRead()).not.toBe(first);
  });

  test("takes each step of all before the next step of any", async () => {
    const steps: string[] = [];
    const request = async (name: string) => {
      await allRead();
      steps.push(`${name} checked`);
      await null;
      steps.push(`${name} run`);
    };
    await Promise.all([request("a"), request("b")]);
    expect(steps).toEqual(["a checked", "b checked", "a run", "b run"]);
  });
});
