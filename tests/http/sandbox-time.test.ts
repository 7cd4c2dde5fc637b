// A call to a sandbox whose clock is moved while the call waits.

import { afterAll, expect, test, vi } from "vitest";
import { sql } from "../../src/store/db/sql.ts";
import { startApp } from "../support/app.ts";
import { attended } from "../support/attended.ts";
import { countOnNodes } from "../support/database.ts";
import { sandbox } from "../support/given.ts";
import { oneOff } from "../support/money.ts";
import { makeCustomer, RaceCourse } from "../support/race.ts";

const WAITING = sql`
  select count(*)
    from pg_stat_activity
   where wait_event_type = 'Lock' and datname = current_database()`;

const app = await startApp();
afterAll(() => app.close());

test("an invoice that waited for its number has no earlier date than the number before", async () => {
  const story = await sandbox(app, "2026-01-10");
  const customer = await story.customer();
  await oneOff(story, customer, "1");
  const { db } = app.context;
  const waiting = await db.tx(async (tx) => {
    await tx.many(sql`
      select 1
        from invoice_counters
       where project_id = ${story.project_id}
         for update`);
    const made = oneOff(story, customer, "2");
    await vi.waitFor(async () => {
      if ((await countOnNodes(app.connection, WAITING)) === 0)
        throw new Error("It does not wait yet.");
    });
    await db.tx((other) =>
      other.run(sql`
        update project_clocks
           set frozen_at = '2026-01-12T00:00:00Z'
         where project_id = ${story.project_id}`),
    );
    return { made };
  });
  const second = await waiting.made;
  expect(second).toMatchObject({ number: "INV-2026-0002", issuing_date: "2026-01-12" });
  expect(await story.invoices()).toHaveLength(2);
});

test("nor has one before which the clock is moved each time that it is made", async () => {
  const course = await RaceCourse.open();
  // As a step of an advance, which waits for whoever holds the clock.
  const moveOn = () =>
    course.db.tx((tx) =>
      tx.run(sql`
        update project_clocks
           set frozen_at = frozen_at + interval '1 day'
         where ctid = any(array(
           select ctid from project_clocks for no key update skip locked))`),
    );
  let moves = 0;
  const { prompt, slow } = await course.project("sandbox", (db) =>
    attended(db, async (text) => {
      if (/^\s*insert into invoices\b/.test(text)) moves += await moveOn();
    }),
  );
  await prompt.post("/v1/clock", { frozen_at: "2026-01-10T00:00:00.000Z" });
  const { id: customer_id } = await makeCustomer(prompt);
  const lines = [{ name: "Work", unit_amount_cents: 100 }];
  const { invoice } = await slow.post("/v1/invoices", { customer_id, lines });
  const { clock } = await prompt.get("/v1/clock");
  expect(moves).toBeGreaterThan(1);
  expect(invoice.issuing_date).toBe(clock.now.slice(0, 10));
  expect(await course.close()).toEqual([]);
});
