// Events that wait for a database that hangs: each is answered in time, and a node that hangs does
// not take the places of the others.

import { afterAll, beforeAll, expect, test } from "vitest";
import { EventQueue } from "../../src/http/event-queue.ts";
import type { Db } from "../../src/store/db.ts";
import { ONE_NODE } from "../../src/store/placement.ts";
import { getSettings, type ProjectSettings } from "../../src/store/tenants.ts";
import { type App, startApp } from "../support/app.ts";
import { fakePlacement } from "../support/fake-placement.ts";

const ANSWERED_MS = 5_000;
const AWAY = { code: "unavailable", status: 503 };

let app: App;
let settings: ProjectSettings;
beforeAll(async () => {
  app = await startApp({ at: "2026-03-01T00:00:00.000Z" });
  const { organization_id, project_id } = app.profile;
  settings = (await getSettings(app.context.db, organization_id, project_id)) as ProjectSettings;
});
afterAll(() => app.close());

/** Projects whose id begins with "hangs" wait for ever, all others are the test's own project. */
function halfHanging(): Db {
  const never = () => new Promise<never>(() => {});
  const hangs: Db = {
    portal_auto_invalidate: false,
    many: never,
    maybeOne: never,
    one: never,
    run: never,
    tx: never,
    alone: never,
    snapshot: never,
    forProject: () => hangs,
    forEveryNode: () => hangs,
  };
  const { db } = app.context;
  return Object.assign(Object.create(db), {
    forProject: (project: string) => (project.startsWith("hangs") ? hangs : db),
  });
}

const NOW = new Date("2026-03-01T00:00:00.000Z");

function event(transaction_id: string) {
  return { transaction_id, subscription_id: "ext:nobody", code: "calls", properties: {} };
}

function of(id: string): ProjectSettings {
  return { ...settings, id: id as ProjectSettings["id"] };
}

async function timed(work: Promise<unknown>): Promise<number> {
  const started = performance.now();
  await work;
  return performance.now() - started;
}

test("events of a write that hangs, and those behind it, are answered within 5 s", async () => {
  const queue = new EventQueue(halfHanging(), ONE_NODE);
  const projects = Array.from({ length: 8 }, (_, n) => `hangs-${n}`);
  const asked = projects.flatMap((project) =>
    ["1", "2"].map((n) =>
      expect(queue.push(of(project), event(n), NOW)).rejects.toMatchObject(AWAY),
    ),
  );
  expect(await timed(Promise.all(asked))).toBeLessThan(ANSWERED_MS);
});

test("a node that hangs leaves writers to the others", async () => {
  const queue = new EventQueue(halfHanging(), fakePlacement(2));
  const hanging = Array.from({ length: 6 }, (_, n) =>
    expect(queue.push(of(`hangs-${n}`), event("1"), NOW)).rejects.toMatchObject(AWAY),
  );
  // Those that hang are given up after 4 s.
  for (let n = 0; n < 5; n++) {
    expect(await timed(queue.push(settings, event(`fine-${n}`), NOW))).toBeLessThan(2_000);
  }
  await Promise.all(hanging);
});
