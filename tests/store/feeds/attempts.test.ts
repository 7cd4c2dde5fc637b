// Recording deliveries: only under the claim that each was sent with, with all that is known of it.

import { expect, test } from "vitest";
import type { ProjectId } from "../../../src/ids.ts";
import { sql } from "../../../src/store/db/sql.ts";
import * as attempts from "../../../src/store/feeds/attempts.ts";
import * as claims from "../../../src/store/feeds/claims.ts";
import { sharedApp } from "../../support/app.ts";
import { delivered, emitPayments, register } from "../../support/courier.ts";

const app = await sharedApp();

const { db } = app.context;
const project = app.profile.project_id as ProjectId;
const ROOM = { total: 10, each: 10, shares: { new: 10, failing: 0 }, endpoints: [] };

test("of several that were sent, one under a claim that is lost is left to its new owner", async () => {
  await register(app, "http://127.0.0.1:65535/hook");
  await emitPayments(app, 0, 3);
  const [first, lost, last] = await claims.claim(db, project, ROOM);
  const taken = [first, lost, last].map((row) => row ?? expect.fail("Three are due."));
  const excerpts = ["", 'a "b", {c}\\', null];
  const results = taken.map((row, i) =>
    delivered(row, {
      claim: i === 1 ? (first?.message_id ?? "") : row.claim,
      http_status: 200 + i,
      duration_ms: 10 * i,
      response_excerpt: excerpts[i] ?? null,
    }),
  );

  expect(await attempts.recordDelivered(db, project, results)).toBe(2);
  const logged = await db.many(sql`
    select message_id, attempt, status, http_status, error, duration_ms, response_excerpt,
           next_retry_at
      from webhook_attempts
     where project_id = ${project}
     order by http_status`);
  expect(logged).toEqual(
    [0, 2].map((i) => ({
      message_id: taken[i]?.message_id,
      attempt: 1,
      status: "delivered",
      http_status: 200 + i,
      error: null,
      duration_ms: 10 * i,
      response_excerpt: excerpts[i],
      next_retry_at: null,
    })),
  );
  const left = await db.many(sql`
    select message_id from webhook_queue where project_id = ${project}`);
  expect(left).toEqual([{ message_id: lost?.message_id }]);
});
