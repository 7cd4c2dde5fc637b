// The cached views of the portal: dropping all of them costs the same however many there are.

import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import type { ProjectId } from "../../../src/ids.ts";
import { sql } from "../../../src/store/db/sql.ts";
import { findCustomer } from "../../../src/store/portal/found.ts";
import * as views from "../../../src/store/portal/views.ts";
import { type App, type Json, startApp } from "../../support/app.ts";
import { CountedReads, copyId, copyRow } from "../../support/counted-reads.ts";
import { admin, onCluster } from "../../support/database.ts";
import { type Sandbox, sandbox } from "../../support/given.ts";

const MANY = 10_000;
let app: App;
let story: Sandbox;
let customer: Json;
let project: ProjectId;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());
beforeEach(async () => {
  story = await sandbox(app, "2025-01-10");
  project = story.project_id as ProjectId;
  customer = await story.customer();
});

async function cacheOf(): Promise<unknown> {
  return (await app.call("GET", `/v1/portal/${customer.id}`)).headers["x-portal-cache"];
}

const changed = [{ type: "tax.updated", resource_id: "00000000-0000-7000-8000-000000000000" }];

test.skipIf(onCluster)("a change that all views show writes one row and reads a few", async () => {
  await cacheOf();
  expect(await cacheOf()).toBe("hit");
  const { connection } = app;
  await copyRow(connection, "portal_views", project, MANY, { customer_id: copyId(7) });
  await admin(connection, "vacuum analyze portal_views");
  const writtenAfter = (last: number) =>
    app.context.db.one<{ count: number; last: number }>(sql`
      select count(*) as count, max(xmin::text::bigint)::bigint as last
        from portal_views
       where project_id = ${project} and xmin::text::bigint > ${last}`);
  const before = await writtenAfter(0);
  const counted = await CountedReads.open(connection);
  const { pages, rows } = await counted.during(() =>
    counted.db.tx((tx) =>
      views.dropChanged(tx, project, changed, { portal_auto_invalidate: true }),
    ),
  );
  await counted.close();
  expect((await writtenAfter(before.last)).count).toBe(1);
  expect(Math.max(pages, rows)).toBeLessThan(50);
  expect(await cacheOf()).toBe("miss");
  expect(await cacheOf()).toBe("hit");
});

const view = (drops: views.Drops) => {
  const page = { shape: "test", moves: false } as unknown as views.View["page"];
  return { body: "{}", page, generated_at: new Date(), drops };
};

test("a view that was computed while all were dropped is not shown, nor kept over a newer", async () => {
  const { db } = app.context;
  const countDrops = () => views.countDrops(db, project, customer.id);
  const keep = (drops: views.Drops) =>
    db.tx((tx) => views.keep(tx, project, customer.id, view(drops)));
  const shown = async () => (await findCustomer(db, customer.id))?.body;
  const early = await countDrops();
  expect(await db.tx((tx) => views.dropAll(tx, project))).toBe(0);
  await keep(early);
  expect(await shown()).toBe(null);
  await keep(await countDrops());
  expect(await shown()).toBe("{}");
  await keep({ ...early, as_of: new Date(Date.now() + 60_000) });
  expect(await shown()).toBe("{}");
  expect(await db.tx((tx) => views.dropAll(tx, project))).toBe(1);
  expect(await shown()).toBe(null);
});
