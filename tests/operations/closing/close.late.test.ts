// Usage that comes while a worker closes a period, for a period that was closed before or for one
// that is to be closed next: it is billed once, whichever of the two is first.

import { setTimeout as pause } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Answer, Body } from "../../support/app.ts";
import { attended, COMMIT } from "../../support/attended.ts";
import type { Client } from "../../support/client.ts";
import { insist, makeCustomer, RaceCourse } from "../../support/race.ts";

const START = "2026-01-05T00:00:00.000Z";
/** What waits for the close is not done by then, and all else is. */
const WAIT_MS = 400;

let course: RaceCourse;
beforeAll(async () => {
  course = await RaceCourse.open();
});
afterAll(async () => {
  expect(await course.close()).toEqual([]);
});

/** A subscription since START to one metric. */
async function subscribe(client: Client, metric: Body, rate: string): Promise<string> {
  course.setClocks(START, START);
  const named = { code: "used", name: "used", field_name: "n", ...metric };
  await client.post("/v1/metrics", named);
  const charges = [{ type: "standard", metric_ref: "used", name: "used", rate }];
  const terms = { code: "p", name: "p", interval: "monthly", amount_currency: "USD", charges };
  const { plan } = await client.post("/v1/plans", terms);
  const { id: customer_id } = await makeCustomer(client);
  const wanted = { customer_id, plan_id: plan.id };
  return (await client.post("/v1/subscriptions", wanted)).subscription.id;
}

let sent = 0;
async function use(client: Client, id: string, n: string, timestamp: string): Promise<Answer> {
  sent += 1;
  const named = { transaction_id: `late ${sent}`, subscription_id: id, code: "used" };
  const answer = await insist(client, "POST", "/v1/events", {
    ...named,
    timestamp,
    properties: { n },
  });
  expect(answer).toMatchObject({ status: 200, body: { accepted: true, duplicate: false } });
  return answer;
}

/** A worker closes what is due; `act` begins while what it is about to write is decided. */
async function closeDuring(act: (nth: number) => Promise<unknown>): Promise<void> {
  const acts: Promise<unknown>[] = [];
  await course.workOn((db) =>
    attended(db, async (text) => {
      if (!/insert into closed_periods/.test(text)) return;
      const begun = act(acts.length + 1);
      acts.push(begun);
      await Promise.race([begun, pause(WAIT_MS)]);
    }),
  );
  await Promise.all(acts);
}

async function closeAll(at: string): Promise<void> {
  course.setClocks(at, at);
  await course.work();
}

test("more late usage of a month that is corrected just now", async () => {
  const { prompt } = await course.project("live");
  const id = await subscribe(prompt, { aggregation_type: "sum" }, "1");
  course.setClocks("2026-01-11T00:00:00.000Z", START);
  await use(prompt, id, "10", "2026-01-10T00:00:00.000Z");
  await closeAll("2026-02-01T00:00:01.000Z");
  await use(prompt, id, "1", "2026-01-20T00:00:00.000Z");
  course.setClocks("2026-03-01T00:00:01.000Z", "2026-03-01T00:00:01.000Z");
  await closeDuring(async (nth) => {
    if (nth === 1) await use(prompt, id, "5", "2026-01-21T00:00:00.000Z");
  });
  await closeAll("2026-06-01T00:00:01.000Z");
  expect(await course.bill(prompt, id, "2026-06-01")).toEqual(["p used 2026-01 1600"]);
});

test.each(["before", "during"])(
  "a late change of a level, %s the close behind it",
  async (when) => {
    const { prompt } = await course.project("live");
    const metric = { aggregation_type: "weighted_sum", weighted_by: "hour" };
    const id = await subscribe(prompt, metric, "0.01");
    await closeAll("2026-02-01T00:00:01.000Z");
    course.setClocks("2026-03-01T00:00:01.000Z", "2026-03-01T00:00:01.000Z");
    const change = () => use(prompt, id, "10", "2026-01-31T00:00:00.000Z");
    if (when === "before") await change();
    await closeDuring(async (nth) => {
      if (when === "during" && nth === 1) await change();
    });
    await closeAll("2026-04-01T00:00:01.000Z");
    await closeAll("2026-05-01T00:00:01.000Z");
    expect((await course.bill(prompt, id, "2026-05-01")).toSorted()).toEqual([
      "p used 2026-01 240",
      "p used 2026-02 6720",
      "p used 2026-03 7440",
      "p used 2026-04 7200",
    ]);
  },
);

test("usage of the second of two months that are closed one after the other", async () => {
  let open = () => {};
  const gate = new Promise<void>((resolve) => {
    open = resolve;
  });
  const slowToCommit = async (text: string) => {
    if (text === COMMIT) await gate;
  };
  const { prompt, slow } = await course.project("live", (db) => attended(db, slowToCommit));
  const id = await subscribe(prompt, { aggregation_type: "sum" }, "1");
  course.setClocks("2026-04-05T00:00:00.000Z", "2026-04-05T00:00:00.000Z");
  await closeDuring(async (nth) => {
    if (nth === 1) {
      // The worker goes on after a while, and would wait for this at the end.
      pause(3 * WAIT_MS).then(open);
      await use(slow, id, "5", "2026-02-15T00:00:00.000Z");
    } else if (nth === 2) open();
  });
  await closeAll("2026-08-01T00:00:01.000Z");
  expect(await course.bill(prompt, id, "2026-08-01")).toEqual(["p used 2026-02 500"]);
});

test("the cutoff is raised to now when what has ended did so before it", async () => {
  const { prompt } = await course.project("live");
  await subscribe(prompt, { aggregation_type: "sum" }, "1");
  const cutoff = "2026-02-01T00:00:01.000Z";
  await course.raiseCutoff(prompt, cutoff);
  const isBeyond = async (now: string) => {
    const found = await course.withEndedPeriods(now);
    return found.find(({ id }) => id === prompt.project)?.beyond_cutoff;
  };
  expect(await isBeyond(cutoff)).toBe(false);
  expect(await isBeyond("2026-03-05T00:00:00.000Z")).toBe(true);
  await closeAll("2026-03-05T00:00:00.000Z");
});
