// Positions of the log: consecutive and in the order of writing, in whichever form rows are sent.

import { beforeAll, expect, test } from "vitest";
import { newId, type ProjectId } from "../../../src/ids.ts";
import { sql } from "../../../src/store/db/sql.ts";
import { addLogEntries, addMessages } from "../../../src/store/feeds/feed.ts";
import { type App, sharedApp } from "../../support/app.ts";

let app: App;
beforeAll(async () => {
  app = await sharedApp();
});

const AT = new Date("2026-01-01T00:00:00.000Z");
const projectOf = () => app.profile.project_id as ProjectId;

function entry(id: string) {
  const about = { resource_type: "customer", resource_id: id, event_type: "customer.updated" };
  return { id, ...about, actor_token_id: null, payload: {}, created_at: AT } as const;
}

async function head(): Promise<number> {
  const { db } = app.context;
  const { last } = await db.one<{ last: number }>(
    sql`select last from log_heads where project_id = ${projectOf()}`,
  );
  return last;
}

/** What stands behind a position, entries and messages together. */
function writtenSince(position: number) {
  return app.context.db.many<{ id: string; position: number }>(sql`
    select id, position from billing_events
     where project_id = ${projectOf()} and position > ${position}
    union all
    select id, position from webhook_messages
     where project_id = ${projectOf()} and position > ${position}
     order by position`);
}

// Up to four are VALUES, more are a select.
test.each([
  [1, 0],
  [4, 2],
  [5, 1],
  [2, 6],
  [9, 7],
])("%i entries and %i messages of one transaction follow one another", async (many, told) => {
  const before = await head();
  const ids = Array.from({ length: many + told }, () => newId());
  await app.context.db.tx(async (tx) => {
    addLogEntries(tx, projectOf(), ids.slice(0, many).map(entry));
    const messages = ids.slice(many).map((id) => {
      return { id, event: "customer.updated", body: "{}", endpoint_ids: [], created_at: AT };
    });
    addMessages(tx, projectOf(), messages);
  });
  expect(await writtenSince(before)).toEqual(
    ids.map((id, no) => ({ id, position: before + 1 + no })),
  );
  expect(await head()).toBe(before + ids.length);
});

test("who gives a position keeps it, as a restore does", async () => {
  const last = await head();
  const id = newId();
  await app.context.db.run(sql`
    insert into webhook_messages (project_id, position, id, event, body, created_at)
    values (${projectOf()}, ${last + 1_000}, ${id}, 'customer.updated', '{}', ${AT})`);
  expect(await writtenSince(last)).toEqual([{ id, position: last + 1_000 }]);
});
