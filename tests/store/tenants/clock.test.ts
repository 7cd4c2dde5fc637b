// Who moves a sandbox's clock holds the project: others who move it wait, who writes its rows not.

import { beforeAll, expect, test } from "vitest";
import type { ProjectId } from "../../../src/ids.ts";
import { sql } from "../../../src/store/db/sql.ts";
import * as clock from "../../../src/store/tenants/clock.ts";
import { type App, sharedApp } from "../../support/app.ts";

let app: App;
let project: ProjectId;

beforeAll(async () => {
  app = await sharedApp({ at: "2026-01-01T00:00:00.000Z" });
  project = app.profile.project_id as ProjectId;
});

/** While the clock is moved; a wait of a fifth of a second is one that would not end. */
function meanwhile(work: Parameters<App["context"]["db"]["tx"]>[0]): Promise<unknown> {
  const { db } = app.context;
  return db.tx(async (mover) => {
    await clock.lock(mover, project);
    await clock.freezeAt(mover, project, new Date("2026-01-02T00:00:00.000Z"));
    return db.tx(async (tx) => {
      await tx.run(sql`set local lock_timeout = '200ms'`);
      return work(tx);
    });
  });
}

test("rows that refer to the project are written meanwhile", async () => {
  const written = meanwhile((tx) =>
    tx.run(sql`
      insert into invoice_counters (project_id, year, last)
      values (${project}, 2026, 1)`),
  );
  expect(await written).toBe(1);
});

test("another who moves it waits", async () => {
  await expect(meanwhile((tx) => clock.lock(tx, project))).rejects.toThrow();
});
