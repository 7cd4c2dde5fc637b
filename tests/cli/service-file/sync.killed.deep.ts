// A sync that is killed at any point is finished by running it again.

import { afterAll, beforeAll, expect, test } from "vitest";
import { parse, stringify } from "yaml";
import { type Shell, startShell } from "../support.ts";

const ENTRIES = 300;
const POINTS = 10;

let shell: Shell;

beforeAll(async () => {
  shell = await startShell({ at: "2026-01-10T00:00:00.000Z" });
});
afterAll(() => shell.close());

function bigFile(slug: string): string {
  const third = Array.from({ length: ENTRIES / 3 }, (_, i) => i);
  return stringify({
    version: "1",
    org: "acme",
    workspace: "main",
    project: slug,
    catalog: third.map((i) => ({ code: `item-${i}`, name: `Item ${i}`, amount_cents: i })),
    metrics: third.map((i) => ({ code: `m${i}`, name: `M ${i}`, aggregation_type: "count" })),
    plans: third.map((i) => ({
      code: `plan-${i}`,
      name: `Plan ${i}`,
      interval: "monthly",
      currency: "USD",
      charges: [
        { type: "standard", metric_ref: `m${i}`, rate: "0.05" },
        { type: "flat_fee", catalog_ref: `item-${i}` },
      ],
    })),
  });
}

/** The state without what differs from project to project. */
async function stateOf(slug: string, id: string): Promise<unknown> {
  const { out } = await shell.run(["export", "--project", id]);
  const { project, ...rest } = parse(out) as { project: string };
  expect(project).toBe(slug);
  return rest;
}

async function countOf(id: string, path: string, field: string): Promise<number> {
  const answer = await shell.app.ok("GET", path, undefined, { "x-project-id": id });
  return answer[field].length;
}

test(`a file of ${ENTRIES} entries, killed at ${POINTS} points and run again, ends as one clean run`, async () => {
  const clean = await shell.project("clean");
  await shell.run(["sync", shell.file("clean.yaml", bigFile("clean"))]);
  const wanted = await stateOf("clean", clean);
  const id = await shell.project("killed");
  const file = shell.file("killed.yaml", bigFile("killed"));
  let done = 0;
  for (let point = 1; point <= POINTS; point++) {
    const { child, done: ended } = shell.start(["sync", file]);
    const stop = Math.round((ENTRIES / (POINTS + 1)) * point);
    // Killed while it works on an entry somewhere in the middle, never at its end.
    child.stderr?.on("data", (text: string) => {
      const at = [...text.matchAll(/\[(\d+)\/(\d+)\]/g)].map(
        ([, n, of]) => Number(n) + ENTRIES - Number(of),
      );
      if (at.some((each) => each >= stop)) child.kill("SIGKILL");
    });
    expect((await ended).code).toBe(null);
    const made = await countOf(id, "/v1/catalog", "catalog_items");
    const plans = await countOf(id, "/v1/plans", "plans");
    const sofar = made + plans + (await countOf(id, "/v1/metrics", "metrics"));
    expect(sofar).toBeGreaterThanOrEqual(done);
    expect(sofar).toBeLessThan(ENTRIES);
    done = sofar;
  }
  const last = await shell.run(["sync", file]);
  expect(last.code, last.err).toBe(0);
  // What was on its way when it was killed may have arrived after the count.
  const left = Number(/^(\d+) to create/m.exec(last.out)?.[1]);
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThanOrEqual(ENTRIES - done);
  expect(await stateOf("killed", id)).toEqual(wanted);
  expect((await shell.run(["sync", file])).out).toContain("Nothing to do.");
}, 600_000);
