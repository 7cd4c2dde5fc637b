// The clock of a sandbox on a cluster: it is one project's own, on that project's node.

import { afterAll, beforeAll, expect, test } from "vitest";
import type { ProjectId } from "../../../src/ids.ts";
import { sql } from "../../../src/store/db/sql.ts";
import * as clock from "../../../src/store/tenants/clock.ts";
import { type App, startApp } from "../../support/app.ts";
import { sandbox } from "../../support/given.ts";

let app: App;
beforeAll(async () => {
  app = await startApp();
});
afterAll(() => app.close());

test("a sandbox whose clock is moving holds up no other clock and no new project", async () => {
  const moving = await sandbox(app, "2026-01-01");
  const others = [await sandbox(app, "2026-01-01"), await sandbox(app, "2026-01-01")];
  const answers = await app.context.db.tx(async (tx) => {
    await clock.lock(tx, moving.project_id as ProjectId);
    await clock.freezeAt(tx, moving.project_id as ProjectId, new Date("2026-01-15T00:00:00.000Z"));
    return Promise.all([
      ...others.map((other) =>
        other.call("POST", "/v1/clock/advance", { to: "2026-03-01T00:00:00Z" }),
      ),
      app.call("POST", "/v1/projects", { workspace: "main", slug: "made-meanwhile" }),
    ]);
  });
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 201]);
});

test("a move of a clock is committed by one node, without a second phase", async () => {
  const story = await sandbox(app, "2026-01-01");
  await story.subscribe({ plan: await story.plan({ amount_cents: 100 }) });
  const before = await prepared();
  const moved = await story.call("POST", "/v1/clock/advance", { to: "2026-04-01T00:00:00Z" });
  expect(moved.status).toBe(200);
  expect((await prepared()).filter((gid) => !before.includes(gid))).toEqual([]);
});

/** The cluster notes there what it commits in two phases, and forgets it after a while. */
async function prepared(): Promise<string[]> {
  const rows = await app.context.db.many<{ gid: string }>(sql`select gid from pg_dist_transaction`);
  return rows.map(({ gid }) => gid);
}
