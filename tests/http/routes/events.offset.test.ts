// Events of one subscription at an offset: the place is counted by instants, of which many events
// may have the same, over every metric that it uses.

import { expect, test } from "vitest";
import { type Json, sharedApp } from "../../support/app.ts";
import { sandbox } from "../../support/given.ts";

const INSTANTS = ["2026-01-02T00:00:00Z", "2026-01-03T00:00:00Z", "2026-01-03T00:00:00.001Z"];
const EVENTS = 14;

test("begins at its row wherever it is, with every filter", async () => {
  const story = await sandbox(await sharedApp(), "2026-01-01");
  const metrics = [await story.metric(), await story.metric()];
  const subscription_id = (await story.subscribe({ plan: await story.plan({}) })).id;
  await story.travelTo("2026-01-05");
  const events = Array.from({ length: EVENTS }, (_, n) => ({
    transaction_id: `t${n}`,
    subscription_id,
    code: metrics[n % 2]?.code,
    timestamp: INSTANTS[n % INSTANTS.length],
    properties: { units: "1" },
  }));
  await story.post("/v1/events/batch", { events });
  const base = `/v1/events?subscription_id=${subscription_id}`;
  const filters = [
    `code=${metrics[0]?.code}`,
    "state=billable",
    `from=${INSTANTS[1]}`,
    "from=2035-01-01T00:00:00Z",
  ];
  for (const filter of ["", ...filters]) {
    const { events: all } = await story.get(`${base}&limit=100&${filter}`);
    for (let offset = 1; offset <= EVENTS + 1; offset++) {
      const page = await story.get(`${base}&limit=3&offset=${offset}&count=1&${filter}`);
      expect(
        page.events.map((event: Json) => event.transaction_id),
        filter,
      ).toEqual(all.slice(offset, offset + 3).map((event: Json) => event.transaction_id));
      expect([page.has_more, page.total_count]).toEqual([offset + 3 < all.length, all.length]);
    }
  }
});
