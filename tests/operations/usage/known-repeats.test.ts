// Batches that repeat what was stored: looked up before the write once a project was seen to send
// such batches, with the same answers and the same sums as when the write finds the repeats.

import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { ProjectId } from "../../../src/ids.ts";
import { lookUpRepeats, RepeatMemory } from "../../../src/operations/usage/known-repeats.ts";
import type { Db } from "../../../src/store/db/db.ts";
import type { EventRow } from "../../../src/store/usage/recording.ts";
import { type App, type Body, startApp } from "../../support/app.ts";
import { perUnit, sandbox } from "../../support/given.ts";
import { closeSound } from "../../support/pricing.ts";

const BATCH = 100;

describe("a project is asked about", () => {
  const project = "project" as ProjectId;
  const rows = Array.from({ length: BATCH }, (_, i) => ({ key: `${i}` }) as EventRow);

  /** How often the database is asked about a batch that comes after the given ones. */
  async function questions(
    before: readonly [events: number, repeats: number][],
    batch = rows,
  ): Promise<number> {
    let asked = 0;
    const one = () => {
      asked += 1;
      return Promise.resolve({ repeated: null });
    };
    const memory = new RepeatMemory();
    for (const [events, repeats] of before) memory.note(project, events, repeats);
    await lookUpRepeats({ one } as unknown as Db, memory, project, batch);
    return asked;
  }

  test("not before it has repeated anything", async () => {
    expect(await questions([])).toBe(0);
  });

  test("after a batch of which a tenth was repeated", async () => {
    expect(await questions([[200, 20]])).toBe(1);
    expect(await questions([[200, 19]])).toBe(0);
  });

  test("no more after a batch that was new", async () => {
    expect(
      await questions([
        [200, 200],
        [200, 0],
      ]),
    ).toBe(0);
  });

  test("not for a few events, which say nothing of the next batch either", async () => {
    expect(await questions([[200, 200]], rows.slice(1))).toBe(0);
    expect(await questions([[99, 99]])).toBe(0);
    expect(
      await questions([
        [200, 200],
        [99, 0],
      ]),
    ).toBe(1);
  });
});

describe("batches sent again", () => {
  let app: App;
  beforeAll(async () => {
    app = await startApp();
  });
  // Compares the sums with the events that are stored.
  afterAll(() => closeSound(app));

  async function sender() {
    const story = await sandbox(app, "2026-01-10");
    const metric = await story.metric();
    const plan = await story.plan({ charges: [perUnit(metric, "1")] });
    const subscription = await story.subscribe({ plan });
    const event = (n: number, more: Body = {}) => ({
      transaction_id: `e${n}`,
      subscription_id: subscription.id,
      code: metric.code,
      value: "2",
      timestamp: "2026-01-10T00:00:00.000Z",
      ...more,
    });
    const send = (events: readonly Body[]) => story.post("/v1/events/batch", { events });
    const range = (from: number, to: number) =>
      Array.from({ length: to - from }, (_, i) => event(from + i));
    return { story, event, send, range };
  }

  test("are duplicates each time, and counted once", async () => {
    const { story, send, range } = await sender();
    const counts = [];
    for (let time = 0; time < 4; time++) {
      const { accepted, duplicates, refused } = await send(range(0, BATCH));
      counts.push([accepted, duplicates, refused]);
    }
    expect(counts).toEqual([
      [BATCH, 0, 0],
      [0, BATCH, 0],
      [0, BATCH, 0],
      [0, BATCH, 0],
    ]);
    await story.travelTo("2026-02-01");
    expect((await story.invoices()).map(({ total_cents }) => total_cents)).toEqual([200 * BATCH]);
  });

  test("with new ones between them: the new ones are stored", async () => {
    const { story, send, range } = await sender();
    await send(range(0, BATCH));
    await send(range(0, BATCH));
    const { accepted, duplicates, results } = await send(range(BATCH / 2, 2 * BATCH));
    expect([accepted, duplicates]).toEqual([BATCH, BATCH / 2]);
    expect(results.map(({ duplicate }: Body) => duplicate)).toEqual(
      Array.from({ length: 1.5 * BATCH }, (_, i) => i < BATCH / 2),
    );
    await story.travelTo("2026-02-01");
    expect((await story.invoices()).map(({ total_cents }) => total_cents)).toEqual([400 * BATCH]);
  });

  test("with another content under a known id: the first counts, the answer warns", async () => {
    const { send, event, range } = await sender();
    await send(range(0, BATCH));
    await send(range(0, BATCH));
    const changed = [event(0, { value: "3" }), event(1, { properties: { a: 1 } })];
    const { results } = await send([...changed, ...range(2, BATCH)]);
    expect(results.slice(0, 3)).toEqual([
      { index: 0, accepted: true, duplicate: true, warning: "payload_mismatch" },
      { index: 1, accepted: true, duplicate: true, warning: "payload_mismatch" },
      { index: 2, accepted: true, duplicate: true },
    ]);
  });
});
